package chat

import (
	"slices"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A tail finds what is new in each state of a window on the last messages.
type tail struct {
	size   int             // of the window
	shown  map[string]bool // keys that the window had last time
	lowest string          // messages below are old, also when they come into the window again
	last   string          // the highest key so far

	// before reads the first messages between two keys, no more than size.
	before func(after, before string) ([]Message, error)
}

// next returns the messages that are new in a state of the window. Messages that
// have gone through it unseen come first.
func (t *tail) next(s dogwood.Snapshot) ([]Message, error) {
	window, err := record.List(s, messageKey)
	if err != nil || len(window) == 0 {
		clear(t.shown)
		return nil, err
	}
	fresh, err := t.missed(window)
	for _, m := range window {
		if !t.shown[m.Key] && m.Key >= t.lowest {
			fresh = append(fresh, m)
		}
	}
	clear(t.shown)
	for _, m := range window {
		t.shown[m.Key] = true
	}
	if len(window) == t.size {
		t.lowest = max(t.lowest, window[0].Key)
	}
	t.last = max(t.last, window[len(window)-1].Key)
	return fresh, err
}

// missed reads what lies between the last message and a window that has nothing
// in common with the one before.
func (t *tail) missed(window []Message) (list []Message, err error) {
	if t.last == "" || len(window) < t.size || slices.ContainsFunc(window, func(m Message) bool { return t.shown[m.Key] }) {
		return nil, nil
	}
	for after := t.last; ; after = list[len(list)-1].Key {
		page, err := t.before(after, window[0].Key)
		if list = append(list, page...); err != nil || len(page) < t.size {
			return list, err
		}
	}
}
