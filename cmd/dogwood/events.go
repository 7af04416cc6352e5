package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An event is one server-sent event.
type event struct {
	name string
	data []byte // lines are joined
}

// maxEventBytes bounds one event. Servers end a stream before they send more.
const maxEventBytes = 1 << 30

var errEventTooBig = errors.New("the server sent an event of more than 1 GiB")

// readEvent reads the next event. An event that breaks off is not one.
func readEvent(r *bufio.Reader) (event, error) {
	var ev event
	for {
		line, err := readEventLine(r, maxEventBytes-len(ev.data))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if ev.name != "" || ev.data != nil {
				return ev, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			ev.name = string(value)
		case "data":
			ev.data = append(ev.data, value...)
		}
	}
}

// readEventLine reads a line of at most max bytes, without its end.
func readEventLine(r *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) <= max:
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, errEventTooBig
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF // a stream has no end of its own
		case err != nil:
			return nil, err
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// writeEvent prints an event as one line of JSON: its name beside the members
// of its data, {"event":"put","path":"/","data":null}.
func writeEvent(w io.Writer, ev event) error {
	line := append([]byte(`{"event":`), jsonText(ev.name)...)
	switch {
	case len(ev.data) > 2 && ev.data[0] == '{':
		line = append(append(line, ','), ev.data[1:]...)
	case json.Valid(ev.data):
		line = append(append(append(line, `,"data":`...), ev.data...), '}')
	default:
		line = append(append(append(line, `,"data":`...), jsonText(string(ev.data))...), '}')
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

// ends returns why an event is the last of its stream, nil if it is not.
func (ev event) ends() error {
	switch ev.name {
	case "cancel":
		text := string(ev.data)
		if json.Unmarshal(ev.data, &text) != nil || string(ev.data) == "null" {
			text = "the server gave no reason"
		}
		return &endedError{"the server ended the stream: " + text}
	case "auth_revoked":
		return &endedError{fmt.Sprintf("the server ended the stream: %s", ev.data)}
	}
	return nil
}

// An endedError says that a stream ended for good.
type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }
