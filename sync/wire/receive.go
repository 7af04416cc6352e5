package wire

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// A ServerMessage is one message of a server, as a client sees it
// (protocol §2). Exactly one of Control, Status and Push is set and says which
// kind it is. Path, Data and Queries are parts of the text that was parsed.
type ServerMessage struct {
	Control string // type of a control message, such as ControlHello

	Status string // status of a response, such as StatusOK
	ID     int64  // of the request that it answers

	Push string // action of a push, such as PushData
	Path []byte // of a push, decoded
	Tag  int64  // of a push; 0 is none

	Data    []byte // d of any kind, raw JSON; nil when there is none
	Queries []byte // of PushCancel, raw JSON; nil for the default listen
	Reason  string // of PushCancel, a status, an extension: why, with a text in Data; "": permission was lost
	Rule    []byte // that refused a request, raw JSON, an extension; nil if the server does not tell

	// Definition of declared data that refused a write, raw JSON, an extension; nil for none.
	Definition []byte
}

// ParseServerMessage reads one message of a server. It goes over the text once
// and does not allocate, since load generators and SDKs call it for everything
// that they receive. Data is delimited, not validated: to parse it will show
// what is wrong with it. Errors are of type *FormatError.
func ParseServerMessage(text []byte) (ServerMessage, error) {
	c := cursor{raw: text, text: jsontext.View(text)}
	var kind []byte
	var m serverMembers
	c.object(func(key []byte) {
		switch string(key) {
		case "t":
			kind = c.value()
		case "d":
			m.read(&c)
		default:
			c.value()
		}
	})
	if c.space(); c.bad || c.at != len(text) {
		return ServerMessage{}, &FormatError{ID: -1, Msg: fmt.Sprintf("not a message at byte %d", c.at)}
	}
	switch string(kind) {
	case `"c"`:
		return m.control()
	case `"d"`:
		return m.data()
	}
	return ServerMessage{}, wrongValue(-1, "t", string(kind), `"c" or "d"`)
}

// serverMembers are the members of the inner object of a message, of whatever
// kind it will turn out to be. All are raw.
type serverMembers struct {
	t, d    []byte // of a control message
	r, a    []byte // of a response and a push
	b       bool   // is there, and an object
	s, p, q []byte // members of b
	bd, bt  []byte // d and t of b
	rule    []byte // of b
	def     []byte // of b
}

func (m *serverMembers) read(c *cursor) {
	if c.peek() != '{' {
		c.value() // all members stay absent, which is reported
		return
	}
	c.object(func(key []byte) {
		switch string(key) {
		case "t":
			m.t = c.value()
		case "d":
			m.d = c.value()
		case "r":
			m.r = c.value()
		case "a":
			m.a = c.value()
		case "b":
			m.readBody(c)
		default:
			c.value()
		}
	})
}

func (m *serverMembers) readBody(c *cursor) {
	if m.b = c.peek() == '{'; !m.b {
		c.value()
		return
	}
	c.object(func(key []byte) {
		switch value := c.value(); string(key) {
		case "s":
			m.s = value
		case "p":
			m.p = value
		case "d":
			m.bd = value
		case "q":
			m.q = value
		case "t":
			m.bt = value
		case "rule":
			m.rule = value
		case "def":
			m.def = value
		}
	})
}

func (m *serverMembers) control() (ServerMessage, error) {
	typ, ok := word(m.t)
	if !ok || typ == "" {
		return ServerMessage{}, wrongValue(-1, "t", string(m.t), "a string")
	}
	return ServerMessage{Control: typ, Data: m.d}, nil
}

func (m *serverMembers) data() (ServerMessage, error) {
	if !m.b {
		return ServerMessage{}, wrongValue(-1, "b", "", "an object")
	}
	if m.r == nil {
		return m.push()
	}
	id, ok := parseDigits(m.r)
	if !ok {
		return ServerMessage{}, wrongValue(-1, "r", string(m.r), "an integer from 0")
	}
	status, ok := word(m.s)
	if !ok || status == "" {
		return ServerMessage{}, wrongValue(id, "b.s", string(m.s), "a string")
	}
	return ServerMessage{Status: status, ID: id, Data: m.bd, Rule: m.rule, Definition: m.def}, nil
}

