package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
)

// DataFlags say where the data of a write come from.
type DataFlags struct {
	Source string  `arg:"" name:"data" optional:"" help:"JSON, or the name of a file that holds it. - or nothing is standard input."`
	Data   *string `short:"d" help:"JSON to write." env:"-" placeholder:"JSON"`
}

// A payload is JSON on its way to the server. It is never in memory as a whole,
// unless it came as an argument. A file can be opened again, so a request with
// one can be sent again after a redirect; standard input cannot.
type payload struct {
	io.ReadCloser
	size  int64                         // -1 if it is unknown
	again func() (io.ReadCloser, error) // reads it once more, for redirects; nil if that cannot be done
}

// Payload opens the data.
func (f *DataFlags) Payload(e *console.Env) (*payload, error) {
	switch {
	case f.Data != nil && f.Source != "":
		return nil, errors.New("the data are given twice: as an argument and with --data")
	case f.Data != nil:
		p, err := textPayload(*f.Data)
		if err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		return p, nil
	case f.Source == "" || f.Source == "-":
		return StreamPayload(io.NopCloser(e.Input("JSON"))), nil
	case json.Valid([]byte(f.Source)) || strings.ContainsAny(f.Source[:1], `{["`):
		return textPayload(f.Source)
	}
	return filePayload(f.Source)
}

func textPayload(text string) (*payload, error) {
	if !json.Valid([]byte(text)) {
		return nil, notJSON(text)
	}
	return NewPayload(text), nil
}

// NewPayload returns a payload with a text.
func NewPayload(text string) *payload {
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	body, _ := open() // a string can be read
	return &payload{body, int64(len(text)), open}
}

// StreamPayload returns a payload that is read once, to its end.
func StreamPayload(r io.ReadCloser) *payload { return &payload{ReadCloser: r, size: -1} }

// notJSON says where a text stops to be JSON, or how to make JSON of one that does not look
// like it.
func notJSON(text string) error {
	_, err := tree.Parse(text, 0, tree.Lenient)
	at := (*tree.ParseError)(nil)
	if !errors.As(err, &at) || !strings.ContainsAny(text[:min(1, len(text))], `{["`) {
		return fmt.Errorf("%s is not JSON; a text needs double quotes: '\"text\"'", abbreviate(text))
	}
	return fmt.Errorf("%s is not JSON: line %d, column %d: %s", abbreviate(text), at.Line, at.Col, at.Msg)
}

func filePayload(name string) (*payload, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is neither JSON nor the name of a file; a text needs double quotes: '\"text\"'", abbreviate(name))
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() { // a pipe, as of <(…)
		return StreamPayload(f), nil
	}
	return &payload{f, info.Size(), func() (io.ReadCloser, error) { return os.Open(name) }}, nil
}

// abbreviate keeps messages readable.
func abbreviate(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// Begins reads up to the first byte that is not white space and reports whether
// it is b. The payload is complete again afterwards.
func (p *payload) Begins(b byte) (bool, error) {
	var head []byte
	for {
		var c [1]byte
		n, err := p.Read(c[:])
		head = append(head, c[:n]...)
		if err != nil && err != io.EOF {
			return false, err
		}
		if n == 1 && strings.IndexByte(" \t\r\n", c[0]) >= 0 {
			continue
		}
		if n == 1 || err == io.EOF {
			p.ReadCloser = &prefixed{io.MultiReader(strings.NewReader(string(head)), p.ReadCloser), p.ReadCloser}
			return n == 1 && c[0] == b, nil
		}
	}
}

// prefixed reads from a reader and closes what is behind it.
type prefixed struct {
	io.Reader
	io.Closer
}
