package bench

import (
	"context"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/bench/connect/connecttest"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/gorilla/websocket"
)

// answer starts a server that answers requests four at a time, the last first,
// and refuses one of them.
func answer(t *testing.T, refused int) Target {
	return Target{URL: connecttest.Server(t, func(ws *websocket.Conn) {
		connecttest.Say(ws, connecttest.Hello)
		var waiting []int64
		for n := 0; ; n++ {
			_, text, err := ws.ReadMessage()
			if err != nil {
				return
			}
			m, err := wire.ParseMessage(string(text))
			if err != nil {
				t.Errorf("message %s: %v", text, err)
			}
			if waiting = append(waiting, m.Request.ID); len(waiting) < 4 {
				continue
			}
			for i := range waiting {
				id := waiting[len(waiting)-1-i]
				if n/4 == refused && i == 0 {
					connecttest.Say(ws, string(wire.AppendError(nil, id, wire.StatusPermissionDenied, wire.TextPermissionDenied)))
				} else {
					connecttest.Say(ws, string(wire.AppendOK(nil, id, `{"a":1}`)))
				}
			}
			waiting = nil
		}
	})}
}

func newTestPipeline(t *testing.T, r *Load, inFlight int) *pipeline {
	t.Helper()
	c, err := connect.Dial(t.Context(), r.Target, connect.ReadBuffer)
	if err != nil {
		t.Fatal(err)
	}
	return NewPipeline(r, c, 0, inFlight, func(dst []byte, id, seq int64) []byte {
		return wire.AppendPut(dst, id, "/a", object(seq, 0))
	})
}

// Answers find their requests in any order, and each is counted once.
func TestPipeline(t *testing.T) {
	for _, inFlight := range []int{4, 8, 64} {
		r := NewLoad(Options{Target: answer(t, 3), Count: 400})
		p := newTestPipeline(t, r, inFlight)
		r.Begin()
		if err := p.Drive(t.Context()); err != nil {
			t.Fatal(err)
		}
		res := r.result(Set{}, false)
		if res.Count != 399 || res.Failed != 1 || !strings.HasPrefix(res.Reason, "permission_denied") {
			t.Errorf("%d in flight: %d done, %d failed with %q; want 399, 1, permission_denied", inFlight, res.Count, res.Failed, res.Reason)
		}
		if res.PerSecond <= 0 || res.Latency.Max <= 0 {
			t.Errorf("%d in flight: %+v has no rate or no latency", inFlight, res)
		}
	}
}

// An interrupted load keeps what was done; a lost server is an error.
func TestPipelineEndsEarly(t *testing.T) {
	r := NewLoad(Options{Target: answer(t, -1), Count: 1 << 40})
	ctx, cancel := context.WithCancel(t.Context())
	p := newTestPipeline(t, r, 8)
	p.check = func(*wire.ServerMessage) string {
		if r.inTime.Load() >= 50 {
			cancel()
		}
		return ""
	}
	r.Begin()
	if err := p.Drive(ctx); err != context.Canceled {
		t.Errorf("interrupted: %v", err)
	}
	if res := r.result(Set{}, true); res.Count < 50 || !res.Partial || res.Seconds <= 0 {
		t.Errorf("interrupted: %+v, want at least 50 operations", res)
	}

	gone := connecttest.Server(t, func(ws *websocket.Conn) {
		connecttest.Say(ws, connecttest.Hello)
		_, _, _ = ws.ReadMessage() // one request, and then it is gone
	})
	r = NewLoad(Options{Target: Target{URL: gone}, Count: 100})
	p = newTestPipeline(t, r, 8)
	r.Begin()
	if err := p.Drive(t.Context()); err == nil || err == connect.ErrEnded {
		t.Errorf("a lost server: %v, want an error", err)
	}
}
