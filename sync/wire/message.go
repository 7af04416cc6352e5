package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// maxNesting bounds arrays and objects within each other in a message. Data may
// have 32 levels (protocol §6.1) and the envelope adds three; the rest is for
// data that should be refused with a better text than ours.
const maxNesting = 100

// A Message is one message of a client (protocol §2). Its strings are parts of
// the text it was parsed from and keep that text in memory.
type Message struct {
	Control *Control // nil: the message is a request
	Request Request
}

// Control is a signal about the connection itself: {"t":"c","d":{"t":…,"d":…}}
// (protocol §3).
type Control struct {
	Type string // ControlPing, ControlSwitch or ControlEnd, from clients of today
	Data string // raw JSON of d, "" when there is none
}

// A Request asks for something and gets exactly one response:
// {"t":"d","d":{"r":…,"a":…,"b":{…}}} (protocol §2, §4).
type Request struct {
	ID     int64 // r, unique on its connection; zero is an id like any other
	Action string
	Body   Body
}

// ParseMessage reads one message of a client (protocol §2). It is strict about
// the shape of everything that the protocol names, ignores members that it does
// not, and lets the last of several equal keys win, as every JSON parser of the
// clients does. All its errors are of type *FormatError.
func ParseMessage(text string) (Message, error) {
	var e envelope
	if err := e.read(text); err != nil {
		return Message{}, err
	}
	if !isObject(e.data) {
		return Message{}, wrongValue(-1, "d", e.data, "an object")
	}
	switch kind, _ := jsontext.Unquote(e.kind); kind {
	case "c":
		return parseControl(e.data)
	case "d":
		return e.request()
	}
	return Message{}, wrongValue(-1, "t", e.kind, `"c" or "d"`)
}

// An envelope is what is around the data of a message. It is taken apart and the text
// checked in one pass. All its values are raw, "" where there is none.
type envelope struct {
	kind, data       string // t and d of the message
	id, action, body string // r, a and b of its d
	members          members
}

// members are those of b.
type members struct {
	first [8]member // not a slice, which would be on the heap
	n     int       // of first
	more  []member
}

type member struct{ key, raw string }

func (m *members) add(x member) {
	if m.n < len(m.first) {
		m.first[m.n] = x
		m.n++
		return
	}
	m.more = append(m.more, x)
}

func (m *members) clear() { m.n, m.more = 0, nil }

// set puts the members into a body.
func (m *members) set(b *Body, id int64) error {
	for _, all := range [][]member{m.first[:m.n], m.more} {
		for _, x := range all {
			if want := b.set(x.key, x.raw); want != "" {
				return wrongValue(id, "b."+x.key, x.raw, want)
			}
		}
	}
	return nil
}

// read takes a text apart and checks it, in one pass. An error says that it is not one
// JSON object of tolerable depth, and why.
func (e *envelope) read(text string) error {
	start := jsontext.SkipSpace(text, 0)
	if isObject(text[start:]) && endsAt(text, e.readMessage(text, start)) {
		return nil
	}
	msg := "not JSON"
	switch {
	case jsontext.IsDeep(text, maxNesting):
		if id, ok := idOf(text[start:]); ok {
			return &FormatError{ID: id, Msg: TextTooDeep}
		}
		msg = fmt.Sprintf("more than %d levels", maxNesting)
	case !utf8.ValidString(text):
		msg = "not UTF-8"
	case isJSON(text):
		msg = "not an object"
	}
	return &FormatError{ID: -1, Msg: msg}
}

// idOf finds the id of a request that is not read otherwise, and may be no JSON.
func idOf(text string) (id int64, ok bool) {
	var kind, data, raw string
	for key, value := range membersOf(text) {
		switch key {
		case "t":
			kind = value
		case "d":
			data = value
		}
	}
	if kind != `"d"` || !isObject(data) {
		return 0, false
	}
	for key, value := range membersOf(data) {
		if key == "r" {
			raw = value
		}
	}
	return parseInt(raw, 0)
}

