package store

import (
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

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
	count, err := c.tx.writers()
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
	w, _, err := c.tx.writer(id)
	if err == nil && (len(w.runs) == 0 || w.hour != binary.BigEndian.Uint32(k[1:])) {
		c.report("writer %x would be forgotten at a wrong time", id)
	}
}
