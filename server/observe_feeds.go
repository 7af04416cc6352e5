package server

import (
	"fmt"
	"net/http"
	"sync"
)

// Bounds of the profiles and the views of dogwood top at a time: each is told all
// operations.
const (
	maxFeeds      = 8
	maxFeedsOf    = 4 // of the administrators of one database
	reservedFeeds = 1 // of maxFeeds, for those of the whole server
)

// feeds are those that there are. The zero value has none.
type feeds struct {
	mu  sync.Mutex
	all int
	of  map[string]int // those of administrators who are bound to a database, by its name
}

// A feedShare is what a feed counts for.
type feedShare struct {
	ns    string
	bound bool // its administrator is none of the whole server
}

// feedShare returns what a feed of an administrator counts for.
func (s *Server) feedShare(q *request) feedShare {
	id, err := s.credential(q.r.Header, q.params, "", func(string, string, error) {})
	return feedShare{q.ns, err != nil || !id.Admin}
}

// enter counts a feed until leave is called, if there is a place for it.
func (f *feeds) enter(share feedShare) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.full(share); why != "" {
		return nil, &statusError{http.StatusServiceUnavailable, why}
	}
	f.add(share, 1)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.add(share, -1)
	}, nil
}

// full returns why there is no place, "" if there is one. mu is held.
func (f *feeds) full(share feedShare) string {
	switch {
	case f.all >= maxFeeds:
		return fmt.Sprintf("%d profiles are running; there can be no more at a time.", f.all)
	case !share.bound:
		return ""
	case f.of[share.ns] >= maxFeedsOf:
		return fmt.Sprintf("%d profiles of this database are running; its administrators can have no more at a time.", f.of[share.ns])
	case f.all >= maxFeeds-reservedFeeds:
		return fmt.Sprintf("%d profiles are running; the last place is for administrators of the whole server.", f.all)
	}
	return ""
}

// add counts a feed, or one less. mu is held.
func (f *feeds) add(share feedShare, n int) {
	f.all += n
	if !share.bound {
		return
	}
	if f.of == nil {
		f.of = make(map[string]int)
	}
	if f.of[share.ns] += n; f.of[share.ns] == 0 {
		delete(f.of, share.ns)
	}
}
