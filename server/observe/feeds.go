package observe

import (
	"errors"
	"fmt"
	"sync"
)

// Bounds of the profiles and the views of dogwood top at a time: each is told all
// operations. They are low because each makes every operation a little dearer.
const (
	MaxFeeds   = 8
	MaxFeedsOf = 4 // of the administrators of one database
)

// Reserved is how many of any Places are kept for administrators of the whole server.
const Reserved = 1

// Places bound how much of something that takes long administrators have at a time. Those of one
// database may be slow, and leave some to others.
type Places struct {
	Most   int    // of all
	MostOf int    // of the administrators of one database
	What   string // it is, for refusals

	mu  sync.Mutex
	all int
	of  map[string]int // those of administrators of one database, by its name
}

// A PlaceShare is what a place counts for.
type PlaceShare struct {
	Namespace string
	Bound     bool // its administrator is none of the whole server
}

// Enter takes a place until leave is called. If there is none, the error says why.
func (p *Places) Enter(share PlaceShare) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if why := p.full(share); why != "" {
		return nil, errors.New(why)
	}
	p.add(share, 1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.add(share, -1)
	}, nil
}

// Used returns how many places are taken.
func (p *Places) Used() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// full returns why there is no place, "" if there is one. mu is held.
func (p *Places) full(share PlaceShare) string {
	switch {
	case p.all >= p.Most:
		return fmt.Sprintf("%d %s are running; there can be no more at a time.", p.all, p.What)
	case !share.Bound:
		return ""
	case p.of[share.Namespace] >= p.MostOf:
		return fmt.Sprintf("%d %s of this database are running; its administrators can have no more at a time.", p.of[share.Namespace], p.What)
	case p.all >= p.Most-Reserved:
		return fmt.Sprintf("%d %s are running; the last place is for administrators of the whole server.", p.all, p.What)
	}
	return ""
}

// add counts a place, or one less. mu is held.
func (p *Places) add(share PlaceShare, n int) {
	p.all += n
	if !share.Bound {
		return
	}
	if p.of == nil {
		p.of = make(map[string]int)
	}
	if p.of[share.Namespace] += n; p.of[share.Namespace] == 0 {
		delete(p.of, share.Namespace)
	}
}

// AppendEvent appends a server-sent event whose data is a line of JSON.
func AppendEvent(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, "\n\n"...)
}
