package wal

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// A Kind says what a record is. Those below FirstKind belong to the log itself.
type Kind uint8

const (
	markKind  Kind = iota // says that the record before it is on the disk
	stateKind             // says the states of databases; it is of none

	FirstKind Kind = 16 // of those that users of the log define
)

// A Record is an entry of the log. The log does not look into Change and Rows.
type Record struct {
	Number   uint64 // given by Append; ascends over all databases
	Database uint64
	Kind     Kind
	Change   []byte // what happened, for readers of any machine
	Rows     []byte // how it changes the file of the database on this machine
}

// A record is stored as
//
//	length u32 | checksum u32 | segment u64 | number u64 | settled u64 |
//	database u64 | length of the change u32 | kind u8 | change | rows
//
// in little endian. The length is that of the whole record, and the checksum is CRC-32C of
// everything else. The id of the segment tells its records from those that were in the
// file before. settled is the last number that was on the disk when the record was written.
const recordHead = 45

// MaxRecord is the largest length of a record's change and rows together, in bytes.
const MaxRecord = 64 << 20

func (r *Record) size() int { return recordHead + len(r.Change) + len(r.Rows) }

// appendRecord appends a record that is to be sealed.
func appendRecord(b []byte, r *Record) []byte {
	b = slices.Grow(b, r.size())
	b = le.AppendUint32(b, uint32(r.size()))
	b = append(b, make([]byte, 28)...) // see seal
	b = le.AppendUint64(b, r.Database)
	b = le.AppendUint32(b, uint32(len(r.Change)))
	b = append(b, byte(r.Kind))
	b = append(b, r.Change...)
	return append(b, r.Rows...)
}

// seal completes a record that appendRecord made.
func seal(b []byte, segment, number, settled uint64) {
	le.PutUint64(b[8:], segment)
	le.PutUint64(b[16:], number)
	le.PutUint64(b[24:], settled)
	le.PutUint32(b[4:], recordSum(b))
}

func recordSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], castagnoli), castagnoli, b[8:])
}

// noted returns what a log notes of a record that appendRecord made.
func noted(b []byte, number uint64) Record {
	r := Record{Number: number, Database: le.Uint64(b[32:]), Kind: Kind(b[44])}
	if r.Kind == stateKind {
		r.Rows = b[recordHead:le.Uint32(b)]
	}
	return r
}

// A stored record is one as it lies in a segment.
//
// settled is how a record bears witness for those before it: if a record says
// that number n was on the disk and n is unreadable, the log was damaged.
// Otherwise the end of the log is just a write that was cut off.
type stored struct {
	Record
	settled uint64
	size    int
}

// readRecord returns the record of a segment that b begins with. It points into b. ok is
// false if there is none, or a damaged one.
func readRecord(b []byte, segment uint64) (r stored, ok bool) {
	if len(b) < recordHead || le.Uint64(b[8:]) != segment {
		return r, false
	}
	size := int64(le.Uint32(b))
	change := recordHead + int64(le.Uint32(b[40:]))
	if size > int64(len(b)) || change > size {
		return r, false
	}
	b = b[:size:size]
	if recordSum(b) != le.Uint32(b[4:]) {
		return r, false
	}
	r.Number, r.Database, r.Kind = le.Uint64(b[16:]), le.Uint64(b[32:]), Kind(b[44])
	r.Change, r.Rows = b[recordHead:change:change], b[change:]
	r.settled, r.size = le.Uint64(b[24:]), int(size)
	return r, r.settled < r.Number
}
