package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A countingClient adds one to /n under ids, and after each crash of the server
// sends again what was not answered.
type countingClient struct {
	t        *testing.T
	answered int64 // all writes up to this one
	sent     int64 // of the writes, the last one that was ever sent
}

const countingWriter = "2f1c0b1e-58a3-4d0f-8a56-0d6c0c1b9e9e"

// run sends and reads until the connection ends, or the last write was answered.
func (c *countingClient) run(url, secret string, last int64) {
	conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/.ws?v=5", nil)
	if err != nil {
		return // killed already
	}
	resp.Body.Close()
	defer conn.Close()
	if _, hello, err := conn.ReadMessage(); err != nil {
		return
	} else if !strings.Contains(string(hello), `"f":["w"`) {
		c.t.Errorf("hello %s, want the feature w", hello)
		return
	}
	const lead = 50 // writes on their way
	msg := wire.AppendAuth(nil, 0, wire.ActionAdminAuth, secret)
	for next := c.answered + 1; conn.WriteMessage(websocket.TextMessage, msg) == nil; next++ {
		for (next > c.answered+lead || next > last) && c.answered < last {
			if !c.read(conn) {
				return
			}
		}
		if next > last {
			return
		}
		c.sent = max(c.sent, next)
		msg = wire.AppendPut(nil, next, "/n", `{".sv":{"increment":1}}`)
		msg = wire.AppendWriteID(msg, countingWriter, next)
	}
}

// read reads an answer. It fails when the server is killed.
func (c *countingClient) read(conn *websocket.Conn) bool {
	_, text, err := conn.ReadMessage()
	if err != nil {
		return false
	}
	m, err := wire.ParseServerMessage(text)
	if err != nil || m.Status != wire.StatusOK {
		c.t.Errorf("answer %s (%v)", text, err)
		return false
	}
	c.answered = max(c.answered, m.ID)
	return true
}

// TestWritesAreCarriedOutOnce kills the server at random moments while a client
// counts, and compares the count with the number of writes.
func TestWritesAreCarriedOutOnce(t *testing.T) {
	k := &killTest{t: t, dir: filepath.Join(t.TempDir(), "data")}
	c := &countingClient{t: t}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range killRounds() {
		url, stop := k.serve()
		kill := time.AfterFunc(time.Duration(rnd.Int64N(int64(100*time.Millisecond))), stop)
		c.run(url, k.secret(), math.MaxInt64)
		kill.Stop()
		stop()
		if t.Failed() {
			return
		}
	}
	url, stop := k.serve()
	defer stop()
	answered := c.answered
	c.run(url, k.secret(), c.sent)
	if n := k.get(url + "/n.json"); n != c.sent || c.answered != c.sent {
		t.Errorf("/n is %d, %d writes were sent, %d answered", n, c.sent, c.answered)
	}
	stop()
	s, err := store.Open(k.data(), store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if findings, err := s.Check(); err != nil || len(findings) > 0 {
		t.Errorf("Check = %v, %v", findings, err)
	}
	t.Logf("%d writes in %d lives of the server, %d answers lost in the last one", c.sent, killRounds(), c.sent-answered)
}

func (k *killTest) secret() string {
	k.t.Helper()
	return secretOf(k.t, k.dir)
}

// get reads a number.
func (k *killTest) get(url string) (n int64) {
	k.t.Helper()
	_, body, err := request(k.t.Context(), http.MethodGet, url, k.secret(), "")
	if _, scan := fmt.Sscan(body, &n); err != nil || scan != nil {
		k.t.Fatalf("%s: %s (%v)", url, body, err)
	}
	return n
}
