package client

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadEvent(t *testing.T) {
	stream := ": comment\n\nevent: put\ndata: {\"path\":\"/\"}\n\n\n" +
		"event:patch\r\nid: 7\r\ndata:{\"a\":\r\ndata: 1}\r\n\r\n" +
		"data: alone\n\nevent: keep-alive\ndata: null\n\nevent: put\ndata: broken o"
	r := bufio.NewReaderSize(strings.NewReader(stream), 16)
	for _, want := range []Event{
		{"put", []byte(`{"path":"/"}`)},
		{"patch", []byte(`{"a":1}`)},
		{"", []byte("alone")},
		{"keep-alive", []byte("null")},
	} {
		got, err := readEvent(r)
		if err != nil || got.Name != want.Name || string(got.Data) != string(want.Data) {
			t.Errorf("readEvent = %s %s, %v, want %s %s", got.Name, got.Data, err, want.Name, want.Data)
		}
	}
	if ev, err := readEvent(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("readEvent at the end = %v, %v, want %v", ev, err, io.ErrUnexpectedEOF)
	}
}

func TestReadEventLineIsBounded(t *testing.T) {
	r := bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 1000)+"\n"), 16)
	if line, err := readEventLine(r, 100); !errors.Is(err, errEventTooBig) {
		t.Errorf("readEventLine = %d bytes, %v, want %v", len(line), err, errEventTooBig)
	}
}

func TestWriteEvent(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"put", `{"path":"/","data":null}`, `{"event":"put","path":"/","data":null}`},
		{"log", `{}`, `{"event":"log","data":{}}`},
		{"other", `[1]`, `{"event":"other","data":[1]}`},
		{"other", `plain "text"`, `{"event":"other","data":"plain \"text\""}`},
	} {
		var b strings.Builder
		if err := WriteEvent(&b, Event{test.name, []byte(test.data)}); err != nil || b.String() != test.want+"\n" {
			t.Errorf("writeEvent(%s %s) = %q, %v, want %q", test.name, test.data, b.String(), err, test.want)
		}
	}
}
