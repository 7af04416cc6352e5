package wire

import (
	"fmt"
	"strconv"
	"unicode/utf8"
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
	if err := checkJSON(text); err != nil {
		return Message{}, err
	}
	var kind, data string
	for key, value := range members(text[skipSpace(text, 0):]) {
		switch key {
		case "t":
			kind = value
		case "d":
			data = value
		}
	}
	if !isObject(data) {
		return Message{}, wrongValue(-1, "d", data, "an object")
	}
	switch kind, _ := unquote(kind); kind {
	case "c":
		return parseControl(data)
	case "d":
		return parseRequest(data)
	}
	return Message{}, wrongValue(-1, "t", kind, `"c" or "d"`)
}

// checkJSON reports a text that is not one JSON object of tolerable depth.
// isJSON recurses and takes any bytes for text, so depth and encoding are
// checked here; not every WebSocket library checks the encoding.
func checkJSON(text string) error {
	var msg string
	switch {
	case tooDeep(text, maxNesting):
		msg = fmt.Sprintf("more than %d levels", maxNesting)
	case !utf8.ValidString(text):
		msg = "not UTF-8"
	case !isJSON(text):
		msg = "not JSON"
	case !isObject(text[skipSpace(text, 0):]):
		msg = "not an object"
	default:
		return nil
	}
	return &FormatError{ID: -1, Msg: msg}
}

func parseControl(text string) (Message, error) {
	var kind string
	c := new(Control)
	for key, value := range members(text) {
		switch key {
		case "t":
			kind = value
		case "d":
			c.Data = value
		}
	}
	var ok bool
	if c.Type, ok = unquote(kind); !ok {
		return Message{}, wrongValue(-1, "t", kind, "a string")
	}
	return Message{Control: c}, nil
}

func parseRequest(text string) (Message, error) {
	var id, action, body string
	for key, value := range members(text) {
		switch key {
		case "r":
			id = value
		case "a":
			action = value
		case "b":
			body = value
		}
	}
	var r Request
	var ok bool
	if r.ID, ok = parseInt(id, 0); !ok {
		return Message{}, wrongValue(-1, "r", id, "an integer from 0")
	}
	if r.Action, ok = unquote(action); !ok {
		return Message{}, wrongValue(r.ID, "a", action, "a string")
	}
	if !isObject(body) {
		return Message{}, wrongValue(r.ID, "b", body, "an object")
	}
	if err := r.Body.parse(r.ID, body); err != nil {
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
