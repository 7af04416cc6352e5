package kv

import "bytes"

// A Finder finds entries whose keys it is asked for in ascending order. Of neighbours the next
// costs a step and not a search, and what was deleted between them is not passed. It does not
// survive a change.
type Finder struct {
	sources []source
	placed  bool
}

// maxSteps is how many entries are passed by steps before the key is searched for.
const maxSteps = 8

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
			s.forward(key)
		} else {
			s.seek(key)
		}
		if s.k == nil && s.base != nil {
			err = s.base.Err()
		}
	}
	f.placed = true
	for i := range f.sources {
		if s := &f.sources[i]; s.k != nil && bytes.Equal(s.k, key) {
			return s.v, nil
		}
	}
	return nil, err
}

// forward goes on to the first entry that is not below the key.
func (s *source) forward(key []byte) {
	if s.k == nil && s.base != nil && s.base.Err() != nil {
		s.seek(key)
		return
	}
	for n := 0; s.k != nil && bytes.Compare(s.k, key) < 0; n++ {
		if n == maxSteps {
			s.seek(key)
			return
		}
		s.next()
	}
}
