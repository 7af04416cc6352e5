package auth

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"
)

// Claims is a decoded JSON object: the payload of a token, its header, or an
// auth variable. Its numbers keep their text. Numbers keep their text because
// ids of 64 bits would be rounded as doubles, and another user could have the
// rounded one.
type Claims map[string]any

// ParseClaims reads a JSON object. Duplicate members are resolved here, the
// last one wins, so that no later reader sees another one.
func ParseClaims(src []byte) (Claims, bool) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var c Claims
	if d.Decode(&c) != nil || c == nil {
		return nil, false
	}
	_, err := d.Token()
	return c, err == io.EOF
}

// JSON returns the claims as JSON text, with sorted members.
func (c Claims) JSON() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]any(c)) != nil {
		return "{}" // cannot be: c was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Text returns a member that is a string, else "".
func (c Claims) Text(name string) string {
	s, _ := c[name].(string)
	return s
}

// Object returns a member that is an object.
func (c Claims) Object(name string) (Claims, bool) {
	switch m := c[name].(type) {
	case map[string]any:
		return m, true
	case Claims:
		return m, true
	}
	return nil, false
}

// maxSeconds bounds the times in tokens: the year 5138. Beyond it they are
// milliseconds, or nonsense.
const maxSeconds = 1e11

// time returns a member that is a time in seconds since 1970, zero if there is
// none. ok is false if it is no time.
func (c Claims) time(name string) (t time.Time, ok bool) {
	v, present := c[name]
	if !present {
		return time.Time{}, true
	}
	n, _ := v.(json.Number)
	seconds, err := n.Float64()
	if err != nil || math.Abs(seconds) > maxSeconds {
		return time.Time{}, false
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)), true
}

// strings returns a member that is a string or a list of them, such as aud.
func (c Claims) strings(name string) []string {
	switch v := c[name].(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
