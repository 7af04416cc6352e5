package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A badPage is a page that cannot be followed, and the range of keys that it has.
type badPage struct {
	bucket   bucket
	min, max []byte // nil: not known
	err      error
}

// damagedPages follows all pages of a file that cannot be opened, passes over those
// that are damaged and reports them by the path of what is on them, as it does entries
// with a wrong checksum on the others.
func damagedPages(file string) (findings []error, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	meta, err := newestMeta(f)
	if err != nil {
		return nil, err // nothing is known
	}
	if err := probeMeta(f, info.Size()); err != nil {
		findings = append(findings, fmt.Errorf("%w; restore it from a backup", err))
	}
	sums := findPlace(f, meta, info.Size())
	s := sumScan{summed: sums.has, places: make(map[uint64]rowPlace)}
	w := pageWalk{f: f, meta: meta, size: info.Size(), entry: s.entry, tolerant: true}
	if err := w.run(); err != nil {
		w.bad = append(w.bad, badPage{err: err})
	}
	for _, b := range w.bad {
		findings = append(findings, fmt.Errorf("%s: %w", s.on(b), b.err))
	}
	findings = append(findings, s.findings()...)
	return findings[:min(len(findings), maxFindings)], nil
}

// findPlace finds out which entries of a file have checksums.
func findPlace(f *os.File, meta boltMeta, size int64) sumPlace {
	var plain bool
	place := upgradeEnd
	w := pageWalk{f: f, meta: meta, size: size, tolerant: true, entry: func(b bucket, k, v []byte) {
		switch {
		case b != bucketMeta:
		case bytes.Equal(k, formatKey):
			plain = string(v) == formatPlain
		case bytes.Equal(k, placeKey):
			if p, ok := decodePlace(v); ok {
				place = p
			}
		}
	}}
	_ = w.run()
	if plain {
		place = upgradePlace{}
	}
	return sumPlace{place}
}

// A sumPlace says which entries of a file have checksums.
type sumPlace struct{ upgradePlace }

func (p sumPlace) has(b bucket, key []byte) bool {
	return (b != bucketMeta || !bytes.Equal(key, formatKey)) && p.upgradePlace.has(b, key)
}

// on says what is on a page.
func (s *sumScan) on(b badPage) string {
	what := bucketNames[b.bucket]
	switch {
	case b.bucket == 0:
		return what
	case b.min == nil && b.max == nil:
		return "all of " + what
	case b.bucket == bucketRows || b.bucket == bucketBlobs || b.bucket == bucketCounts:
		return s.paths(b)
	case b.bucket == bucketIndex && b.min != nil:
		return "index entries from " + s.where(b.bucket, b.min) + " on"
	}
	return "a part of " + what
}

// maxPaths bounds the paths that one finding names.
const maxPaths = 20

// paths returns the paths of what is on a page of rows, chunks or counts: those of its
// first and last container with the first and last key, and those between as a whole.
// Containers are in the order of their ids, which is not that of paths.
func (s *sumScan) paths(b badPage) string {
	first, last := uint64(0), ^uint64(0)
	if len(b.min) >= 8 {
		first = binary.BigEndian.Uint64(b.min)
	}
	if len(b.max) >= 8 {
		last = binary.BigEndian.Uint64(b.max)
	}
	if b.bucket == bucketRows && len(b.min) >= 8 && len(b.max) >= 8 && first == last {
		return s.where(b.bucket, b.min) + " up to " + s.where(b.bucket, b.max)
	}
	var all []string
	if b.bucket == bucketRows && len(b.min) > 8 {
		all = append(all, s.where(b.bucket, b.min)+" and what follows there")
	} else if len(b.min) >= 8 {
		all = append(all, s.where(b.bucket, b.min))
	}
	var between []string
	for id := range s.places {
		if id > first && id < last && s.chunked[id] == (b.bucket == bucketBlobs) {
			between = append(between, s.path(id))
		}
	}
	slices.Sort(between)
	if more := len(between) - maxPaths; more > 0 {
		between = append(between[:maxPaths], fmt.Sprintf("%d more", more))
	}
	all = append(all, between...)
	switch {
	case len(b.max) < 8:
		all = append(all, "what was stored last")
	case b.bucket == bucketRows && len(b.max) > 8:
		all = append(all, s.path(last)+" up to "+s.where(b.bucket, b.max))
	case b.bucket == bucketBlobs && len(b.max) > 8:
		all = append(all, s.path(last))
	}
	return strings.Join(slices.Compact(all), ", ")
}
