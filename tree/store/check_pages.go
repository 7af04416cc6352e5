package store

import (
	"errors"
	"fmt"
	"os"
)

// A badPage is a page that cannot be followed, and the range of keys that it has.
type badPage struct {
	bucket   bucket
	min, max []byte // nil: not known
	err      error
}

// damagedPages follows all pages of a file that cannot be opened, passes over those
// that are damaged and reports them by the path of what is on them.
func damagedPages(file string) (findings []error, err error) {
	if _, err := probeHead(file); err != nil {
		return nil, err // cut short: nothing is known of what is missing
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	meta, err := newestMeta(f)
	if err != nil {
		return nil, err
	}
	s := sumScan{places: make(map[uint64]rowPlace)}
	w := pageWalk{f: f, meta: meta, rows: s.row, tolerant: true}
	if err := w.run(); err != nil {
		w.bad = append(w.bad, badPage{err: err})
	}
	for _, b := range w.bad[:min(len(w.bad), maxFindings)] {
		findings = append(findings, errors.New(s.describe(b)))
	}
	return findings, nil
}

// describe says what is on a page.
func (s *sumScan) describe(b badPage) string {
	switch {
	case b.bucket == 0:
		return b.err.Error()
	case b.min == nil && b.max == nil:
		return fmt.Sprintf("all of bucket %c: %v", b.bucket, b.err)
	case b.min == nil:
		return fmt.Sprintf("up to %s: %v", s.where(b.bucket, b.max), b.err)
	case b.max == nil:
		return fmt.Sprintf("%s and all behind: %v", s.where(b.bucket, b.min), b.err)
	}
	return fmt.Sprintf("%s up to %s: %v", s.where(b.bucket, b.min), s.where(b.bucket, b.max), b.err)
}
