package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// An Event is one server-sent event.
type Event struct {
	Name string
	Data []byte // lines are joined
}

// maxEventBytes bounds one event. Servers end a stream before they send more.
const maxEventBytes = 1 << 30

var errEventTooBig = errors.New("the server sent an event of more than 1 GiB")

// readEvent reads the next event. An event that breaks off is not one.
func readEvent(r *bufio.Reader) (Event, error) {
	var ev Event
	for {
		line, err := readEventLine(r, maxEventBytes-len(ev.Data))
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if ev.Name != "" || ev.Data != nil {
				return ev, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			ev.Name = string(value)
		case "data":
			ev.Data = append(ev.Data, value...)
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

// WriteEvent prints an event as one line of JSON: its name and the members of its
// data, {"event":"put","path":"/","data":null}.
func WriteEvent(w io.Writer, ev Event) error {
	line := append([]byte(`{"event":`), console.JSONText(ev.Name)...)
	switch {
	case len(ev.Data) > 2 && ev.Data[0] == '{':
		line = append(append(line, ','), ev.Data[1:]...)
	case json.Valid(ev.Data):
		line = append(append(append(line, `,"data":`...), ev.Data...), '}')
	default:
		line = append(append(append(line, `,"data":`...), console.JSONText(string(ev.Data))...), '}')
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

// ends returns why an event is the last of its stream, nil if it is not.
func (ev Event) ends() error {
	switch ev.Name {
	case "cancel":
		text := string(ev.Data)
		if json.Unmarshal(ev.Data, &text) != nil || string(ev.Data) == "null" {
			text = "the server gave no reason"
		}
		return &endedError{"the server ended the stream: " + text}
	case "auth_revoked":
		return &endedError{fmt.Sprintf("the server ended the stream: %s", ev.Data)}
	}
	return nil
}

// An endedError says that a stream ended for good.
type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }
