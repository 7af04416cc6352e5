package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/sync/outbox"
)

// network has clients of the realtime protocol of a server on pipes.
func (ts *testServer) network(t *testing.T) *network {
	return &network{ts.Server, t, func(context.Context, string, string) (net.Conn, error) { return ts.dial() }}
}

// notice reads a notice with a tag.
func (c *wsClient) notice(tag int) (d map[string]any) {
	c.t.Helper()
	var m struct {
		D struct {
			A string
			B struct {
				P string
				D map[string]any
				T int
			}
		}
	}
	text := c.next()
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.D.A != "nt" || m.D.B.T != tag {
		c.t.Fatalf("%s, %v; want a notice with the tag %d", text, err, tag)
	}
	return m.D.B.D
}

func (c *wsClient) wantNotice(tag int, want string) {
	c.t.Helper()
	d := c.notice(tag)
	delete(d, "revision")
	if got, err := json.Marshal(d); err != nil || string(got) != want {
		c.t.Fatalf("notice %s, %v, want %s", got, err, want)
	}
}

// TestNoticesOfSocket: a listen for notices is told which children change, at most five times a second.
// Nothing else waits for that. It ends with its permission, and one of the next connection begins with the
// notice that any child may have changed.
func TestNoticesOfSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		defer ts.shutdown()
		n := ts.network(t)
		put := func(path, body string) {
			t.Helper()
			if r := ts.do(call{"PUT", path, nil, body}); r.StatusCode != http.StatusOK {
				t.Fatalf("PUT %s: %d %s", path, r.StatusCode, r.body)
			}
		}
		put("/rooms.json?ns=test", `{"a":{"x":1},"b":1}`)
		c := n.connect("")
		c.do("nt", `{"p":"/rooms","t":1,"chg":1}`)
		c.do("nt", `{"p":"/rooms","q":{"i":".key","l":1,"vf":"r"},"t":2,"chg":1}`)
		began := time.Now()
		put("/rooms/a/x.json?ns=test", "2")
		c.wantNotice(1, `{"all":false,"children":["a"]}`)
		if took := time.Since(began); took != 0 {
			t.Errorf("the first notice took %s", took)
		}
		const later = time.Millisecond // so that the second ones come in this order
		time.Sleep(later)
		put("/rooms/b.json?ns=test", "2")
		c.wantNotice(2, `{"all":false,"children":["b"]}`)
		put("/rooms/a/y/z.json?ns=test", "1")
		put("/rooms/b.json?ns=test", "3")
		c.do("p", `{"p":"/elsewhere","d":1}`)
		if took := time.Since(began); took != later {
			t.Errorf("a write waited %s for a notice", took)
		}
		c.wantNotice(1, `{"all":false,"children":["b","a"]}`)
		if took := time.Since(began); took != outbox.NoticeEvery {
			t.Errorf("the second notice took %s, want %s", took, outbox.NoticeEvery)
		}
		c.wantNotice(2, `{"all":false,"children":["b"]}`)
		put("/rooms.json?ns=test", `{"a":1}`)
		c.do("n", `{"p":"/rooms","t":2}`)
		c.wantNotice(1, `{"all":true,"children":[]}`)
		c.ws.Close()

		put("/rooms/q.json?ns=test", "7")
		c = n.connect("")
		c.request("nt", `{"p":"/rooms","t":1}`)
		c.wantNotice(1, `{"all":true,"children":[]}`)
		c.want(`{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}`)
		ts.want("PUT", "/.settings/rules.json?ns=test", `{"rules":{}}`, 200, `{"status":"ok"}`)
		c.want(`{"t":"d","d":{"a":"c","b":{"p":"rooms"}}}`)
		ts.admin("PUT", "/rooms/q.json?ns=test", "8")
		c.request("nt", `{"p":"/rooms","t":2}`)
		c.want(`{"t":"d","d":{"r":2,"b":{"s":"permission_denied","d":"Permission denied"}}}`)
		c.ws.Close()
	})
}

// TestNoticesOfMany: a client may have thousands of listens for notices, and be slow. Then they say that
// any child may have changed, and none is missing.
func TestNoticesOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		defer ts.shutdown()
		c := ts.network(t).connect("")
		const listens = 2000
		for tag := 1; tag <= listens; tag++ {
			c.do("nt", fmt.Sprintf(`{"p":"/rooms/r%d","t":%d,"chg":1}`, tag%20, tag))
		}
		for range 3 {
			var updates []string
			for i := range 20 {
				updates = append(updates, fmt.Sprintf(`"rooms/r%d/a":{".sv":"timestamp"}`, i))
			}
			body := "{" + strings.Join(updates, ",") + "}"
			if r := ts.do(call{"PATCH", "/.json?print=silent&ns=test", nil, body}); r.StatusCode != http.StatusNoContent {
				t.Fatalf("PATCH: %d %s", r.StatusCode, r.body)
			}
			synctest.Wait()
			seen := make(map[int]bool)
			for range listens {
				var m struct {
					D struct {
						B struct {
							D struct {
								All      bool
								Children []string
							}
							T int
						}
					}
				}
				if err := json.Unmarshal([]byte(c.next()), &m); err != nil {
					t.Fatal(err)
				}
				if d := m.D.B.D; !d.All && (len(d.Children) != 1 || d.Children[0] != "a") {
					t.Fatalf("%+v", d)
				}
				seen[m.D.B.T] = true
			}
			if len(seen) != listens {
				t.Errorf("%d of %d listens have a notice", len(seen), listens)
			}
			time.Sleep(outbox.NoticeEvery)
		}
		c.ws.Close()
	})
}
