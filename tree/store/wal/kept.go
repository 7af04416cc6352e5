package wal

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// Bounds of what is kept. Beyond them the oldest records are given up.
const (
	KeptBytes = 1 << 30
	KeptAge   = 30 * 24 * time.Hour

	maxNotes = 10_000 // files that say what became of records
)

// A KeptState says what a kept file has.
type KeptState uint8

// The states.
const (
	KeptRecords KeptState = iota // the records
	KeptTaken                    // a note that the file of the database got them
	KeptGivenUp                  // a note that they were given up at a bound
)

// A Kept is the head of a file with records that a log keeps outside of its segments, since
// the file of their database was missing or could not be opened. Without the records, it says
// what became of them, so that another copy of the database is not taken for complete.
type Kept struct {
	Owner    uint64 // of the log
	Database uint64
	Line     uint64 // see State
	State    KeptState
	Last     uint64    // number of the last record
	Since    time.Time // to the second
	Bytes    int64     // of the records; 0 in a note
}

const (
	keptSuffix = ".kept"
	keptMagic  = "dogwood-kept\n"
	keptHead   = len(keptMagic) + 4 + 1 + 6*8 + 2*4
)

// Name returns the name of the file.
func (k Kept) Name() string { return fmt.Sprintf("%016x-%016x%s", k.Owner, k.Database, keptSuffix) }

// Until returns when the records are given up at the latest.
func (k Kept) Until() time.Time { return k.Since.Add(KeptAge) }

// encode returns the content of the file.
//
//	magic | format u32 | state u8 | owner u64 | database u64 | line u64 | last u64 | since u64 |
//	length of the records u64 | checksum of the records u32 | checksum of all before u32 | records
//
// The records are stored as in a segment whose id is the number of the database.
func (k Kept) encode(records []byte) []byte {
	b := append(make([]byte, 0, keptHead+len(records)), keptMagic...)
	b = append(le.AppendUint32(b, formatNumber), byte(k.State))
	for _, n := range []uint64{k.Owner, k.Database, k.Line, k.Last, uint64(k.Since.Unix()), uint64(len(records))} {
		b = le.AppendUint64(b, n)
	}
	b = le.AppendUint32(b, crc32.Checksum(records, castagnoli))
	b = le.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return append(b, records...)
}

// readKept reads the beginning of a file.
func readKept(b []byte) (k Kept, sum uint32, err error) {
	if len(b) < keptHead || string(b[:len(keptMagic)]) != keptMagic {
		return k, 0, errors.New("it has no kept records")
	}
	at := b[len(keptMagic):]
	if v := le.Uint32(at); v > formatNumber {
		return k, 0, fmt.Errorf("%w: format %d", ErrFormat, v)
	}
	if le.Uint32(b[keptHead-4:]) != crc32.Checksum(b[:keptHead-4], castagnoli) {
		return k, 0, errors.New("the checksum of its head is wrong")
	}
	k = Kept{
		State: KeptState(at[4]), Owner: le.Uint64(at[5:]), Database: le.Uint64(at[13:]), Line: le.Uint64(at[21:]), Last: le.Uint64(at[29:]),
		Since: time.Unix(int64(le.Uint64(at[37:])), 0), Bytes: int64(le.Uint64(at[45:])),
	}
	return k, le.Uint32(at[53:]), nil
}

// KeptFiles are the kept files in the directory of a log.
type KeptFiles struct{ disk disk.Disk }

// KeptIn returns the kept files in a directory.
func KeptIn(dir string) KeptFiles { return KeptFiles{disk.Directory(dir)} }

// Kept returns the kept files of the log, and of those that were in its directory before.
func (l *Log) Kept() KeptFiles { return KeptFiles{l.disk} }

