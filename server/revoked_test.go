package server

import (
	"bufio"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
)

// revoke revokes what ana has now.
func revoke(t *testing.T, dir string) {
	t.Helper()
	if err := auth.RevocationsOf(dir).Revoke("ana", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
}

// backendOf makes the service account backend known to a server on pipes, and returns the
// parameter with an access token of it.
func backendOf(t *testing.T, ts *testServer, dir string) string {
	t.Helper()
	accounts := &issuers{dir: dir, accounts: map[string]*rsa.PrivateKey{}}
	accounts.account(t, "backend")
	n := &network{ts.Server, t, func(context.Context, string, string) (net.Conn, error) { return ts.dial() }}
	return "access_token=" + url.QueryEscape(exchange(t, n, accounts.assertion(t, "backend")))
}

// An operation that was left for the disconnect with a credential that was revoked since is not
// carried out, though the client has signed in as someone else meanwhile or the token had expired
// before. One whose token has only expired is.
func TestRevokedSinceItLeft(t *testing.T) {
	for _, c := range []struct {
		name    string
		then    func(t *testing.T, ws *wsClient)
		revoked bool
		want    string
	}{
		{"another user", func(t *testing.T, ws *wsClient) {
			token, err := auth.CustomToken{UID: "bo", Life: time.Hour}.Sign(expirySecret, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			ws.do("auth", credentialBody(token))
		}, true, "1"},
		{"an administrator", func(t *testing.T, ws *wsClient) { ws.do("gauth", credentialBody(expirySecret)) }, true, "1"},
		{"signed out", func(t *testing.T, ws *wsClient) { ws.do("unauth", `{}`) }, true, "1"},
		{"expired", func(t *testing.T, ws *wsClient) { ws.want(acExpired) }, true, "1"},
		{"only expired", func(t *testing.T, ws *wsClient) { ws.want(acExpired) }, false, `"gone"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := expiryOptions(t)
				n := onPipe(t, o)
				ws := n.connect("")
				ws.do("auth", credentialBody(signed(t, 10*time.Second)))
				ws.do("p", anaWrites)
				ws.do("o", anaLeaves)
				c.then(t, ws)
				time.Sleep(11 * time.Second) // behind the life of the token
				if c.revoked {
					revoke(t, o.Dir)
				}
				ws.ws.Close()
				synctest.Wait()
				if got := read(t, n.Server, "/users/ana"); got != c.want {
					t.Errorf("it is %s, want %s", got, c.want)
				}
			})
		})
	}
}

// The next start asks again about what a killed server has left to do.
func TestRevokedWhileDown(t *testing.T) {
	for name, c := range map[string]struct {
		revoked bool
		want    string
	}{"revoked": {true, "1"}, "not revoked": {false, `"gone"`}} {
		t.Run(name, func(t *testing.T) {
			o := expiryOptions(t)
			n := onSocket(t, o)
			ws := n.connect("")
			ws.do("auth", credentialBody(signed(t, time.Hour)))
			ws.do("p", anaWrites)
			ws.do("o", anaLeaves)
			killed := t.TempDir()
			if err := os.CopyFS(killed, os.DirFS(o.Dir)); err != nil {
				t.Fatal(err)
			}
			ws.ws.Close()
			if c.revoked {
				revoke(t, killed)
			}
			o.Dir = killed
			if got := read(t, serveTest(t, o).Server, "/users/ana"); got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}

// A reader of the log that is behind ends with its credential and its database, too, and gets
// nothing of what is written later. Where it asked for what there is, it sees that there is more.
func TestLogReaderBehindEnds(t *testing.T) {
	revoked := func(t *testing.T, _ *testServer, dir string) {
		if err := auth.AccountsOf(dir).Revoke("backend"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, follow string
		end          func(*testing.T, *testServer, string)
		well         bool
	}{
		{"revoked", "true", revoked, true},
		{"revoked, without following", "false", revoked, false},
		{"dropped", "true", func(_ *testing.T, ts *testServer, _ string) {
			go ts.do(call{"DELETE", "/.settings/databases/blog.json", bearer(expirySecret), ""})
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts, dir, body := readerBehind(t, c.follow)
				c.end(t, ts, dir)
				time.Sleep(2 * time.Second)
				ts.do(call{"PUT", "/late.json?ns=blog", bearer(expirySecret), `"late"`})
				text, err := io.ReadAll(body)
				if len(text) > 5*logEntry || strings.Contains(string(text), "late") {
					t.Errorf("it was sent %d bytes more", len(text))
				}
				if (err == nil) != c.well {
					t.Errorf("its end is %v", err)
				}
				body.Close()
				if err := ts.shutdown(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// One that follows the log does not use up the time that a shutdown gives to others.
func TestLogReaderBehindAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, _, body := readerBehind(t, "true")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer body.Close()
			part := make([]byte, logEntry)
			for err := error(nil); err == nil; time.Sleep(time.Second) {
				_, err = io.ReadFull(body, part)
			}
		}()
		if err := ts.shutdown(); err != nil {
			t.Error(err)
		}
		<-ended
	})
}

const logEntry = 20 << 10 // about the bytes of each entry for readerBehind

// readerBehind returns a server, its data directory, and the answer to a reader of the log of its
// database blog that has read nothing of 50 entries.
func readerBehind(t *testing.T, follow string) (ts *testServer, dir string, body io.ReadCloser) {
	t.Helper()
	o := expiryOptions(t)
	ts = pipeTest(t, o)
	t.Cleanup(func() { ts.shutdown() })
	if r := ts.do(call{"POST", "/.settings/databases.json", bearer(expirySecret), `{"name":"blog"}`}); r.StatusCode != 200 {
		t.Fatal(r.StatusCode, r.body)
	}
	for i := range 50 {
		target := fmt.Sprintf("/n/%d.json?ns=blog&print=silent", i)
		if r := ts.do(call{"PUT", target, bearer(expirySecret), `"` + strings.Repeat("x", logEntry) + `"`}); r.StatusCode != 204 {
			t.Fatal(r.StatusCode, r.body)
		}
	}
	conn, req := ts.send(call{"GET", "/.settings/log.json?ns=blog&from=1&follow=" + follow + "&" + backendOf(t, ts, o.Dir), nil, ""})
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	time.Sleep(time.Second)
	return ts, o.Dir, struct {
		io.Reader
		io.Closer
	}{resp.Body, conn}
}

// A body that took long is not stored if its credential was revoked meanwhile. One that has only
// expired was good when the request began.
func TestRevokedDuringBody(t *testing.T) {
	const user = "/users/ana"
	for _, c := range []struct {
		name, path, query string
		size              int
		revoked           bool
		status            int
		text              string
	}{
		{"of a user", user, "", 1000, true, 401, textExpiredToken},
		{"of a user, expired", user, "", 1000, false, 204, ""},
		{"streamed", "/a", "", 2 * streamFrom, true, 401, textUnauthorized},
		{"imported", "/a", "&writeSizeLimit=unlimited", bulkFrom + streamFrom, true, 401, textUnauthorized},
		{"streamed, and not revoked", "/a", "", 2 * streamFrom, false, 204, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := expiryOptions(t)
				ts := pipeTest(t, o)
				defer ts.shutdown()
				credential := backendOf(t, ts, o.Dir)
				if c.path == user {
					credential = "auth=" + url.QueryEscape(signed(t, 10*time.Second))
				}
				text := `"` + strings.Repeat("x", c.size) + `"`
				h := http.Header{"Content-Length": {fmt.Sprint(len(text))}}
				conn, req := ts.send(call{"PUT", c.path + ".json?print=silent&" + credential + c.query, h, text[:len(text)/2]})
				defer conn.Close()
				time.Sleep(bodyStall - time.Second)
				if c.revoked {
					revoke(t, o.Dir)
					if err := auth.AccountsOf(o.Dir).Revoke("backend"); err != nil {
						t.Fatal(err)
					}
				}
				go io.WriteString(conn, text[len(text)/2:])
				r := ts.read(bufio.NewReader(conn), req)
				if r.StatusCode != c.status || !strings.Contains(r.body, c.text) {
					t.Errorf("answered with %d %s, want %d %s", r.StatusCode, r.body, c.status, c.text)
				}
				want := "null"
				if c.status == 204 {
					want = text
				}
				if got := read(t, ts.Server, c.path); got != want {
					t.Errorf("it is %.100s, want %.100s", got, want)
				}
			})
		})
	}
}

// A credential that cannot be decided is not refused: new requests may be sent again, and
// clients that are signed in stay so until it can be decided.
func TestUndecidedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := expiryOptions(t)
		var log console
		o.Log = textLog(&log)
		ts := pipeTest(t, o)
		defer ts.shutdown()
		n := &network{ts.Server, t, func(context.Context, string, string) (net.Conn, error) { return ts.dial() }}
		backendOf(t, ts, o.Dir) // also makes the directory of accounts
		token := signed(t, time.Hour)
		ws := n.connect("")
		ws.do("auth", credentialBody(token))
		stream := ts.follow("/users/ana.json?auth=" + url.QueryEscape(token))
		stream.want("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\n")

		sum := sha256.Sum256([]byte("ana"))
		broken := filepath.Join(o.Dir, "revoked-users", hex.EncodeToString(sum[:])+".json")
		if err := os.MkdirAll(broken, 0o700); err != nil { // a directory cannot be read as a file
			t.Fatal(err)
		}
		time.Sleep(auth.Recheck + time.Second)
		ws.do("p", `{"p":"/users/ana","d":null}`)
		stream.want(eventKeepAlive)
		for range 3 {
			r := ts.do(call{"GET", "/users/ana.json?auth=" + url.QueryEscape(token), nil, ""})
			if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" {
				t.Errorf("a request: %d %v %s, want 503", r.StatusCode, r.Header, r.body)
			}
		}
		other := n.connect("")
		other.request("auth", credentialBody(token))
		if got := other.next(); !strings.Contains(got, `"s":"unavailable"`) {
			t.Errorf("a sign-in: %s", got)
		}
		if lines := strings.Count(log.String(), "a credential cannot be decided"); lines == 0 || lines > int(auth.Recheck/(10*time.Second))+2 {
			t.Errorf("the log has %d lines:\n%s", lines, log.String())
		}
		if strings.Contains(log.String(), "refused a credential") {
			t.Errorf("the log has a refusal:\n%s", log.String())
		}

		if err := os.Remove(broken); err != nil {
			t.Fatal(err)
		}
		revoke(t, o.Dir)
		ws.want(acExpired)
		if text, err := io.ReadAll(stream.events); err != nil || !strings.HasSuffix(string(text), eventRevoked) {
			t.Errorf("the stream: %q, %v", text, err)
		}
		for _, c := range []io.Closer{ws.ws, other.ws, stream} {
			c.Close()
		}
		if err := ts.shutdown(); err != nil {
			t.Error(err)
		}
	})
}
