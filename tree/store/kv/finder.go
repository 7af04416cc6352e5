package kv

import "bytes"

// A Finder finds entries whose keys it is asked for in ascending order. Of neighbours the next
// costs a step and not a search, and what was deleted between others is not passed. It does not
// survive a change.
type Finder struct {
	sources []source
	last    []byte // the key that was asked for last
	placed  bool
}

// NewFinder returns a finder in what a cursor walks, which may not be used otherwise from then on.
func NewFinder(c Cursor) *Finder {
	if m, ok := c.(*merged); ok {
		return &Finder{sources: m.sources}
	}
	return &Finder{sources: []source{{base: c}}}
}

// Find returns the value of a key, nil if there is none. It lasts until the next call. An error
// may be about a damaged entry behind the key.
func (f *Finder) Find(key []byte) (value []byte, err error) {
	for i := range f.sources {
		s := &f.sources[i]
		if f.placed {
			s.forward(key, s.k != nil && bytes.Equal(s.k, f.last))
		} else {
			s.seek(key)
		}
		if s.k == nil && s.base != nil {
			err = s.base.Err()
		}
	}
	f.placed, f.last = true, append(f.last[:0], key...)
	for i := range f.sources {
		if s := &f.sources[i]; s.k != nil && bytes.Equal(s.k, key) {
			return s.v, nil
		}
	}
	return nil, err
}

// forward goes on to the first entry that is not below the key. It takes a step if the entry where
// it is was wanted, since that behind it is likely to be wanted next. To take more steps was tried:
// where keys lie apart it is slower, and each step reads a value that may be long.
func (s *source) forward(key []byte, wanted bool) {
	if wanted {
		s.next()
	}
	if s.k == nil && (s.base == nil || s.base.Err() == nil) {
		return // there are no more
	}
	if s.k == nil || bytes.Compare(s.k, key) < 0 {
		s.seek(key)
	}
}
