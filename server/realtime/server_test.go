package realtime

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"

	"github.com/dogwooddb/dogwood/server/metrics"
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

// TestRefusedConnectionsAreLogged: those for which a bound has a line have none here, and the
// others few.
func TestRefusedConnectionsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		rt := New(Options{Host: testHost{}, Metrics: metrics.New(), Log: slog.New(slog.NewTextHandler(&out, nil))})
		for _, c := range []struct {
			err   error
			lines int
		}{{errCrowded, 0}, {errStopping, 0}, {errors.New("no such disk"), observe.LineBurst}} {
			out.Reset()
			for range 3 * observe.LineBurst {
				rt.unavailable(httptest.NewRecorder(), c.err)
			}
			if n := strings.Count(out.String(), "\n"); n != c.lines {
				t.Errorf("%v: %d lines, want %d", c.err, n, c.lines)
			}
		}
	})
}
