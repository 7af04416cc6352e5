package store

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// sums verifies the checksum of every entry of a file and reports those that are
// wrong by the path of what they belong to. It reports whether there were none.
func (c *checker) sums() bool {
	t, ok := fileOf(c.tx.kv)
	if !ok {
		return true
	}
	s := sumScan{t: t, places: make(map[uint64]rowPlace)}
	for _, b := range allBuckets {
		if err := s.bucket(b); err != nil {
			c.report("bucket %c: %w", b, err)
		}
	}
	for _, e := range s.bad {
		c.report("%s: %w: the checksum of %s is wrong", s.where(e.b, e.key), ErrDamaged, entryName(e.b, e.key))
	}
	return len(s.bad) == 0 && len(c.findings) == 0
}

// A sumScan goes over all entries of a file as they are stored.
type sumScan struct {
	t      *sumTx
	places map[uint64]rowPlace // of containers and blobs
	bad    []badEntry
}

// A rowPlace is the container and the ordered key of a row.
type rowPlace struct {
	parent uint64
	key    string
}

type badEntry struct {
	b   bucket
	key []byte
}

func (s *sumScan) bucket(b bucket) (err error) {
	defer s.t.guard(b, nil, mayFault(), &err)
	c := s.t.boltTx.cursor(b)
	for k, stored := c.seek(nil); k != nil; k, stored = c.next() {
		v, ok := stored, true
		if s.t.summed(b, k) {
			v, ok = checkSum(b, k, stored)
		}
		switch {
		case !ok && len(s.bad) < maxFindings:
			s.bad = append(s.bad, badEntry{b, append([]byte(nil), k...)})
		case ok && b == bucketRows:
			s.row(k, v)
		}
	}
	return nil
}

// row notes where the container or blob of a row is.
func (s *sumScan) row(k, v []byte) {
	if len(k) < 8 || len(v) < 9 || v[0] != tagContainer && v[0] != tagBlob {
		return
	}
	s.places[binary.BigEndian.Uint64(v[1:])] = rowPlace{binary.BigEndian.Uint64(k), string(k[8:])}
}

// where returns the path of what an entry belongs to, as far as it is known.
func (s *sumScan) where(b bucket, key []byte) string {
	switch {
	case b == bucketRows && len(key) >= 8:
		path := s.path(binary.BigEndian.Uint64(key))
		if name, ok := decodeKey(key[8:]); ok && tree.ValidKey(name) {
			return strings.TrimSuffix(path, "/") + "/" + name
		}
		return path
	case (b == bucketBlobs || b == bucketCounts) && len(key) >= 8:
		return s.path(binary.BigEndian.Uint64(key))
	case b == bucketIndex && len(key) >= 12:
		return s.path(binary.BigEndian.Uint64(key[4:]))
	}
	return fmt.Sprintf("bucket %c", b)
}

// path returns the path of a container or blob.
func (s *sumScan) path(id uint64) string {
	path := ""
	for range tree.MaxDepth + 1 {
		place, ok := s.places[id]
		switch {
		case !ok && path == "" && id == 0:
			return "/"
		case !ok:
			return fmt.Sprintf("(container %d)%s", id, path)
		case place.parent == 0 && place.key == "":
			if path == "" {
				return "/"
			}
			return path
		}
		name, _ := decodeKey([]byte(place.key))
		path = "/" + name + path
		id = place.parent
	}
	return path
}
