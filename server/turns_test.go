package server

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/sync/outbox"
)

// turnsOf sends a request from an address whose places among the reads are all in use, and
// returns how many turns it takes until it is answered. Each turn comes after a wait.
func (tn *town) turnsOf(addr string, wait time.Duration, c call) (turns int, r result) {
	tn.t.Helper()
	client := tn.peers.Acquire(netip.MustParseAddr(addr))
	defer tn.peers.Release(client)
	places, held := client.Readers, int64(0)
	for places.Try(1) == nil {
		held++
	}
	defer places.Release(held)
	answered := make(chan result, 1)
	go func() { answered <- tn.at(addr).do(c) }()
	for ; turns < 1000; turns++ {
		synctest.Wait()
		select {
		case r := <-answered:
			return turns, r
		default:
		}
		next := make(chan struct{})
		go func() { // behind the request, if that waits
			_ = places.Acquire(context.Background(), 1)
			close(next)
		}()
		synctest.Wait()
		time.Sleep(wait)
		places.Release(1)
		<-next
	}
	tn.t.Fatalf("%s %s was not answered", c.method, c.target)
	return turns, r
}

// Work with all of a long text or value takes turns: the entries of a batch are parsed, a
// compressed body is inflated, and the answer of a write is made in them. To take a long value
// from a text is three turns: it is joined, looked at, and parsed.
func TestLongWorkTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		short, long := `"x"`, `"`+strings.Repeat("x", outbox.LongText)+`"`
		flat := `{"a":"` + strings.Repeat("x", 100<<10) + `"}`
		tn.at("198.51.100.2").want("PUT", "/long.json?print=silent", long, 204, "")
		tags := func(more http.Header) http.Header {
			more.Set("X-Firebase-ETag", "true")
			return more
		}
		for _, c := range []struct {
			name          string
			turns, status int
			call
		}{
			{"a short write", 0, 200, call{"PUT", "/a.json", tags(http.Header{}), short}},
			{"a silent write", 3, 204, call{"PUT", "/a.json?print=silent", nil, long}},
			{"an echo", 4, 200, call{"PUT", "/a.json", nil, long}},
			{"a tag", 4, 204, call{"PUT", "/a.json?print=silent", tags(http.Header{}), long}},
			{"no tag of a new child", 3, 200, call{"POST", "/list.json", nil, long}},
			{"a tag of a new child", 4, 200, call{"POST", "/list.json", tags(http.Header{}), long}},
			{"a silent update", 3, 204, call{"PATCH", "/b.json?print=silent", nil, `{"c":` + long + `}`}},
			{"the echo of an update", 4, 200, call{"PATCH", "/b.json", nil, `{"c":` + long + `}`}},
			{"a condition that fails", 1, 412, call{"PUT", "/long.json", http.Header{"If-Match": {"wrong"}}, short}},
			{"a batch with a mistake", 2, 400, call{"POST", "/.batch.json", nil, `{"get":[{"path":` + long + `},{}]}`}},
			{"a short batch with a mistake", 0, 400, call{"POST", "/.batch.json", nil, `{"get":[{}]}`}},
			{"a compressed write", 6, 204, call{"PUT", "/a.json?print=silent", http.Header{"Content-Encoding": {"gzip"}}, zipped(flat)}},
			{"a short compressed write", 0, 200, call{"PUT", "/a.json", http.Header{"Content-Encoding": {"gzip"}}, zipped(short)}},
		} {
			turns, r := tn.turnsOf("198.51.100.1", 0, c.call)
			if turns != c.turns || r.StatusCode != c.status {
				t.Errorf("%s: %d turns, status %d %.80s; want %d, and %d", c.name, turns, r.StatusCode, r.body, c.turns, c.status)
			}
		}
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// A body whose client had to wait for its turns is not late for that.
func TestTurnsAreNoDelayOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		var text strings.Builder
		for i := range 100 << 10 { // much of it has to be sent
			text.WriteByte('a' + byte(i*i%251*i%26))
		}
		header := http.Header{"Content-Encoding": {"gzip"}}
		turns, r := tn.turnsOf("198.51.100.1", bodyGrace/2, call{"PUT", "/a.json?print=silent", header, zipped(`"` + text.String() + `"`)})
		if r.StatusCode != 204 || turns < 6 {
			t.Errorf("after %d turns: %d %s", turns, r.StatusCode, r.body)
		}
	})
}

// The pieces of an answer that is made while it is sent are made in turns.
func TestBatchIsMadeInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{Dev: true})
		defer tn.shutdown()
		value := `"` + strings.Repeat("x", 2*writeChunk) + `"`
		tn.at("198.51.100.2").want("PUT", "/v.json?print=silent", value, 204, "")
		const pieces = 4 // and the end
		turns, r := tn.turnsOf("198.51.100.1", 0, call{"POST", "/.batch.json", nil, `{"get":[{"path":"/v"}` + strings.Repeat(`,{"path":"/v"}`, pieces-1) + `]}`})
		if want := 1 + pieces + 2; turns != want || r.StatusCode != 200 || len(r.body) < pieces*len(value) || !strings.HasSuffix(r.body, `"}]}`) {
			t.Errorf("%d turns, want %d: status %d, %d bytes", turns, want, r.StatusCode, len(r.body))
		}
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// A short request that has much made counts by the length: a body that was compressed, and an answer that
// tells a value again and again.
func TestExpansionRate(t *testing.T) {
	text := `"` + strings.Repeat("x", 9*chargedText) + `"`
	for name, c := range map[string]call{
		"inflated": {"PUT", "/b.json?print=silent", http.Header{"Content-Encoding": {"gzip"}}, zipped(text)},
		"told":     {"POST", "/.batch.json", nil, `{"get":[{"path":"/v"},{"path":"/v"},{"path":"/v"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tn := townTest(t, AddressLimits{RequestRate: 1, RequestBurst: 10})
				defer tn.shutdown()
				tn.at("198.51.100.2").want("PUT", "/v.json?print=silent", text[:3*chargedText]+`"`, 204, "")
				ts := tn.at("198.51.100.1")
				if r := ts.do(c); r.StatusCode/100 != 2 {
					t.Fatalf("%d %s", r.StatusCode, r.body)
				}
				wantTooMany(t, "a request after it", ts.do(call{"GET", "/a.json", nil, noBody}))
			})
		})
	}
}
