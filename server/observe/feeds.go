package observe

import (
	"errors"
	"fmt"
	"sync"
)

// Bounds of the profiles and the views of dogwood top at a time: each is told all
// operations.
const (
	MaxFeeds      = 8
	MaxFeedsOf    = 4 // of the administrators of one database
	ReservedFeeds = 1 // of MaxFeeds, for those of the whole server
)

// Feeds counts the profiles and views that there are. The zero value has none.
// The bounds are low because each feed makes every operation a little dearer.
type Feeds struct {
	mu  sync.Mutex
	all int
	of  map[string]int // those of administrators of one database, by its name
}

// A FeedShare is what a feed counts for.
type FeedShare struct {
	Namespace string
	Bound     bool // its administrator is none of the whole server
}

// Enter counts a feed until leave is called. If there is no place for it, the error says
// why.
func (f *Feeds) Enter(share FeedShare) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if why := f.full(share); why != "" {
		return nil, errors.New(why)
	}
	f.add(share, 1)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.add(share, -1)
	}, nil
}

// full returns why there is no place, "" if there is one. mu is held.
func (f *Feeds) full(share FeedShare) string {
	switch {
	case f.all >= MaxFeeds:
		return fmt.Sprintf("%d profiles are running; there can be no more at a time.", f.all)
	case !share.Bound:
		return ""
	case f.of[share.Namespace] >= MaxFeedsOf:
		return fmt.Sprintf("%d profiles of this database are running; its administrators can have no more at a time.", f.of[share.Namespace])
	case f.all >= MaxFeeds-ReservedFeeds:
		return fmt.Sprintf("%d profiles are running; the last place is for administrators of the whole server.", f.all)
	}
	return ""
}

// add counts a feed, or one less. mu is held.
func (f *Feeds) add(share FeedShare, n int) {
	f.all += n
	if !share.Bound {
		return
	}
	if f.of == nil {
		f.of = make(map[string]int)
	}
	if f.of[share.Namespace] += n; f.of[share.Namespace] == 0 {
		delete(f.of, share.Namespace)
	}
}

// AppendEvent appends a server-sent event whose data is a line of JSON.
func AppendEvent(dst []byte, name string, data []byte) []byte {
	dst = append(append(dst, "event: "...), name...)
	dst = append(append(dst, "\ndata: "...), data...)
	return append(dst, "\n\n"...)
}
