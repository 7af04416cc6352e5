package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A sumScan goes over all entries of a file, damaged ones too.
//
// Its findings name paths, because a path is what an administrator can look for
// in an export or a backup. It builds the paths from the rows that are whole,
// so damage near the root shows as a container's number.
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
	kv.Journal:    "records of commits",
	kv.Disconnect: "onDisconnect operations",
	kv.Meta:       "the state of the database",
	kv.Texts:      "rules, settings and the list of indexes",
	kv.Writers:    "write ids",
	kv.Counts:     "the numbers of children",
	kv.Declared:   "rows of declared data",
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

// maxFindings bounds what one Check reports.
const maxFindings = 100

// damagedPages follows all pages of a file that cannot be opened, passes over those
// that are damaged and reports them by the path of what is on them, as it does entries
// with a wrong checksum on the others.
func damagedPages(file string) (findings []error, err error) {
	s := sumScan{places: make(map[uint64]rowPlace)}
	damage, err := kv.ScanDamaged(file, s.entry)
	if err != nil {
		return nil, err
	}
	if damage.Short != nil {
		findings = append(findings, fmt.Errorf("%w; restore it from a backup", damage.Short))
	}
	for _, b := range damage.Pages {
		findings = append(findings, fmt.Errorf("%s: %w", s.on(b), b.Err))
	}
	findings = append(findings, s.findings()...)
	return findings[:min(len(findings), maxFindings)], nil
}

// on says what is on a page.
func (s *sumScan) on(b kv.BadPage) string {
	what := bucketNames[b.Bucket]
	switch {
	case b.Bucket == 0:
		return what
	case b.Min == nil && b.Max == nil:
		return "all of " + what
	case b.Bucket == kv.Rows || b.Bucket == kv.Blobs || b.Bucket == kv.Counts:
		return s.paths(b)
	case b.Bucket == kv.Index && b.Min != nil:
		return "index entries from " + s.where(b.Bucket, b.Min) + " on"
	}
	return "a part of " + what
}

// maxPaths bounds the paths that one finding names.
const maxPaths = 20

// paths returns the paths of what is on a page of rows, chunks or counts: those of its
// first and last container with the first and last key, and those between as a whole.
// Containers are in the order of their ids, which is not that of paths.
func (s *sumScan) paths(b kv.BadPage) string {
	first, last := uint64(0), ^uint64(0)
	if len(b.Min) >= 8 {
		first = binary.BigEndian.Uint64(b.Min)
	}
	if len(b.Max) >= 8 {
		last = binary.BigEndian.Uint64(b.Max)
	}
	if b.Bucket == kv.Rows && len(b.Min) >= 8 && len(b.Max) >= 8 && first == last {
		return s.where(b.Bucket, b.Min) + " up to " + s.where(b.Bucket, b.Max)
	}
	var all []string
	if b.Bucket == kv.Rows && len(b.Min) > 8 {
		all = append(all, s.where(b.Bucket, b.Min)+" and what follows there")
	} else if len(b.Min) >= 8 {
		all = append(all, s.where(b.Bucket, b.Min))
	}
	var between []string
	for id := range s.places {
		if id > first && id < last && s.chunked[id] == (b.Bucket == kv.Blobs) {
			between = append(between, s.path(id))
		}
	}
	slices.Sort(between)
	if more := len(between) - maxPaths; more > 0 {
		between = append(between[:maxPaths], fmt.Sprintf("%d more", more))
	}
	all = append(all, between...)
	switch {
	case len(b.Max) < 8:
		all = append(all, "what was stored last")
	case b.Bucket == kv.Rows && len(b.Max) > 8:
		all = append(all, s.path(last)+" up to "+s.where(b.Bucket, b.Max))
	case b.Bucket == kv.Blobs && len(b.Max) > 8:
		all = append(all, s.path(last))
	}
	return strings.Join(slices.Compact(all), ", ")
}
