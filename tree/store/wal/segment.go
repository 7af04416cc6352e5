package wal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

const (
	segmentSuffix = ".seg"
	poolSuffix    = ".spare"
	controlFile   = "control"

	formatNumber = 1
	headBytes    = 512 // of a segment, of which records write no sector
	segmentMagic = "dogwood-log\n"
)

// A segment is a file of records whose numbers ascend by one.
//
// Its id is random and new whenever the file is filled again. follows is the last number of
// the segments before that counts: records above it that are found there are void.
//
// It is written by the goroutine that has the writing, and its fields are changed under the
// mutex of the log when the write has succeeded. end is therefore always the end of what is
// on the disk, and readers read up to it without a lock of the file.
type segment struct {
	first   uint64
	id      uint64
	follows uint64
	begun   time.Time // to the millisecond

	file  disk.File
	bytes int64             // size of the file
	end   int64             // of what is on the disk
	last  uint64            // number of the last record; first-1 if there is none
	of    map[uint64]uint64 // the last number of each database that has records in it
	from  map[uint64]int64  // where the first record of each of them is
	said  states            // what its records say, while the log is opened
	tail  int64             // where the last ones begin that a later record does not know to be on the disk; also then
	going bool              // its file is given up or used again, so readers no longer have it
	holes bool              // bytes of its file may not be on the disk, so it is not used again
}

func (s *segment) name() string { return fmt.Sprintf("%016x-%016x%s", s.first, s.id, segmentSuffix) }

// parseName returns a segment with what its name says.
func parseName(name string) (s *segment, ok bool) {
	s = &segment{of: make(map[uint64]uint64), from: make(map[uint64]int64)}
	n, err := fmt.Sscanf(strings.TrimSuffix(name, segmentSuffix), "%016x-%016x", &s.first, &s.id)
	return s, err == nil && n == 2 && s.name() == name && s.first > 0
}

func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return le.Uint64(b[:])
}

// head returns the beginning of the segment's file.
//
//	magic | format u32 | owner u64 | id u64 | first u64 | begun u64 |
//	bytes u64 | follows u64 | checksum u32
func (s *segment) head(owner uint64) []byte {
	b := append(make([]byte, 0, headBytes), segmentMagic...)
	b = le.AppendUint32(b, formatNumber)
	for _, n := range []uint64{owner, s.id, s.first, uint64(s.begun.UnixMilli()), uint64(s.bytes), s.follows} {
		b = le.AppendUint64(b, n)
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

const headLength = len(segmentMagic) + 4 + 6*8 + 4

// readHead verifies the beginning of a segment's file and takes follows from it.
func (s *segment) readHead(b []byte, owner uint64) error {
	if len(b) < headBytes || string(b[:len(segmentMagic)]) != segmentMagic {
		return errors.New("it is no segment of a log")
	}
	if v := le.Uint32(b[len(segmentMagic):]); v > formatNumber {
		return fmt.Errorf("%w: format %d", ErrFormat, v)
	}
	s.follows = le.Uint64(b[headLength-12:])
	bytes := le.Uint64(b[headLength-20:])
	s.begun = time.UnixMilli(int64(le.Uint64(b[headLength-28:])))
	switch want := s.head(owner); {
	case uint64(s.bytes) < bytes:
		return fmt.Errorf("it is cut short, and should have %d bytes", bytes)
	case le.Uint32(b[headLength-4:]) != crc32.Checksum(b[:headLength-4], castagnoli):
		return errors.New("the checksum of its head is wrong")
	case string(want) != string(b[:headLength]):
		return errors.New("it belongs to another log")
	}
	return nil
}

// note notes a record that is on the disk, at a place of the file.
func (s *segment) note(r *Record, at int64) {
	s.last = r.Number
	if r.Kind == stateKind {
		return
	}
	if _, has := s.of[r.Database]; !has {
		s.from[r.Database] = at
	}
	s.of[r.Database] = r.Number
}

// A control file names the log and its newest segment, so that neither a log of another
// directory nor one whose newest segment was lost is taken for complete.
type control struct {
	owner  uint64
	newest uint64 // id of a segment; there may be one that is newer
}

const controlFormat = "dogwood log %d\nlog %016x\nnewest segment %016x\n"

func (c control) encode() []byte {
	text := fmt.Sprintf(controlFormat, formatNumber, c.owner, c.newest)
	return fmt.Appendf([]byte(text), "sum %08x\n", crc32.Checksum([]byte(text), castagnoli))
}

func readControl(b []byte) (c control, err error) {
	var version int
	if n, _ := fmt.Sscanf(string(b), "dogwood log %d\n", &version); n == 1 && version > formatNumber {
		return c, fmt.Errorf("%w: format %d", ErrFormat, version)
	}
	_, err = fmt.Sscanf(string(b), controlFormat, &version, &c.owner, &c.newest)
	if err != nil || string(c.encode()) != string(b) {
		return c, errors.New("it is unreadable")
	}
	return c, nil
}
