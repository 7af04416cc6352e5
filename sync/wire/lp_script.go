package wire

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// The replies to long polls are scripts that a page runs in a child frame
// (protocol §14). They call two functions of the parent, whose names end in an
// id that the page chose: pLPCommand for commands, pRTLPCB for messages.

// A CallbackID is the cb parameter of the first long poll (protocol §14). It is
// digits only, since it becomes part of a script.
type CallbackID struct{ digits string }

// ParseCallbackID reads a cb parameter. Its error wraps ErrBadFrame.
func ParseCallbackID(s string) (CallbackID, error) {
	if len(s) > 20 || !isDigits(s) {
		return CallbackID{}, fmt.Errorf("%w: cb is %.40q", ErrBadFrame, s)
	}
	return CallbackID{s}, nil
}

// AppendStartScript appends the command that opens a connection: all later
// polls carry this id and password (protocol §14). The hello may follow in the same
// reply as the first AppendPollScript.
func AppendStartScript(dst []byte, cb CallbackID, connID, password string) []byte {
	dst = appendCommand(dst, cb, "start")
	dst = append(dst, ',')
	dst = appendText(dst, connID)
	dst = append(dst, ',')
	dst = appendText(dst, password)
	return append(dst, ");"...)
}

// AppendCloseScript appends the command that ends a connection (protocol §14). The
// client first waits for response number lastResp; a negative one is not sent
// and the client closes at once. It closes at once for 0 as well, so then the
// command has to come after that response, in the same reply.
func AppendCloseScript(dst []byte, cb CallbackID, lastResp int) []byte {
	dst = appendCommand(dst, cb, "close")
	if lastResp >= 0 {
		dst = append(dst, ',')
		dst = strconv.AppendInt(dst, int64(lastResp), 10)
	}
	return append(dst, ");"...)
}

// AppendPollScript appends the delivery of messages (protocol §14). Numbers of
// responses start at 0 and must have no gap; the client puts them in order.
func AppendPollScript(dst []byte, cb CallbackID, respNum int, msgs [][]byte) []byte {
	dst = append(dst, "parent.pRTLPCB"...)
	dst = append(dst, cb.digits...)
	dst = append(dst, '(')
	dst = strconv.AppendInt(dst, int64(respNum), 10)
	dst = append(dst, ",["...)
	for i, msg := range msgs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendLiteral(dst, msg)
	}
	return append(dst, "]);"...)
}

func appendCommand(dst []byte, cb CallbackID, command string) []byte {
	dst = append(dst, "parent.pLPCommand"...)
	dst = append(dst, cb.digits...)
	dst = append(dst, '(')
	return appendText(dst, command)
}

// appendText appends s as a string of a script.
func appendText(dst []byte, s string) []byte {
	return appendScriptString(dst, AppendString(nil, s))
}

// appendLiteral appends JSON as a JavaScript expression of the same value. The
// two differ in one key: in an object literal "__proto__" sets the prototype
// and is no member, unless it is written as a computed key.
func appendLiteral(dst, msg []byte) []byte {
	for i := 0; i < len(msg); {
		quote := bytes.IndexByte(msg[i:], '"')
		if quote < 0 {
			return piecewise.Append(dst, msg[i:])
		}
		start := i + quote
		end := jsontext.SkipString(jsontext.View(msg), start)
		dst = piecewise.Append(dst, msg[i:start])
		if isProtoKey(msg, start, end) {
			dst = append(dst, `["__proto__"]`...)
		} else {
			dst = appendScriptString(dst, msg[start:end])
		}
		i = end
	}
	return dst
}

// isProtoKey reports whether the string msg[start:end] is the key __proto__,
// however it is escaped.
func isProtoKey(msg []byte, start, end int) bool {
	const plain, longest = `"__proto__"`, 2 + 6*len("__proto__")
	text := msg[start:end]
	if len(text) < len(plain) || len(text) > longest {
		return false
	}
	if i := jsontext.SkipSpace(jsontext.View(msg), end); i == len(msg) || msg[i] != ':' {
		return false
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text) == plain
	}
	key, ok := jsontext.Unquote(jsontext.View(text))
	return ok && key == "__proto__"
}

// appendScriptString appends a JSON string as a JavaScript one. Two line
// separators are not allowed in the strings of older engines, and "</" would
// end a script that is part of a page.
func appendScriptString(dst, text []byte) []byte {
	done := 0 // text[:done] is written
	for i, c := range text {
		var escaped string
		var size int
		switch {
		case c == '<' && bytes.HasPrefix(text[i:], []byte("</")):
			escaped, size = `<\/`, 2
		case c == 0xE2 && bytes.HasPrefix(text[i:], []byte("\u2028")):
			escaped, size = `\u2028`, 3
		case c == 0xE2 && bytes.HasPrefix(text[i:], []byte("\u2029")):
			escaped, size = `\u2029`, 3
		default:
			continue
		}
		dst = piecewise.Append(dst, text[done:i])
		dst = append(dst, escaped...)
		done = i + size
	}
	return piecewise.Append(dst, text[done:])
}
