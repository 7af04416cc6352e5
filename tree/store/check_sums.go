package store

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// sums verifies the checksum of every entry of a file and reports those that are
// wrong by the path of what they belong to. It reports whether there were none.
func (c *checker) sums() bool {
	t, ok := kv.FileOf(c.tx.kv)
	if !ok {
		return true
	}
	s := sumScan{places: make(map[uint64]rowPlace)}
	for _, b := range kv.Buckets {
		err := t.Scan(b, func(k, v []byte, whole bool) { s.entry(b, k, v, whole) })
		if err != nil {
			c.report("%s: %w", bucketNames[b], err)
		}
	}
	for _, err := range s.findings() {
		c.report("%w", err)
	}
	return len(s.bad) == 0 && len(c.findings) == 0
}

// A sumScan goes over all entries of a file, damaged ones too.
type sumScan struct {
	places  map[uint64]rowPlace // of containers and blobs
	chunked map[uint64]bool     // those of blobs
	bad     []badEntry
}

// bucketNames are the names of buckets for people; that of 0 is the list of buckets.
var bucketNames = map[kv.Bucket]string{
	0:             "the pages of the file",
	kv.Rows:       "the values",
	kv.Blobs:      "long strings",
	kv.Index:      "the indexes",
	kv.Reclaim:    "the reclaim queue",
	kv.Journal:    "the journal",
	kv.Disconnect: "onDisconnect operations",
	kv.Meta:       "the state of the database",
	kv.Texts:      "rules, settings and the list of indexes",
	kv.Writers:    "write ids",
	kv.Counts:     "the numbers of children",
}

// A rowPlace is the container and the ordered key of a row.
type rowPlace struct {
	parent uint64
	key    string
}

type badEntry struct {
	b   kv.Bucket
	key []byte
}

// entry takes the next entry.
func (s *sumScan) entry(b kv.Bucket, k, v []byte, whole bool) {
	switch {
	case !whole && len(s.bad) < maxFindings:
		s.bad = append(s.bad, badEntry{b, append([]byte(nil), k...)})
	case whole && b == kv.Rows:
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

// entryName names an entry for people.
func entryName(b kv.Bucket, key []byte) string {
	if b == kv.Rows && len(key) > 8 {
		if name, ok := decodeKey(key[8:]); ok {
			return fmt.Sprintf("row %q of container %d", name, binary.BigEndian.Uint64(key))
		}
	}
	return fmt.Sprintf("entry %.64x of bucket %c", key, b)
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
func (s *sumScan) where(b kv.Bucket, key []byte) string {
	switch {
	case b == kv.Rows && len(key) >= 8:
		path := s.path(binary.BigEndian.Uint64(key))
		if name, ok := decodeKey(key[8:]); ok && tree.ValidKey(name) {
			return strings.TrimSuffix(path, "/") + "/" + name
		}
		return path
	case (b == kv.Blobs || b == kv.Counts) && len(key) >= 8:
		return s.path(binary.BigEndian.Uint64(key))
	case b == kv.Index && len(key) >= 12:
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
