package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// errWrong is an answer that no server should give, going down or not.
var errWrong = errors.New("wrong answer")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errWrong, fmt.Sprintf(format, args...))
}

// A crashSocket is a realtime connection that knows no more than the protocol. It
// never sends anything again, so that what it sent happens once or not at all.
type crashSocket struct {
	ws     *websocket.Conn
	pieces wire.Collector
	id     int64
}

func dialCrash(url, ns string) (*crashSocket, error) {
	s, err := openCrashSocket(url, ns)
	if err != nil {
		return nil, err
	}
	if m, err := s.next(); err != nil || m.Control != wire.ControlHello {
		return nil, errors.Join(fmt.Errorf("hello: %q, %w", m.Control, err), s.ws.Close())
	}
	return s, nil
}

// openCrashSocket is dialCrash without taking the hello.
func openCrashSocket(url, ns string) (*crashSocket, error) {
	ws, _, err := websocket.DefaultDialer.Dial(strings.Replace(url, "http", "ws", 1)+"/.ws?v=5&ns="+ns, nil)
	if err != nil {
		return nil, err
	}
	return &crashSocket{ws: ws}, nil
}

func (s *crashSocket) next() (wire.ServerMessage, error) {
	text, err := s.nextText()
	if err != nil {
		return wire.ServerMessage{}, err
	}
	return wire.ParseServerMessage(text)
}

// nextText returns the next message as it is.
func (s *crashSocket) nextText() ([]byte, error) {
	for {
		_, frame, err := s.ws.ReadMessage()
		if err != nil {
			return nil, err
		}
		if text, done, err := s.pieces.Add(string(frame)); err != nil || done {
			return []byte(text), err
		}
	}
}

func (s *crashSocket) send(msg []byte) error {
	frames, err := wire.AppendFrames(nil, msg)
	for _, f := range frames {
		err = errors.Join(err, s.ws.WriteMessage(websocket.TextMessage, f))
	}
	return err
}

// ask sends a request and waits for its response.
func (s *crashSocket) ask(make func(id int64) []byte) (wire.ServerMessage, error) {
	s.id++
	if err := s.send(make(s.id)); err != nil {
		return wire.ServerMessage{}, err
	}
	for {
		if m, err := s.next(); err != nil || m.Status != "" && m.ID == s.id {
			return m, err
		}
	}
}

// crashInFlight is how many writes a connection has that are not answered.
const crashInFlight = 16

// A socketWriter writes to a space over a connection, several writes ahead of
// the answers.
type socketWriter struct {
	*crashSocket
	space *space
	leave *leave
	free  chan struct{}

	mu       sync.Mutex
	answered map[int64]func(m *wire.ServerMessage) error // by the id of a request
}

// crashSocketWrites leaves something for the disconnect and writes, until the
// server is gone or, now and then, for a while only.
func crashSocketWrites(url, ns string, s *space, l *leave) error {
	c, err := dialCrash(url, ns)
	if err != nil {
		return err
	}
	w := &socketWriter{crashSocket: c, space: s, leave: l, free: make(chan struct{}, crashInFlight), answered: make(map[int64]func(*wire.ServerMessage) error)}
	reading := make(chan error, 1)
	go func() { reading <- w.read() }()
	err = w.write()
	if err == nil {
		for range crashInFlight { // all is answered
			select {
			case w.free <- struct{}{}:
			case err := <-reading:
				return errors.Join(err, w.ws.Close())
			}
		}
	}
	_ = w.ws.Close()
	if read := <-reading; err != nil {
		return errors.Join(err, read)
	}
	return nil
}

