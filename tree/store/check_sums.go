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
	s := sumScan{summed: t.summed, places: make(map[uint64]rowPlace)}
	for _, b := range allBuckets {
		if err := s.bucket(t, b); err != nil {
			c.report("%s: %w", bucketNames[b], err)
		}
	}
	for _, err := range s.findings() {
		c.report("%w", err)
	}
	return len(s.bad) == 0 && len(c.findings) == 0
}

// A sumScan goes over all entries of a file as they are stored.
type sumScan struct {
	summed  func(b bucket, key []byte) bool // whether an entry has a checksum
	places  map[uint64]rowPlace             // of containers and blobs
	chunked map[uint64]bool                 // those of blobs
	bad     []badEntry
}

// bucketNames are the names of buckets for people; that of 0 is the list of buckets.
var bucketNames = map[bucket]string{
	0:                "the pages of the file",
	bucketRows:       "the values",
	bucketBlobs:      "long strings",
	bucketIndex:      "the indexes",
	bucketReclaim:    "the reclaim queue",
	bucketJournal:    "the journal",
	bucketDisconnect: "onDisconnect operations",
	bucketMeta:       "the state of the database",
	bucketTexts:      "rules, settings and the list of indexes",
	bucketWriters:    "write ids",
	bucketCounts:     "the numbers of children",
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

func (s *sumScan) bucket(t *sumTx, b bucket) (err error) {
	defer t.guard(b, nil, mayFault(), &err)
	c := t.boltTx.cursor(b)
	for k, stored := c.seek(nil); k != nil; k, stored = c.next() {
		s.entry(b, k, stored)
	}
	return nil
}

// entry takes the next entry.
func (s *sumScan) entry(b bucket, k, stored []byte) {
	v, ok := stored, true
	if s.summed(b, k) {
		v, ok = checkSum(b, k, stored)
	}
	switch {
	case !ok && len(s.bad) < maxFindings:
		s.bad = append(s.bad, badEntry{b, append([]byte(nil), k...)})
	case ok && b == bucketRows:
		s.row(k, v)
	}
}

// findings returns what is wrong with entries.
func (s *sumScan) findings() (all []error) {
	for _, e := range s.bad {
		all = append(all, fmt.Errorf("%s: %w: the checksum of %s is wrong", s.where(e.b, e.key), ErrDamaged, entryName(e.b, e.key)))
	}
	return all
}

// row notes where the container or blob of a row is.
func (s *sumScan) row(k, v []byte) {
	if len(k) < 8 || len(v) < 9 || v[0] != tagContainer && v[0] != tagBlob {
		return
	}
	id := binary.BigEndian.Uint64(v[1:])
	if v[0] == tagBlob {
		if s.chunked == nil {
			s.chunked = make(map[uint64]bool)
		}
		s.chunked[id] = true
	}
	s.places[id] = rowPlace{binary.BigEndian.Uint64(k), string(k[8:])}
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
	return bucketNames[b]
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
