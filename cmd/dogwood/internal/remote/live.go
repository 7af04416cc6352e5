package remote

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
)

// A liveView keeps the value that a stream of events describes, and shows it
// after each change.
//
// It applies events as a client has to (REST §10.2), so the command is also a
// small check of the stream.
type liveView struct {
	w     io.Writer
	title string
	draw  bool // on a terminal
	value tree.Node
}

func newLiveView(w io.Writer, title string) *liveView {
	return &liveView{w: w, title: title, draw: console.IsTerminal(w)}
}

// show applies an event to the view and shows the new value. A terminal is not redrawn while
// more events wait, so a burst does not delay the newest value. A pipe gets a line for each
// event.
func (v *liveView) show(ev client.Event, more bool) error {
	if err := v.apply(ev); err != nil {
		return fmt.Errorf("%s event: %w", ev.Name, err)
	}
	if v.draw && more {
		return nil
	}
	return v.print()
}

// settle draws the value for an event that was to be followed by others.
func (v *liveView) settle() error {
	if v.draw {
		return v.print()
	}
	return nil
}

func (v *liveView) print() error {
	plain := tree.AppendPlain(nil, v.value)
	if !v.draw {
		_, err := v.w.Write(append(plain, '\n'))
		return err
	}
	const home, clear = "\x1b[H", "\x1b[J"
	pretty := tree.AppendPretty(nil, string(plain))
	_, err := fmt.Fprintf(console.Canvas(v.w), "%s%s%s\n\n%s\n", home, clear, console.Shown(v.title), console.Shown(string(pretty)))
	return err
}

// apply changes the value as an event says. Other events, such as keep-alive, change nothing.
func (v *liveView) apply(ev client.Event) error {
	var change struct {
		Path string
		Data json.RawMessage
	}
	if err := json.Unmarshal(ev.Data, &change); err != nil {
		return err
	}
	path, err := tree.ParsePath(change.Path)
	if err != nil {
		return err
	}
	switch ev.Name {
	case "put":
		n, err := tree.ParseNode(string(change.Data))
		v.value = v.value.With(path, n)
		return err
	case "patch":
		return v.patch(path, string(change.Data))
	}
	return nil
}

// patch applies the changes of an update. A stream has resolved values only, so a server
// value is an error of the server.
func (v *liveView) patch(path tree.Path, data string) error {
	update, err := tree.ParseUpdate(path, data, tree.Strict)
	if err != nil {
		return err
	}
	for _, w := range update {
		n, ok := w.Value.Node()
		if !ok {
			return fmt.Errorf("%s: unexpected server value", w.Target)
		}
		v.value = v.value.WithTarget(w.Target, n)
	}
	return nil
}
