package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A WriteID names one write of one client, by which it is recognized when it is
// sent again.
type WriteID struct {
	Writer [16]byte // made of a client's random name and its caller: never that of another
	Number uint64   // ascending; from 1 to MaxWriteNumber
}

// MaxWriteNumber is the largest number of a write: what every client can count to.
const MaxWriteNumber = 1<<53 - 1

const (
	// DefaultWriterLimit is how many writers are remembered.
	DefaultWriterLimit = 1 << 18
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

// Dedup recognizes writes that were carried out before.
type Dedup struct{ tx *Tx }

// Dedup returns the writes on record as of the transaction.
func (tx *Tx) Dedup() Dedup { return Dedup{tx} }

// Has reports whether a write is on record.
func (d Dedup) Has(id WriteID) (bool, error) {
	w, _, err := d.writer(id.Writer)
	return w.runs.has(id.Number), err
}

// Record puts a write on record. It forgets the oldest writers beyond the
// limit, and some that were not heard from for long.
func (d Dedup) Record(id WriteID, now time.Time) error {
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
	if err := d.tx.put(kv.Writers, key, w.encode()); err != nil || known {
		return err
	}
	return d.countWriter(now)
}

// writer returns what is on record of a writer.
func (d Dedup) writer(id [16]byte) (w writer, known bool, err error) {
	v, err := d.tx.get(kv.Writers, writerKey(id))
	if err != nil {
		return w, false, err
	}
	w, err = decodeWriter(v)
	return w, v != nil, err
}

// moveWriter notes when a writer was heard from.
func (d Dedup) moveWriter(w [16]byte, known bool, from, to uint32) error {
	if known {
		if from == to {
			return nil
		}
		if err := d.tx.delete(kv.Writers, hourKey(from, w)); err != nil {
			return err
		}
	}
	return d.tx.put(kv.Writers, hourKey(to, w), nil)
}

// countWriter counts a new writer and forgets old ones.
func (d Dedup) countWriter(now time.Time) error {
	count, err := d.writers()
	if err != nil {
		return err
	}
	count++
	for range forgetAtOnce {
		did, err := d.forgetWriter(count > uint64(d.tx.store.options.WriterLimit), now)
		if err != nil {
			return err
		}
		if !did {
			break
		}
		count--
	}
	return d.tx.put(kv.Writers, []byte{writerCount}, binary.AppendUvarint(nil, count))
}

// forgetWriter forgets the writer that was not heard from for the longest, if
// that is long ago or it must go anyway.
func (d Dedup) forgetWriter(must bool, now time.Time) (did bool, err error) {
	c := d.tx.kv.Cursor(kv.Writers)
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
	if err := d.tx.delete(kv.Writers, k); err != nil {
		return false, err
	}
	return true, d.tx.delete(kv.Writers, writerKey([16]byte(k[5:])))
}

// writers returns how many writers are on record.
func (d Dedup) writers() (uint64, error) {
	v, err := d.tx.get(kv.Writers, []byte{writerCount})
	if v == nil || err != nil {
		return 0, err
	}
	n, size := binary.Uvarint(v)
	if size != len(v) {
		return 0, fmt.Errorf("%w: unreadable count of writers", ErrDamaged)
	}
	return n, nil
}

func writerKey(w [16]byte) []byte { return append([]byte{writerRuns}, w[:]...) }

func hourKey(hour uint32, w [16]byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{writerHour}, hour), w[:]...)
}

func hourOf(t time.Time) uint32 { return uint32(max(0, t.Unix()/3600)) }

// A writer is what is kept of one client.
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
		if size <= 0 || n > MaxWriteNumber {
			err = fmt.Errorf("%w: unreadable writer", ErrDamaged)
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
		err = fmt.Errorf("%w: unreadable writer", ErrDamaged)
	}
	return w, err
}

// A run is a range of numbers, both ends included.
type run struct{ from, to uint64 }

// runs are ascending and do not touch. What is in none of them was refused, or
// is older than what is kept.
type runs []run

func (r runs) valid() bool {
	end := uint64(0)
	for i, x := range r {
		if x.from <= end || i > 0 && x.from == end+1 || x.to < x.from || x.to > MaxWriteNumber {
			return false
		}
		end = x.to
	}
	return len(r) > 0 && len(r) <= maxRuns
}

// find returns the run that has n, or where one would have to be.
func (r runs) find(n uint64) (at int, ok bool) {
	return slices.BinarySearchFunc(r, n, func(x run, n uint64) int {
		switch {
		case x.to < n:
			return -1
		case x.from > n:
			return 1
		}
		return 0
	})
}

func (r runs) has(n uint64) bool {
	_, ok := r.find(n)
	return ok
}

// add returns r with n. If there are too many runs then, it drops the one with
// the lowest numbers: its client has heard of those for the longest.
func (r runs) add(n uint64) runs {
	at, ok := r.find(n)
	if ok {
		return r
	}
	joinsLeft := at > 0 && r[at-1].to+1 == n
	joinsRight := at < len(r) && r[at].from == n+1
	switch {
	case joinsLeft && joinsRight:
		r[at-1].to = r[at].to
		return slices.Delete(r, at, at+1)
	case joinsLeft:
		r[at-1].to = n
	case joinsRight:
		r[at].from = n
	default:
		r = slices.Insert(r, at, run{n, n})
	}
	if len(r) > maxRuns {
		r = slices.Delete(r, 0, 1)
	}
	return r
}

// writers checks that what is kept of writers can be read, and that their count
// and the order in which they are forgotten agree with it.
func (c *checker) writers() {
	found := uint64(0)
	cur := c.tx.kv.Cursor(kv.Writers)
	for k, v := cur.Seek(nil); k != nil; k, v = cur.Next() {
		switch {
		case len(k) == 1+16 && k[0] == writerRuns:
			found++
			c.writer(k, v)
		case len(k) == 1+4+16 && k[0] == writerHour:
			c.writerHour(k)
		case string(k) == string(rune(writerCount)):
		default:
			c.report("bucket w: unreadable key %x", k)
		}
	}
	c.walked(kv.Writers, cur)
	count, err := c.tx.Dedup().writers()
	switch {
	case err != nil:
		c.report("%w", err)
	case count != found:
		c.report("%d writers are counted, %d are on record", count, found)
	}
}

func (c *checker) writer(k, v []byte) {
	w, err := decodeWriter(v)
	switch {
	case err != nil:
		c.report("writer %x: %w", k[1:], err)
	case len(w.runs) == 0:
		c.report("writer %x has no writes", k[1:])
	case !c.has(kv.Writers, hourKey(w.hour, [16]byte(k[1:]))):
		c.report("writer %x would never be forgotten", k[1:])
	}
}

func (c *checker) writerHour(k []byte) {
	id := [16]byte(k[5:])
	w, _, err := c.tx.Dedup().writer(id)
	if err == nil && (len(w.runs) == 0 || w.hour != binary.BigEndian.Uint32(k[1:])) {
		c.report("writer %x would be forgotten at a wrong time", id)
	}
}
