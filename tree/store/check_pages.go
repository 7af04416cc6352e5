package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

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