// write sends until that fails, or until it has had enough.
func (w *socketWriter) write() error {
	enough := -1
	if w.space.rnd.IntN(4) == 0 {
		enough = w.space.rnd.IntN(60)
	}
	if err := w.register(); err != nil {
		return err
	}
	cancel := -1
	if w.space.rnd.IntN(4) == 0 {
		cancel = w.space.rnd.IntN(30)
	}
	for i := 0; i != enough; i++ {
		if i == cancel {
			if err := w.cancel(); err != nil {
				return err
			}
		}
		op, n := w.space.next()
		err := w.request(func(id int64) []byte { return op.message(id) }, func(m *wire.ServerMessage) error {
			w.space.ack(n)
			return op.wants(m.Status, string(m.Data))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (op crashOp) message(id int64) []byte {
	switch {
	case op.merge:
		return wire.AppendMerge(nil, id, op.path, op.data)
	case op.hash != "":
		return wire.AppendPutIf(nil, id, op.path, op.data, op.hash)
	}
	return wire.AppendPut(nil, id, op.path, op.data)
}

// wants is an error if a response is not what the op should get.
func (op crashOp) wants(status, text string) error {
	want := wire.StatusOK
	if op.stale {
		want = wire.StatusDataStale
	}
	if status != want {
		return wrong("write %s %.200s: %s %s, want %s", op.path, op.data, status, text, want)
	}
	return nil
}

// register leaves an update for the disconnect. It may or may not be there until
// that is acknowledged.
func (w *socketWriter) register() error {
	data := fmt.Sprintf(`{"gone/%[1]s":%[2]s,"left/%[1]s":%[2]s}`, w.leave.id, crashIncrement)
	w.leave.expect(0, 1)
	return w.request(func(id int64) []byte { return wire.AppendDisconnect(nil, id, wire.ActionDisconnectMerge, "/", data) }, func(m *wire.ServerMessage) error {
		w.leave.expect(1, 0)
		return wantOK("onDisconnect", m)
	})
}

// cancel takes back everything that the connection has left.
func (w *socketWriter) cancel() error {
	w.leave.expect(-1, 0)
	return w.request(func(id int64) []byte { return wire.AppendDisconnect(nil, id, wire.ActionDisconnectStop, "/", "null") }, func(m *wire.ServerMessage) error {
		w.leave.expect(0, -1)
		return wantOK("cancel onDisconnect", m)
	})
}

func wantOK(what string, m *wire.ServerMessage) error {
	if m.Status != wire.StatusOK {
		return wrong("%s: %s %s", what, m.Status, m.Data)
	}
	return nil
}

// request sends a request as soon as there is room for it.
func (w *socketWriter) request(make func(id int64) []byte, answered func(m *wire.ServerMessage) error) error {
	w.free <- struct{}{}
	w.mu.Lock()
	w.id++
	id := w.id
	w.answered[id] = answered
	w.mu.Unlock()
	return w.send(make(id))
}

// read takes responses until the connection ends. Then it lets a waiting writer go on, which
// fails.
func (w *socketWriter) read() error {
	defer func() {
		_ = w.ws.Close()
		for {
			select {
			case <-w.free:
			default:
				return
			}
		}
	}()
	for {
		m, err := w.next()
		if err != nil {
			return err
		}
		if m.Status == "" {
			continue
		}
		w.mu.Lock()
		answered := w.answered[m.ID]
		delete(w.answered, m.ID)
		w.mu.Unlock()
		if answered == nil {
			return wrong("a response to request %d", m.ID)
		}
		if err := answered(&m); err != nil {
			return err
		}
		<-w.free
	}
}

// crashSocketRivals replaces the value of many by the next one, over and over.
func crashSocketRivals(url, ns, by string, c *chain) error {
	s, err := dialCrash(url, ns)
	if err != nil {
		return err
	}
	defer s.ws.Close()
	for {
		m, err := s.ask(func(id int64) []byte { return wire.AppendGet(nil, id, chainPath, "") })
		if err != nil {
			return err
		}
		old, err := tree.ParseNode(string(m.Data))
		if err != nil {
			return err
		}
		n, _ := old.Child("n").NumberValue()
		next := int(n) + 1
		c.sent(next)
		m, err = s.ask(func(id int64) []byte { return wire.AppendPutIf(nil, id, chainPath, chainLink(next, by), old.Hash()) })
		if err == nil && m.Status == wire.StatusOK {
			err = c.ack(next, by)
		} else if err == nil && m.Status != wire.StatusDataStale {
			err = wrong("conditional write: %s %s", m.Status, m.Data)
		}
		if err != nil {
			return err
		}
	}
}

// A crashREST is a client over REST.
type crashREST struct {
	url, ns string
	http    *http.Client
}

// ask sends a request. match is the condition of a write, or "true" asks for
// what conditions are made of.
func (c *crashREST) ask(method, path, body, match string) (status int, text, etag string, err error) {
	r, err := http.NewRequest(method, c.url+"/"+path+".json?ns="+c.ns, strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	switch {
	case match == "":
	case method == http.MethodGet:
		r.Header.Set("X-Firebase-ETag", match)
	default:
		r.Header.Set("If-Match", match)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.Header.Get("ETag"), err
}

// writes writes to a space, one after the other.
func (c *crashREST) writes(s *space) error {
	for {
		op, n := s.next()
		status, text, err := c.write(op)
		if err != nil {
			return err
		}
		s.ack(n)
		want := http.StatusOK
		if op.stale {
			want = http.StatusPreconditionFailed
		}
		if status != want {
			return wrong("write %s %.200s: %d %s, want %d", op.path, op.data, status, text, want)
		}
	}
}

func (c *crashREST) write(op crashOp) (status int, text string, err error) {
	method, match := http.MethodPut, ""
	switch {
	case op.merge:
		method = http.MethodPatch
	case op.stale:
		match = "something-else"
	case op.hash != "":
		if _, _, match, err = c.ask(http.MethodGet, op.path, "", "true"); err != nil {
			return 0, "", err
		}
	}
	status, text, _, err = c.ask(method, op.path, op.data, match)
	return status, text, err
}

// rivals replaces the value of many by the next one, over and over.
func (c *crashREST) rivals(by string, ch *chain) error {
	for {
		_, text, etag, err := c.ask(http.MethodGet, chainPath, "", "true")
		if err != nil {
			return err
		}
		old, err := tree.ParseNode(text)
		if err != nil {
			return err
		}
		n, _ := old.Child("n").NumberValue()
		next := int(n) + 1
		ch.sent(next)
		switch status, text, _, err := c.ask(http.MethodPut, chainPath, chainLink(next, by), etag); {
		case err != nil:
			return err
		case status == http.StatusOK:
			if err := ch.ack(next, by); err != nil {
				return err
			}
		case status != http.StatusPreconditionFailed:
			return wrong("conditional write: %d %s", status, text)
		}
	}
}

// adds increments the number of many, over and over.
func (c *crashREST) adds(s *sum) error {
	for {
		s.add(0, 1)
		status, text, _, err := c.ask(http.MethodPut, sumPath, crashIncrement, "")
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return wrong("increment: %d %s", status, text)
		}
		s.add(1, 0)
	}
}
