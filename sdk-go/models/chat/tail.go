package chat

import dogwood "github.com/dogwooddb/dogwood/sdk-go"

// A tail finds what is new in each state of a window on the last messages.
type tail struct {
	size   int             // of the window
	began  bool            // the window was seen before
	shown  map[string]bool // keys that it had last time
	lowest string          // messages below are old, also when they come into the window again

	// between reads the first messages between two keys, "" for the lowest, no more
	// than size.
	between func(after, before string) ([]Message, error)
}

// next returns the messages that are new in a state of the window. Messages that
// have gone through it unseen come first.
func (t *tail) next(s dogwood.Snapshot) (fresh []Message, err error) {
	var keys []string
	for key, child := range s.Children() {
		keys = append(keys, key)
		if t.shown[key] || key < t.lowest || err != nil {
			continue
		}
		var m Message
		if m, err = dogwood.Decode[Message](child); err == nil {
			m.Key = key
			fresh = append(fresh, m)
		}
	}
	if t.began && err == nil && len(fresh) > 1 && len(keys) == t.size {
		var missed []Message
		missed, err = t.missed(keys[0])
		fresh = append(missed, fresh...)
	}
	t.note(keys)
	return fresh, err
}

// note notes what the window has.
func (t *tail) note(keys []string) {
	t.began = true
	clear(t.shown)
	for _, key := range keys {
		t.shown[key] = true
	}
	if len(keys) == t.size {
		t.lowest = max(t.lowest, keys[0])
	}
}

// missed reads what came in between the window before and the first key of this one.
// Not only what has a higher key than all before is new: keys are made when a message
// is written, and it may come later than one with a higher key.
func (t *tail) missed(first string) (list []Message, err error) {
	for after := t.lowest; ; {
		page, err := t.between(after, first)
		for _, m := range page {
			if after = m.Key; !t.shown[m.Key] {
				list = append(list, m)
			}
		}
		if err != nil || len(page) < t.size {
			return list, err
		}
	}
}
