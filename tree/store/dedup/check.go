package dedup

import (
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Check verifies that what is kept of writers can be read, and that their count and the
// order in which they are forgotten agree with it.
func (d Writes) Check(report func(format string, args ...any)) {
	c := checker{d, report}
	found := uint64(0)
	cur := d.entries.Cursor(kv.Writers)
	for k, v := cur.Seek(nil); k != nil; k, v = cur.Next() {
		switch {
		case len(k) == 1+16 && k[0] == writerRuns:
			found++
			c.writer(k, v)
		case len(k) == 1+4+16 && k[0] == writerHour:
			c.hour(k)
		case string(k) == string(rune(writerCount)):
		default:
			report("bucket w: unreadable key %x", k)
		}
	}
	if err := cur.Err(); err != nil {
		report("bucket %c: %w", kv.Writers, err)
	}
	count, err := d.writers()
	switch {
	case err != nil:
		report("%w", err)
	case count != found:
		report("%d writers are counted, %d are on record", count, found)
	}
}

type checker struct {
	writes Writes
	report func(format string, args ...any)
}

func (c checker) writer(k, v []byte) {
	w, err := decodeWriter(v)
	switch {
	case err != nil:
		c.report("writer %x: %w", k[1:], err)
	case len(w.runs) == 0:
		c.report("writer %x has no writes", k[1:])
	case !c.has(hourKey(w.hour, [16]byte(k[1:]))):
		c.report("writer %x would never be forgotten", k[1:])
	}
}

// has reports whether there is an entry with the key.
func (c checker) has(key []byte) bool {
	v, err := c.writes.entries.Get(kv.Writers, key)
	if err != nil {
		c.report("bucket %c: %w", kv.Writers, err)
	}
	return v != nil || err != nil
}

func (c checker) hour(k []byte) {
	id := [16]byte(k[5:])
	w, _, err := c.writes.writer(id)
	if err == nil && (len(w.runs) == 0 || w.hour != binary.BigEndian.Uint32(k[1:])) {
		c.report("writer %x would be forgotten at a wrong time", id)
	}
}
