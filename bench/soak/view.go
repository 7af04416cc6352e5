package soak

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// last is the number of a message.
type last = atomic.Int64

// A view is what a follower knows of streams. It is changed by pushes and nothing
// else, and so wrong as soon as one is missing, which shows at once: numbers of
// messages have no gaps.
type view struct {
	streams map[string]*part
	reloads int // whole views that came
}

// A part is a view of one stream: the messages first to last.
type part struct {
	first, last int64
	rows        map[int64]string // JSON
	floor       int64            // the next whole view has this message, or one after it
}

func newView(streams []*stream) *view {
	v := &view{streams: make(map[string]*part)}
	for _, st := range streams {
		v.streams[st.name] = &part{last: -1, rows: make(map[int64]string)}
	}
	return v
}

// apply takes a push. It returns the messages that are new, in order, unless
// they came as a part of a whole view.
func (v *view) apply(m *wire.ServerMessage) (added []string, err error) {
	switch m.Push {
	case wire.PushData:
		return v.set(string(m.Path), m.Data)
	case wire.PushMerge:
		return v.merge(string(m.Path), m.Data)
	}
	return nil, fmt.Errorf("a push of kind %q", m.Push)
}

func (v *view) merge(path string, data []byte) (added []string, err error) {
	var changes map[string]json.RawMessage
	if err := json.Unmarshal(data, &changes); err != nil {
		return nil, err
	}
	// New messages come before removed ones: a window moves at its end first.
	keys := slices.Sorted(maps.Keys(changes))
	for _, removals := range []bool{false, true} {
		for _, key := range keys {
			if isNull(changes[key]) != removals {
				continue
			}
			rows, err := v.set(path+"/"+key, changes[key])
			if err != nil {
				return nil, err
			}
			added = append(added, rows...)
		}
	}
	return added, nil
}

// set takes the value at a path: of all streams, of one, or of one message.
func (v *view) set(path string, data []byte) (added []string, err error) {
	below, ok := strings.CutPrefix(strings.Trim(path, "/"), listPath)
	if !ok {
		return nil, fmt.Errorf("a push for /%s", path)
	}
	name, key, deep := strings.Cut(strings.TrimPrefix(below, "/"), "/")
	if name == "" {
		return nil, v.loadAll(data)
	}
	p := v.streams[name]
	if p == nil {
		return nil, fmt.Errorf("a push for /%s", path)
	}
	if !deep {
		v.reloads++
		return nil, p.load(data)
	}
	return p.change(key, string(data))
}

func (v *view) loadAll(data []byte) error {
	v.reloads++
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for name, p := range v.streams {
		if err := p.load(all[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// load takes a whole view.
func (p *part) load(data []byte) error {
	var rows map[string]json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("the view is empty")
	}
	clear(p.rows)
	before := max(p.last, p.floor)
	keys := slices.Sorted(maps.Keys(rows))
	for i, key := range keys {
		n, err := keyNumber(key)
		if err != nil {
			return err
		}
		if i == 0 {
			p.first = n
		}
		p.rows[n], p.last = string(rows[key]), n
	}
	if p.last < before {
		return fmt.Errorf("the view ends with message %d, message %d was there before", p.last, before)
	}
	return p.whole()
}

// change takes one message, or its removal.
func (p *part) change(key, data string) (added []string, err error) {
	n, err := keyNumber(key)
	if err != nil {
		return nil, err
	}
	if isNull([]byte(data)) {
		if n != p.first {
			return nil, fmt.Errorf("message %d is removed, the first one is %d: an event is missing", n, p.first)
		}
		delete(p.rows, n)
		p.first++
		return nil, p.whole()
	}
	if n != p.last+1 {
		return nil, fmt.Errorf("message %d follows message %d: an event is missing", n, p.last)
	}
	p.rows[n], p.last = data, n
	return []string{data}, p.whole()
}

// whole is an error if the numbers have a gap.
func (p *part) whole() error {
	if int64(len(p.rows)) != p.last-p.first+1 {
		return fmt.Errorf("there are %d messages from %d to %d", len(p.rows), p.first, p.last)
	}
	return nil
}

// differs says how a part differs from what the database has, at the latest
// messages that it should show.
func (p *part) differs(want map[string]json.RawMessage) error {
	if len(p.rows) != len(want) {
		return fmt.Errorf("the view has %d messages, the database %d", len(p.rows), len(want))
	}
	for key, row := range want {
		n, err := keyNumber(key)
		if err != nil {
			return err
		}
		if got := p.rows[n]; got != string(row) {
			return fmt.Errorf("message %d is %.200s, in the database %.200s", n, got, row)
		}
	}
	return nil
}

func isNull(data []byte) bool { return len(data) == 0 || string(data) == "null" }

func parseNumber(digits string) (int64, error) { return strconv.ParseInt(digits, 10, 64) }
