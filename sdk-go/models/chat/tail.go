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
func (t *tail) next(s dogwood.Snapshot) (fresh []Message, err error) {
	keys := record.Keys(s)
	if len(keys) > 0 {
		fresh, err = t.missed(keys)
	}
	for key, child := range s.Children() {
		if t.shown[key] || key < t.lowest || err != nil {
			continue
		}
		var m Message
		if m, err = dogwood.Decode[Message](child); err == nil {
			m.Key = key
			fresh = append(fresh, m)
		}
	}
	t.note(keys)
	return fresh, err
}

// note notes what the window has.
func (t *tail) note(keys []string) {
	clear(t.shown)
	for _, key := range keys {
		t.shown[key] = true
		t.last = max(t.last, key)
	}
	if len(keys) == t.size {
		t.lowest = max(t.lowest, keys[0])
	}
}

// missed reads what lies between the last message and a window that has nothing
// in common with the one before.
func (t *tail) missed(window []string) (list []Message, err error) {
	if t.last == "" || len(window) < t.size || slices.ContainsFunc(window, func(key string) bool { return t.shown[key] }) {
		return nil, nil
	}
	for after := t.last; ; after = list[len(list)-1].Key {
		page, err := t.before(after, window[0])
		if list = append(list, page...); err != nil || len(page) < t.size {
			return list, err
		}
	}
}