func (m *serverMembers) push() (ServerMessage, error) {
	action, ok := word(m.a)
	if !ok || action == "" {
		return ServerMessage{}, wrongValue(-1, "a", string(m.a), "a string")
	}
	s := ServerMessage{Push: action, Data: m.bd, Queries: m.q}
	if action == PushCancel && m.s != nil {
		if s.Reason, ok = word(m.s); !ok {
			return ServerMessage{}, wrongValue(-1, "b.s", string(m.s), "a string")
		}
	}
	if m.p != nil {
		if s.Path, ok = text(m.p); !ok {
			return ServerMessage{}, wrongValue(-1, "b.p", string(m.p), "a string")
		}
	}
	if m.bt != nil {
		if s.Tag, ok = parseDigits(m.bt); !ok {
			return ServerMessage{}, wrongValue(-1, "b.t", string(m.bt), "an integer from 0")
		}
	}
	return s, nil
}

// words are the strings that word returns without an allocation.
var words = []string{
	StatusOK, PushData, PushMerge, PushCancel, ControlHello, ControlPong, ControlReset, ControlShutdown,
	StatusPermissionDenied, StatusDataStale, StatusTooBig,
}

// word returns a raw string of the protocol's vocabulary.
func word(raw []byte) (s string, ok bool) {
	if len(raw) >= 2 && raw[0] == '"' {
		for _, w := range words {
			if string(raw[1:len(raw)-1]) == w {
				return w, true
			}
		}
	}
	return jsontext.Unquote(string(raw))
}

// text decodes a raw string; without an escape in it the result is a part of
// raw.
func text(raw []byte) (s []byte, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		decoded, ok := jsontext.Unquote(string(raw))
		return []byte(decoded), ok
	}
	return raw[1 : len(raw)-1], true
}

// parseDigits reads a number that is written as an integer from 0.
func parseDigits(raw []byte) (n int64, ok bool) {
	if len(raw) == 0 || len(raw) > 18 {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		return n, err == nil && n >= 0
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// A cursor goes over a text that may not be JSON. Once it has met what cannot
// be, it is bad and stays where it is.
type cursor struct {
	raw  []byte
	text string // raw
	at   int
	bad  bool
}

func (c *cursor) space() { c.at = jsontext.SkipSpace(c.text, c.at) }

// peek returns the next byte that is not white space, 0 at the end.
func (c *cursor) peek() byte {
	c.space()
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

// take goes past the byte b if it is next.
func (c *cursor) take(b byte) bool {
	if c.bad || c.peek() != b {
		return false
	}
	c.at++
	return true
}

func (c *cursor) want(b byte) {
	if !c.take(b) {
		c.bad = true
	}
}

// object goes over an object and calls member, which has to take the value,
// with each raw key without its quotes.
func (c *cursor) object(member func(key []byte)) {
	if c.want('{'); c.take('}') {
		return
	}
	for !c.bad {
		key := c.str()
		c.want(':')
		if c.bad {
			return
		}
		member(key[1 : len(key)-1])
		if !c.take(',') {
			c.want('}')
			return
		}
	}
}

// str takes a string with its quotes.
func (c *cursor) str() []byte {
	if c.peek() != '"' {
		c.bad = true
		return nil
	}
	start := c.at
	end := jsontext.SkipString(c.text, c.at)
	if end-start < 2 || c.text[end-1] != '"' {
		c.bad = true
		return nil
	}
	c.at = end
	return c.raw[start:end:end]
}

// value takes a value of any kind.
func (c *cursor) value() []byte {
	switch c.peek() {
	case '"':
		return c.str()
	case '{', '[':
		return c.nested()
	}
	start := c.at
	for c.at < len(c.text) && !isDelimiter(c.text[c.at]) {
		c.at++
	}
	if c.at == start {
		c.bad = true
	}
	return c.raw[start:c.at:c.at]
}

func isDelimiter(b byte) bool {
	switch b {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\t', '\r':
		return true
	}
	return false
}

// nested takes an object or an array.
func (c *cursor) nested() []byte {
	start := c.at
	c.at = jsontext.SkipValue(c.text, start)
	if last := c.text[c.at-1]; last != '}' && last != ']' {
		c.bad = true
		return nil
	}
	return c.raw[start:c.at:c.at]
}
