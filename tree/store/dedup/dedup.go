// Package dedup recognizes writes that clients send again. In bucket w of a store it keeps,
// for each client that gives its writes ids, the numbers of those that were carried out and
// the hour of the last one. Clients not heard from for long are forgotten.
package dedup

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A ID names one write of one client, by which it is recognized when it is
// sent again.
type ID struct {
	Writer [16]byte // made of a client's random name and its caller: never that of another
	Number uint64   // ascending; from 1 to MaxNumber
}

// MaxNumber is the largest number of a write: what every client can count to.
const MaxNumber = 1<<53 - 1

const (
	// DefaultLimit is how many writers are remembered.
	DefaultLimit = 1 << 18
	// WriterLife is how long a writer is remembered at least that is not heard
	// from, unless there are too many.
	WriterLife = 30 * 24 * time.Hour
	// maxRuns bounds what is kept of one writer. Numbers come in order and are left
	// out only by writes that were refused, so one run is the rule.
	maxRuns = 128
	// forgetAtOnce bounds the work that a new writer brings about.
	forgetAtOnce = 4
)

// Keys of bucket w.
const (
	writerRuns  = 'w' // writer → hour of the last write, runs
	writerHour  = 'h' // hour, writer → nothing: the order in which they are forgotten
	writerCount = 'n' // → number of writers
)

// Writes recognize those that were carried out before.
//
// The memory is one entry for each writer and not for each write, because a
// client numbers its writes in order: what was carried out is mostly one range.
// A writer that leaves gaps has several, up to a bound.
type Writes struct {
	entries kv.Entries
	limit   int // writers
}

// Of returns the writes on record as of a transaction, of at most limit writers.
func Of(e kv.Entries, limit int) Writes { return Writes{e, limit} }

// Has reports whether a write is on record.
func (d Writes) Has(id ID) (bool, error) {
	w, _, err := d.writer(id.Writer)
	return w.runs.has(id.Number), err
}

// Record puts a write on record. It forgets the oldest writers beyond the
// limit, and some that were not heard from for long. The caller records a write
// in the transaction that carries it out; that is all that makes it count once.
func (d Writes) Record(id ID, now time.Time) error {
	key := writerKey(id.Writer)
	w, known, err := d.writer(id.Writer)
	if err != nil {
		return err
	}
	hour := max(w.hour, hourOf(now)) // a clock that goes back makes nobody older
	if err := d.moveWriter(id.Writer, known, w.hour, hour); err != nil {
		return err
	}
	w = writer{hour, w.runs.add(id.Number)}
	if err := d.entries.Put(kv.Writers, key, w.encode()); err != nil || known {
		return err
	}
	return d.countWriter(now)
}

// writer returns what is on record of a writer.
func (d Writes) writer(id [16]byte) (w writer, known bool, err error) {
	v, err := d.entries.Get(kv.Writers, writerKey(id))
	if err != nil {
		return w, false, err
	}
	w, err = decodeWriter(v)
	return w, v != nil, err
}

// moveWriter notes when a writer was heard from.
func (d Writes) moveWriter(w [16]byte, known bool, from, to uint32) error {
	if known {
		if from == to {
			return nil
		}
		if err := d.entries.Delete(kv.Writers, hourKey(from, w)); err != nil {
			return err
		}
	}
	return d.entries.Put(kv.Writers, hourKey(to, w), nil)
}

// countWriter counts a new writer and forgets old ones.
func (d Writes) countWriter(now time.Time) error {
	count, err := d.writers()
	if err != nil {
		return err
	}
	count++
	for range forgetAtOnce {
		did, err := d.forgetWriter(count > uint64(d.limit), now)
		if err != nil {
			return err
		}
		if !did {
			break
		}
		count--
	}
	return d.entries.Put(kv.Writers, []byte{writerCount}, binary.AppendUvarint(nil, count))
}

// forgetWriter forgets the writer that was not heard from for the longest, if
// that is long ago or it must go anyway. The hour is part of the key, so the
// oldest writer is the first entry and needs no search. It is coarse so that a
// busy writer moves there once an hour.
func (d Writes) forgetWriter(must bool, now time.Time) (did bool, err error) {
	c := d.entries.Cursor(kv.Writers)
	k, _ := c.Seek([]byte{writerHour})
	if err := c.Err(); err != nil {
		return false, err
	}
	if len(k) != 1+4+16 || k[0] != writerHour {
		return false, nil
	}
	if !must && binary.BigEndian.Uint32(k[1:]) >= hourOf(now.Add(-WriterLife)) {
		return false, nil
	}
	k = slices.Clone(k)
	if err := d.entries.Delete(kv.Writers, k); err != nil {
		return false, err
	}
	return true, d.entries.Delete(kv.Writers, writerKey([16]byte(k[5:])))
}

// writers returns how many writers are on record.
func (d Writes) writers() (uint64, error) {
	v, err := d.entries.Get(kv.Writers, []byte{writerCount})
	if v == nil || err != nil {
		return 0, err
	}
	n, size := binary.Uvarint(v)
	if size != len(v) {
		return 0, fmt.Errorf("%w: unreadable count of writers", kv.ErrDamaged)
	}
	return n, nil
}

func writerKey(w [16]byte) []byte { return append([]byte{writerRuns}, w[:]...) }

func hourKey(hour uint32, w [16]byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{writerHour}, hour), w[:]...)
}

func hourOf(t time.Time) uint32 { return uint32(max(0, t.Unix()/3600)) }

// A writer is what is kept of one client.
//
// Runs are stored as differences, each as a varint, so a client that has made a
// million writes in order takes some ten bytes.
type writer struct {
	hour uint32 // of its last write
	runs runs
}

func (w writer) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(w.hour))
	end := uint64(0)
	for _, r := range w.runs {
		b = binary.AppendUvarint(b, r.from-end)
		b = binary.AppendUvarint(b, r.to-r.from)
		end = r.to
	}
	return b
}

// decodeWriter is the inverse of encode. Nothing is a writer without writes.
func decodeWriter(b []byte) (w writer, err error) {
	if len(b) == 0 {
		return w, nil
	}
	next := func() (n uint64) {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > MaxNumber {
			err = fmt.Errorf("%w: unreadable writer", kv.ErrDamaged)
			b = nil
			return 0
		}
		b = b[size:]
		return n
	}
	hour := next()
	w.hour = uint32(min(hour, math.MaxUint32))
	end := uint64(0)
	for len(b) > 0 {
		r := run{from: end + next()}
		r.to = r.from + next()
		end = r.to
		w.runs = append(w.runs, r)
	}
	if err == nil && !w.runs.valid() {
		err = fmt.Errorf("%w: unreadable writer", kv.ErrDamaged)
	}
	return w, err
}
