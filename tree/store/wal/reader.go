package wal

import (
	"iter"

	"github.com/dogwooddb/dogwood/tree/store/internal/disk"
)

// readBytes is how much a reader reads at once; a longer record is read as a whole.
const readBytes = 256 << 10

// A reader reads the records of a segment. A record that it returns keeps its
// memory, since the rows of a record are used in place when they are applied.
type reader struct {
	file    disk.File
	id      uint64
	name    string
	at, end int64  // of the file
	buffer  []byte // what was read and not returned
}

func (s *segment) reader() *reader {
	return &reader{file: s.file, id: s.id, name: s.name(), at: headBytes, end: s.end}
}

// next returns the record that comes next, or ok false at the end. Its bytes are not used
// again.
func (r *reader) next() (rec stored, ok bool, err error) {
	for size := int64(recordHead); ; {
		if int64(len(r.buffer)) < size {
			if err := r.read(size); err != nil {
				return rec, false, err
			}
		}
		if len(r.buffer) == 0 {
			return rec, false, nil
		}
		if rec, ok = readRecord(r.buffer, r.id); ok {
			r.buffer = r.buffer[rec.size:]
			return rec, true, nil
		}
		more := int64(len(r.buffer))
		if more >= recordHead {
			more = int64(le.Uint32(r.buffer))
		}
		if more <= int64(len(r.buffer)) || more > r.end-r.at+int64(len(r.buffer)) {
			return rec, false, &DamageError{Segment: r.name, At: r.at - int64(len(r.buffer)), Reason: "a record is unreadable"}
		}
		size = more
	}
}

// read reads on until the buffer has a number of bytes, or there are no more.
func (r *reader) read(size int64) error {
	n := min(max(readBytes, size-int64(len(r.buffer))), r.end-r.at)
	b := make([]byte, int64(len(r.buffer))+n)
	copy(b, r.buffer)
	if _, err := r.file.ReadAt(b[len(r.buffer):], r.at); err != nil {
		return err
	}
	r.buffer, r.at = b, r.at+n
	return nil
}

// Records returns the records of a database with numbers above the given one, oldest first,
// as far as they are on the disk at the call. The memory of a record is not used again.
//
// An error ends the records. It is ErrTrimmed if some were released meanwhile; that earlier
// ones are gone is not an error, since whoever released them knows what they said.
func (l *Log) Records(database, after uint64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, s := range l.having(database, after) {
			if after = l.each(&s, database, after, yield); after == 0 {
				return
			}
		}
	}
}

// having returns copies of the segments that have such records.
func (l *Log) having(database, after uint64) (list []segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments {
		if s.of[database] > after && !s.going {
			list = append(list, *s)
		}
	}
	return list
}

// each yields the records of a database that are in a segment. It returns the number of the
// last one, 0 if nothing more is to be yielded.
func (l *Log) each(s *segment, database, after uint64, yield func(Record, error) bool) (last uint64) {
	for in := s.reader(); ; {
		r, ok, err := in.next()
		if (err != nil || ok && r.Number > after && r.Database == database) && !l.has(s.id) {
			err = ErrTrimmed // what was read may belong to a later segment in the same file
		}
		if err != nil {
			yield(Record{}, err)
			return 0
		}
		if !ok || r.Number > s.last {
			return after
		}
		if r.Database == database && r.Number > after {
			if !yield(r.Record, nil) {
				return 0
			}
			after = r.Number
		}
	}
}
