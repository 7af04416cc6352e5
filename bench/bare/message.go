package bare

import (
	"bytes"
	"errors"
	"fmt"
)

// errNotOurs is about a message that the load generator does not send.
var errNotOurs = errors.New("not a message of the load generator")

// A request is what a client wants. Its parts are bytes of the message.
type request struct {
	id     []byte // digits
	action string
	path   []byte // without slashes at its ends; empty if there is none
	data   []byte // JSON of a write
}

// parse finds the parts of a request, which are in the order in which package
// wire writes them.
func parse(msg []byte) (r request, err error) {
	rest, ours := bytes.CutPrefix(msg, []byte(`{"t":"d","d":{"r":`))
	id, rest, hasID := bytes.Cut(rest, []byte(`,"a":"`))
	action, body, hasAction := bytes.Cut(rest, []byte(`","b":{`))
	body, whole := bytes.CutSuffix(body, []byte(`}}}`))
	if !ours || !hasID || !hasAction || !whole || len(id) > 20 {
		return request{}, fmt.Errorf("%w: %.100q", errNotOurs, msg)
	}
	r = request{id: id, action: actionOf(action)}
	if rest, ok := bytes.CutPrefix(body, []byte(`"p":"`)); ok {
		path, rest, _ := bytes.Cut(rest, []byte(`"`))
		r.path = bytes.Trim(path, "/")
		r.data, _ = bytes.CutPrefix(rest, []byte(`,"d":`))
	}
	return r, nil
}

// actionOf returns an action without making a new string of a known one.
func actionOf(text []byte) string {
	for _, known := range [...]string{"p", "m", "q"} {
		if string(text) == known {
			return known
		}
	}
	return string(text)
}

// A post is a message of a chat room.
type post struct {
	room  []byte // path of the room's messages
	key   []byte
	value []byte // JSON
}

// postOf returns the message that comes first in an update of several places.
func postOf(update []byte) (p post, ok bool) {
	rest, ok := bytes.CutPrefix(update, []byte(`{"`))
	path, rest, named := bytes.Cut(rest, []byte(`":`))
	slash := bytes.LastIndexByte(path, '/')
	if !ok || !named || slash < 0 || !bytes.HasPrefix(path, []byte("messages/")) {
		return post{}, false
	}
	value := object(rest)
	return post{room: path[:slash], key: path[slash+1:], value: value}, value != nil
}

// object returns the JSON object that a text begins with, nil if there is none.
func object(text []byte) []byte {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\' && quoted:
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{':
			depth++
		case b == '}':
			depth--
		}
		if depth == 0 {
			if i == 0 {
				return nil
			}
			return text[:i+1]
		}
	}
	return nil
}

// appendOK appends the response to a request.
func appendOK(dst, id []byte, data string) []byte {
	dst = append(dst, `{"t":"d","d":{"r":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"b":{"s":"ok","d":`...)
	dst = append(dst, data...)
	return append(dst, `}}}`...)
}

// appendPut appends the push of a new value.
func appendPut(dst, path, value []byte) []byte {
	dst = append(dst, `{"t":"d","d":{"a":"d","b":{"p":"`...)
	dst = append(dst, path...)
	dst = append(dst, `","d":`...)
	dst = append(dst, value...)
	return append(dst, `}}}`...)
}

// appendPost appends the push by which a window of messages moves on: one comes
// and another, which is made up here, goes. The tag is that of a first listen.
func appendPost(dst []byte, p post) []byte {
	dst = append(dst, `{"t":"d","d":{"a":"m","b":{"p":"`...)
	dst = append(dst, p.room...)
	dst = append(dst, `","d":{"`...)
	dst = append(dst, p.key...)
	dst = append(dst, `":`...)
	dst = append(dst, p.value...)
	return append(dst, `,"-N000000000000000000":null},"t":1}}}`...)
}