// endsAt reports whether only white space is left of a text.
func endsAt(text string, end int) bool { return end >= 0 && jsontext.SkipSpace(text, end) == len(text) }

func (e *envelope) readMessage(text string, i int) (end int) {
	return readObject(text, i, maxNesting, func(key string, i int) (end int) {
		switch key {
		case "t":
			end = takeValue(text, i, maxNesting-1, &e.kind)
		case "d":
			end = e.readData(text, i)
		default:
			end = validValue(text, i, maxNesting-1)
		}
		return end
	})
}

// readData reads the d of a message.
func (e *envelope) readData(text string, i int) (end int) {
	e.id, e.action, e.body = "", "", ""
	e.members.clear()
	if !isObject(text[i:]) {
		return takeValue(text, i, maxNesting-1, &e.data)
	}
	end = readObject(text, i, maxNesting-1, func(key string, i int) (end int) {
		switch key {
		case "r":
			end = takeValue(text, i, maxNesting-2, &e.id)
		case "a":
			end = takeValue(text, i, maxNesting-2, &e.action)
		case "b":
			end = e.readBody(text, i)
		default:
			end = validValue(text, i, maxNesting-2)
		}
		return end
	})
	return taken(text, i, end, &e.data)
}

// readBody reads the b of a request.
func (e *envelope) readBody(text string, i int) (end int) {
	e.members.clear()
	if !isObject(text[i:]) {
		return takeValue(text, i, maxNesting-2, &e.body)
	}
	end = readObject(text, i, maxNesting-2, func(key string, i int) (end int) {
		m := member{key: key}
		end = takeValue(text, i, maxNesting-3, &m.raw)
		e.members.add(m)
		return end
	})
	return taken(text, i, end, &e.body)
}

// takeValue reads a value into raw.
func takeValue(text string, i, room int, raw *string) (end int) {
	return taken(text, i, validValue(text, i, room), raw)
}

// taken puts what was read into raw, if it was valid.
func taken(text string, i, end int, raw *string) int {
	if end >= 0 {
		*raw = text[i:end]
	}
	return end
}

func parseControl(text string) (Message, error) {
	var kind string
	c := new(Control)
	for key, value := range membersOf(text) {
		switch key {
		case "t":
			kind = value
		case "d":
			c.Data = value
		}
	}
	var ok bool
	if c.Type, ok = jsontext.Unquote(kind); !ok {
		return Message{}, wrongValue(-1, "t", kind, "a string")
	}
	return Message{Control: c}, nil
}

func (e *envelope) request() (Message, error) {
	var r Request
	var ok bool
	if r.ID, ok = parseInt(e.id, 0); !ok {
		return Message{}, wrongValue(-1, "r", e.id, "an integer from 0")
	}
	if r.Action, ok = jsontext.Unquote(e.action); !ok {
		return Message{}, wrongValue(r.ID, "a", e.action, "a string")
	}
	if !isObject(e.body) {
		return Message{}, wrongValue(r.ID, "b", e.body, "an object")
	}
	r.Body.Raw = e.body
	if err := e.members.set(&r.Body, r.ID); err != nil {
		return Message{}, err
	}
	return Message{Request: r}, nil
}

func isObject(raw string) bool { return raw != "" && raw[0] == '{' }

// parseInt reads a JSON number that is written as an integer of at least lo.
func parseInt(raw string, lo int64) (n int64, ok bool) {
	n, err := strconv.ParseInt(raw, 10, 64)
	return n, err == nil && n >= lo && raw != "-0"
}

// wrongValue is the error for a member whose raw value (absent: "") has the
// wrong type.
func wrongValue(id int64, name, raw, want string) error {
	if raw == "" {
		raw = "absent"
	}
	return &FormatError{ID: id, Msg: fmt.Sprintf("%s is %.40s, want %s", name, raw, want)}
}