// Find returns what is kept of a database. ok is false if there is nothing.
func (f KeptFiles) Find(owner, database uint64) (k Kept, records []Record, ok bool, err error) {
	name := Kept{Owner: owner, Database: database}.Name()
	b, err := f.disk.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil, false, nil
	}
	if err != nil {
		return k, nil, false, err
	}
	damaged := func(at int, reason string) error {
		return &DamageError{Segment: name, At: int64(at), Reason: reason}
	}
	k, sum, err := readKept(b)
	switch {
	case errors.Is(err, ErrFormat):
		return k, nil, false, fmt.Errorf("%s: %w", name, err)
	case err != nil:
		return k, nil, false, damaged(0, err.Error())
	case k.Name() != name || int64(len(b)-keptHead) != k.Bytes:
		return k, nil, false, damaged(0, "it is another file, or cut short")
	case crc32.Checksum(b[keptHead:], castagnoli) != sum:
		return k, nil, false, damaged(keptHead, "the checksum of its records is wrong")
	}
	for at := keptHead; at < len(b); {
		r, ok := readRecord(b[at:], database)
		if !ok {
			return k, nil, false, damaged(at, "a record is unreadable")
		}
		records = append(records, r.Record)
		at += r.size
	}
	return k, records, true, nil
}

// List returns the heads of all files, those first that were kept first.
func (f KeptFiles) List() (list []Kept, err error) {
	names, err := f.disk.List()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, keptSuffix) {
			continue
		}
		k, err := f.head(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, k)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Name(), b.Name())) < 0
	})
	return list, nil
}

func (f KeptFiles) head(name string) (k Kept, err error) {
	file, err := f.disk.Open(name, true)
	if err != nil {
		return k, err
	}
	b := make([]byte, keptHead)
	_, err = file.ReadAt(b, 0)
	if err == nil {
		k, _, err = readKept(b)
	}
	return k, errors.Join(err, file.Close())
}

// Settle replaces the records by a note of what became of them.
func (f KeptFiles) Settle(k Kept, state KeptState, now time.Time) error {
	k.State, k.Since, k.Bytes = state, now, 0
	return f.disk.Replace(k.Name(), k.encode(nil))
}

// Limit gives up records at their bounds, unless they are in use, and returns whose. It removes old
// notes when there are very many.
func (f KeptFiles) Limit(now time.Time, inUse func(Kept) bool) (givenUp []Kept, err error) {
	list, err := f.List()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, inUse)
	bytes, notes := int64(0), 0
	for _, k := range list {
		bytes += k.Bytes
		if k.State != KeptRecords {
			notes++
		}
	}
	for _, k := range list {
		switch {
		case k.State != KeptRecords && notes > maxNotes:
			notes--
			err = f.disk.Remove(k.Name())
		case k.State == KeptRecords && (bytes > KeptBytes || now.After(k.Until())):
			bytes -= k.Bytes
			givenUp = append(givenUp, k)
			err = f.Settle(k, KeptGivenUp, now)
		}
		if err != nil {
			return givenUp, err
		}
	}
	return givenUp, nil
}

// Keep takes the records of a database that are not released out of the segments, into a
// file of their own with the state of the database, and releases them.
//
// The file is written and synced before the records are released, so they are in one of
// the two places at any moment. If it is interrupted in between, the records are in both,
// and recovery takes each number once.
func (l *Log) Keep(database uint64) error {
	last, ok := l.Databases()[database]
	if !ok {
		return nil
	}
	k, records, _, err := l.Kept().Find(l.Owner(), database)
	if err != nil {
		return err
	}
	state, ok := l.State(database)
	if !ok {
		state.Line = k.Line
	}
	if last > k.Last || state.Line != k.Line {
		l.mu.Lock()
		after := max(k.Last, l.released[database])
		l.mu.Unlock()
		for r, err := range l.Records(database, after) {
			if err != nil {
				return err
			}
			records = append(records, r)
		}
		if k.State != KeptRecords || k.Last == 0 {
			k.Since = l.o.Now()
		}
		k = Kept{Owner: l.Owner(), Database: database, Line: state.Line, Last: max(last, k.Last), Since: k.Since}
		if err := l.disk.Replace(k.Name(), k.encode(sealed(records))); err != nil {
			return err
		}
	}
	l.Done(database)
	return l.Release(database, last)
}

// sealed returns records as they are stored in a kept file.
func sealed(records []Record) (b []byte) {
	for _, r := range records {
		at := len(b)
		b = appendRecord(b, &r)
		seal(b[at:], r.Database, r.Number, r.Number-1)
	}
	return b
}

// OpenKept opens what a directory keeps of a log that is not in it. It has no other records.
func OpenKept(dir string, owner uint64) *Log {
	l := newLog(disk.Directory(dir), Options{ReadOnly: true})
	l.control.owner = owner
	return l
}
