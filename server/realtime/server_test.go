package realtime

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/observe"
)

// TestPanicEndsOneConnection: a defect that one client can provoke is not the
// end for the others.
func TestPanicEndsOneConnection(t *testing.T) {
	s := serveTest(t, Limits{})
	other := s.connect()
	c := s.dial("/panic")
	c.send("{}")
	var closed *websocket.CloseError
	if _, _, err := c.ws.ReadMessage(); !errors.As(err, &closed) || closed.Code != closeInternalError {
		t.Errorf("closed with %v, want code %d", err, closeInternalError)
	}
	other.send(`{"t":"d","d":{"r":1,"a":"s","b":{"c":{}}}}`)
	other.want(`{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}`)
}

// A client that does not read what it listens to is told to administrators, by a
// name that is no secret.
func TestSlowClients(t *testing.T) {
	s := serveTest(t, Limits{})
	s.connect()
	db, leave, _ := s.opts.Host.Database("test")
	c := newConn(s.Server, "test", db, nil) // nothing is sent through it
	c.leave = leave
	if err := s.add(c); err != nil {
		t.Fatal(err)
	}
	defer c.close(dropped)
	c.out.PushFrame([]byte(strings.Repeat("x", 1000)))
	got := observe.Slowest(s.Clients())
	if len(got) != 1 || got[0].Connection != "c2" || got[0].Bytes < 1000 || got[0].Messages != 1 || got[0].Namespace != "test" || got[0].Transport != "websocket" {
		t.Errorf("slow clients: %+v", got)
	}
}
