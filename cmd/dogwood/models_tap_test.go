package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A tap is the way of one client to the server that runs. It enters all writes
// and their answers into the ledger, and corrupts some on the way.
type tap struct {
	url     func() string // of the server that runs, or ran last
	ledger  *ledger
	corrupt float64 // part of the updates that are corrupted

	mu   sync.Mutex
	rnd  *rand.Rand
	open map[string]*ledgerOp // that are not answered, by their ids
	text map[string]string    // what they write, so that it is the same when it comes again
}

func newTap(url func() string, l *ledger, rnd *rand.Rand, corrupt float64) *tap {
	return &tap{url: url, ledger: l, corrupt: corrupt, rnd: rnd, open: make(map[string]*ledgerOp), text: make(map[string]string)}
}

// Connect opens a connection.
func (t *tap) Connect(context.Context, dogwood.Handshake) (dogwood.Conn, error) {
	s, err := openCrashSocket(t.url(), modelNamespace)
	if err != nil {
		return nil, err
	}
	return &tapped{crashSocket: s, tap: t, asked: make(map[int64]string)}, nil
}

// Read is not needed by the operations of the models that are tried.
func (*tap) Read(context.Context, dogwood.ReadRequest) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}

// A tapped is one connection.
type tapped struct {
	*crashSocket
	tap *tap

	mu    sync.Mutex
	asked map[int64]string // ids of writes by those of their requests
}

func (c *tapped) Close() error { return c.ws.Close() }

// Send passes a message on.
func (c *tapped) Send(msg []byte) error {
	m, err := wire.ParseMessage(string(msg))
	if err != nil {
		return err
	}
	r := m.Request
	if m.Control != nil || r.Action != wire.ActionPut && r.Action != wire.ActionMerge {
		return c.send(msg)
	}
	if !r.Body.HasWriteID {
		return errors.New("a write without an id: " + string(msg))
	}
	data := c.tap.begin(r)
	c.mu.Lock()
	c.asked[r.ID] = r.Body.WriteID
	c.mu.Unlock()
	return c.send(rewritten(r, data))
}

// rewritten returns a write with other data.
func rewritten(r wire.Request, data string) (msg []byte) {
	switch {
	case r.Action == wire.ActionMerge:
		msg = wire.AppendMerge(nil, r.ID, r.Body.Path, data)
	case r.Body.HasHash:
		msg = wire.AppendPutIf(nil, r.ID, r.Body.Path, data, r.Body.Hash)
	default:
		msg = wire.AppendPut(nil, r.ID, r.Body.Path, data)
	}
	if r.Body.Returns {
		msg = wire.AppendReturns(msg)
	}
	i := strings.LastIndexByte(r.Body.WriteID, ':')
	number, _ := json.Number(r.Body.WriteID[i+1:]).Int64()
	return wire.AppendWriteID(msg, r.Body.WriteID[:i], number)
}

// Receive returns the next message, and takes note if it is the answer to a write.
func (c *tapped) Receive() ([]byte, error) {
	text, err := c.nextText()
	if err != nil {
		return nil, err
	}
	m, err := wire.ParseServerMessage(text)
	if err != nil || m.Status == "" {
		return text, err
	}
	c.mu.Lock()
	id, isWrite := c.asked[m.ID]
	delete(c.asked, m.ID)
	c.mu.Unlock()
	if isWrite {
		c.tap.end(id, m.Status)
	}
	return text, nil
}

// begin enters a write into the ledger, unless it is there, and returns what is to
// be written.
func (t *tap) begin(r wire.Request) (data string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := r.Body.WriteID
	if t.open[id] != nil {
		return t.text[id]
	}
	data = r.Body.Data
	corrupted := t.rnd.Float64() < t.corrupt
	if corrupted {
		data = corruptedData(t.rnd, data, r.Action == wire.ActionMerge)
	}
	t.text[id] = data
	t.open[id] = t.ledger.begin(r.Body.Path, data, r.Action == wire.ActionMerge, corrupted)
	return data
}

func (t *tap) end(id, status string) {
	t.mu.Lock()
	op := t.open[id]
	delete(t.open, id)
	delete(t.text, id)
	t.mu.Unlock()
	if op != nil { // the second answer, if there are two, is the same
		t.ledger.end(op, status)
	}
}

// corruptedData returns the data of a write with one path less, or one value
// removed or replaced.
func corruptedData(rnd *rand.Rand, data string, merge bool) string {
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		panic(err) // the client has made it
	}
	if paths, ok := v.(map[string]any); ok && merge && len(paths) > 0 {
		keys := slices.Sorted(maps.Keys(paths))
		at := keys[rnd.IntN(len(keys))]
		switch rnd.IntN(3) {
		case 0:
			delete(paths, at)
		case 1:
			paths[at] = nil
		default:
			paths[at] = replaced(rnd, paths[at])
		}
	} else if rnd.IntN(2) == 0 {
		v = nil
	} else {
		v = replaced(rnd, v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// replaced returns another value of the kind of v: of an object, one with another
// member.
func replaced(rnd *rand.Rand, v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + float64(1+rnd.IntN(2))
	case string:
		return v + "x"
	case map[string]any:
		if by, ok := increment(v); ok { // of what is only incremented
			return map[string]any{".sv": map[string]any{"increment": by + float64(1+rnd.IntN(2))}}
		}
		if v[".sv"] != nil {
			return float64(1 + rnd.IntN(5))
		}
		if keys := slices.Sorted(maps.Keys(v)); len(keys) > 0 {
			at := keys[rnd.IntN(len(keys))]
			v[at] = replaced(rnd, v[at])
		}
		return v
	}
	return true
}
