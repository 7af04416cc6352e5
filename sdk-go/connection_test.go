package dogwood_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/tree"
)

// result runs an operation in a goroutine.
func result(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// On a new connection the client says what it knows, asks first and then writes
// again what was not answered; what must not be written twice fails.
func TestResume(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c, one := s.client(dogwood.Options{})
	values := pull(t, c.Ref("a").Values(ctx))
	window := pull(t, c.Ref("list").LimitToLast(2).Values(ctx))
	go func() {
		one.answer(one.hear("q", `{"p":"/a","h":""}`), "ok", `{}`)
	}()
	if values.get().Exists() {
		t.Error("there is a value")
	}
	go func() {
		id := one.hear("q", `{"p":"/list","q":{"l":2,"vf":"r"},"t":1,"h":""}`)
		one.push("d", `{"p":"list","d":{"x":1},"t":1}`)
		one.answer(id, "ok", `{"w":["no_index"]}`)
	}()
	window.get()
	one.push("d", `{"p":"a","d":{"b":1}}`)
	known := values.get()

	set := result(func() error { return c.Ref("a/c").Set(ctx, 2) })
	one.hear("p", `"/a/c"`)
	create := result(func() error { return c.Ref("new").Create(ctx, 3) })
	one.hear("p", `"h":""`)
	left := result(func() error { return c.Ref("a/c").OnDisconnect().Remove(ctx) })
	one.hear("o", `"/a/c"`)
	get := result(func() error { return c.Ref("other").Get(ctx, new(int)) })
	one.hear("g", `"/other"`)
	want(t, one.Close())
	for _, op := range []<-chan error{create, left} {
		if err := <-op; !errors.Is(err, dogwood.ErrDisconnected) {
			t.Errorf("err = %v, want ErrDisconnected", err)
		}
	}

	two := s.accept("two")
	id := two.hear("q", fmt.Sprintf(`{"p":"/a","h":%q}`, tree.MustParseNode(known.JSON()).Hash()))
	two.answer(id, "ok", `{}`)
	id = two.hear("q", fmt.Sprintf(`{"p":"/list","q":{"l":2,"vf":"r"},"t":1,"h":%q}`, tree.MustParseNode(`{"x":1}`).Hash()))
	two.answer(id, "ok", `{}`)
	id = two.hear("p", `{"p":"/a/c","d":2}`)
	two.push("d", `{"p":"a/c","d":2}`)
	two.answer(id, "ok", `""`)
	two.answer(two.hear("g", `"/other"`), "ok", `7`)
	want(t, <-set)
	want(t, <-get)
	if got := values.get().JSON(); got != `{"b":1,"c":2}` {
		t.Errorf("value = %s", got)
	}
	if got := s.handshakes()[1].LastSession; got != "one" {
		t.Errorf("the last session was %q", got)
	}
}

func TestTokens(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	var asked []bool
	source := func(_ context.Context, refresh bool) (string, error) {
		asked = append(asked, refresh)
		return fmt.Sprintf("secret%d", len(asked)), nil
	}
	c, one := s.client(dogwood.Options{Token: source})
	one.answer(one.hear("gauth", "secret1"), "ok", `{}`)
	values := pull(t, c.Ref("a").Values(ctx))
	go func() { one.answer(one.hear("q", `"/a"`), "ok", `{}`) }()
	values.get()
	// Nothing is lost when a token expires, though the server ends all listens.
	one.push("ac", `{"s":"expired_token","d":"Auth token is expired."}`)
	one.push("c", `{"p":"a"}`)
	two := s.accept("two")
	two.answer(two.hear("gauth", "secret2"), "invalid_token", `"no"`)
	three := s.accept("three")
	three.answer(three.hear("gauth", "secret3"), "ok", `{}`)
	id := three.hear("q", `"/a"`)
	three.push("d", `{"p":"a","d":1}`)
	three.answer(id, "ok", `{}`)
	if got := values.get().JSON(); got != "1" {
		t.Errorf("value = %s", got)
	}
	if want := []bool{false, true, true}; !slices.Equal(asked, want) {
		t.Errorf("refresh = %v, want %v", asked, want)
	}
}

func TestRefusedToken(t *testing.T) {
	s := newScript(t)
	go func() {
		for range 3 {
			c := s.accept("x")
			c.answer(c.hear("gauth", "bad"), "invalid_token", `"Could not parse auth token."`)
		}
	}()
	_, err := dogwood.New(t.Context(), s, dogwood.Options{Token: dogwood.StaticToken("bad")})
	if !errors.Is(err, dogwood.ErrUnauthorized) || err.Error() != "sign in: invalid or expired token: Could not parse auth token." {
		t.Errorf("err = %v", err)
	}
	lost := errors.New("no token today")
	_, err = dogwood.New(t.Context(), s, dogwood.Options{Token: func(context.Context, bool) (string, error) { return "", lost }})
	if !errors.Is(err, lost) {
		t.Errorf("err = %v", err)
	}
}

// unsigned returns a token with claims.
func unsigned(t testing.TB, claims map[string]any) string {
	t.Helper()
	text, err := json.Marshal(claims)
	want(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(text) + "."
}

func TestUserTokens(t *testing.T) {
	for token, want := range map[string]bool{
		"owner": false, "": false, "a.b.c": false, "ya29.x": false, "a.bm8.c": false,
		unsigned(t, map[string]any{"iat": 0}): true, unsigned(t, map[string]any{"exp": 0}): false,
	} {
		if got := dogwood.IsUserToken(token); got != want {
			t.Errorf("isUserToken(%q) = %v", token, got)
		}
	}
}

func TestServerControl(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c, one := s.client(dogwood.Options{})
	waitConnected(t, c)
	one.say(`{"t":"c","d":{"t":"e","d":"just so you know"}}`)
	one.push("sd", `{"msg":"debug"}`)
	one.push("news", `{}`)
	one.push("d", `{"p":"nobody/listens","d":1}`)
	one.push("d", `{"p":"nobody","d":1,"t":9}`)
	one.say(`{"t":"c","d":{"t":"r","d":"other.example.org"}}`)
	two := s.accept("two")
	if got := s.handshakes()[1].Host; got != "other.example.org" {
		t.Errorf("host = %q", got)
	}
	for _, bad := range []string{`no JSON`, `{"t":"d","d":{"a":"d","b":{"p":"a.b","d":1}}}`, `{"t":"d","d":{"a":"m","b":{"p":"a","d":1}}}`,
		`{"t":"d","d":{"a":"d","b":{"p":"a","d":{".sv":"timestamp"}}}}`, `{"t":"d","d":{"a":"c","b":{"p":"a.b"}}}`, `{"t":"d","d":{"a":"c","b":{"p":"a","q":1}}}`} {
		two.say(bad)
		two = s.accept("next") // the client does not stay where it does not understand
	}
	waitConnected(t, c)
	waiting := result(func() error { return c.Ref("a").Get(ctx, new(int)) })
	two.hear("g", "/a")
	two.say(`{"t":"c","d":{"t":"s","d":"go away"}}`)
	if err := <-waiting; !errors.Is(err, dogwood.ErrShutdown) || err.Error() != "connect: the server ended the client: go away" {
		t.Errorf("err = %v", err)
	}
	if err := c.Ref("a").Set(ctx, 1); !errors.Is(err, dogwood.ErrShutdown) {
		t.Errorf("err = %v", err)
	}
}

// An asking log has its handler ask the client before each line.
type askingLog struct {
	logText
	ask func()
}

func (l *askingLog) Write(line []byte) (int, error) {
	l.ask()
	return l.logText.Write(line)
}

// The clock and the log of the application may ask the client something.
func TestCallbacksMayAsk(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	var client atomic.Pointer[dogwood.Client]
	text := askingLog{ask: func() {
		if c := client.Load(); c != nil {
			dogwood.Pending(c)
		}
	}}
	c := s.begin(dogwood.Options{
		Log: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: func() time.Time { text.ask(); return time.Now() },
	})
	client.Store(c)
	conn := s.accept("one")
	conn.push("sd", `{"msg":"debug"}`)
	conn.push("d", `{"p":"unknown","d":1,"t":9}`)
	go func() { conn.answer(conn.hear("q", "/list"), "ok", `{"w":["no_index"]}`) }()
	pull(t, c.Ref("list").LimitToLast(1).Values(ctx)).get()
	set := result(func() error { return c.Ref("a").Set(ctx, dogwood.ServerTimestamp) })
	conn.answer(conn.hear("p", "/a"), "ok", `""`)
	want(t, <-set)
	c.ServerTime()
	want(t, conn.Close())
	s.accept("two")
	for _, line := range []string{"security debug", "push is not for us", "a query has no index"} {
		if got := text.String(); !strings.Contains(got, line) {
			t.Errorf("the log has no line %q: %s", line, got)
		}
	}
}

// The server may end one listen of several at a place.
func TestCancelPush(t *testing.T) {
	ctx := t.Context()
	s := newScript(t)
	c, conn := s.client(dogwood.Options{})
	var loops []puller[dogwood.Snapshot]
	for i := range 3 {
		q := c.Ref("a").LimitToLast(i + 1)
		if i == 2 {
			q = c.Ref("a").OrderByKey()
		}
		go func() { conn.answer(conn.hear("q", ""), "ok", `{}`) }()
		l := pull(t, q.Values(ctx))
		l.get()
		loops = append(loops, l)
		if i == 1 { // before the one that will cover the others
			conn.push("c", `{"p":"a","q":[{"vf":"r","l":1}]}`)
			if err := loops[0].fails(); !errors.Is(err, dogwood.ErrPermissionDenied) {
				t.Errorf("err = %v", err)
			}
		}
	}
	conn.hear("n", `"t":2`)
	conn.push("c", `{"p":"a"}`)
	if err := loops[2].fails(); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
	conn.answer(conn.hear("q", `"l":2`), "ok", `{}`) // what was covered tries for itself
	conn.push("d", `{"p":"a","d":{"x":1},"t":3}`)
	if got := loops[1].get().JSON(); got != `{"x":1}` {
		t.Errorf("value = %s", got)
	}
}

// A server that says nothing for long is not there any more.
func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		_, one := s.client(dogwood.Options{})
		began := time.Now()
		two := s.accept("two")
		if d := time.Since(began); d < dogwood.SilenceLimit || d > dogwood.SilenceLimit+2*dogwood.PingInterval {
			t.Errorf("it was noticed after %v", d)
		}
		if ping := <-one.up; ping != `{"t":"c","d":{"t":"p","d":{}}}` {
			t.Errorf("the client said %s", ping)
		}
		began = time.Now()
		for range 20 { // a host that answers is up
			<-two.up
			two.say(`{"t":"c","d":{"t":"o","d":null}}`)
		}
		if d := time.Since(began); d < 19*dogwood.PingInterval {
			t.Errorf("20 pings in %v", d)
		}
		select {
		case <-two.closed:
			t.Error("the client has left")
		default:
		}
	})
}

// A server that takes connections but does not say hello is left.
func TestNoHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t)
		go func() { <-s.conns }()
		began := time.Now()
		_, err := dogwood.New(t.Context(), s, dogwood.Options{})
		if err == nil || time.Since(began) > time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		go func() { (<-s.conns).say(`{"t":"c","d":{"t":"o","d":null}}`) }()
		if _, err := dogwood.New(t.Context(), s, dogwood.Options{}); !errors.Is(err, dogwood.ErrUnavailable) {
			t.Errorf("err = %v", err)
		}
	})
}

// Attempts to connect are further and further apart.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(refusing)
		c, err := dogwood.New(t.Context(), r, dogwood.Options{Lazy: true})
		want(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		n := len(r.at)
		c.GoOnline() // without waiting for the next attempt
		synctest.Wait()
		if len(r.at) != n+1 {
			t.Errorf("%d attempts, then %d", n, len(r.at))
		}
		want(t, c.Close())
		// On average every fifteen seconds in the end.
		if n := len(r.at); n < 120 || n > 600 {
			t.Errorf("%d attempts in an hour", n)
		}
		if d := r.at[1].Sub(r.at[0]); d > time.Second {
			t.Errorf("the second one came after %v", d)
		}
		if _, err = dogwood.New(t.Context(), r, dogwood.Options{}); err == nil || err.Error() != "connect: refused" {
			t.Errorf("err = %v", err)
		}
	})
}

// refusing is a transport that never connects.
type refusing struct {
	script
	at []time.Time
}

func (r *refusing) Connect(context.Context, dogwood.Handshake) (dogwood.Conn, error) {
	r.at = append(r.at, time.Now())
	return nil, errors.New("refused")
}

func TestDialFails(t *testing.T) {
	ctx := t.Context()
	for url, want := range map[string]string{
		"ftp://example.org":       `invalid parameters: ftp://example.org: a database URL begins with http:// or https://; did you mean https://example.org?`,
		"https://":                `database URL "https://": there is no host`,
		"https://example.org/a/b": `database URL "https://example.org/a/b": there is a path; use Ref("a/b")`,
		"":                        `invalid parameters: there is no database URL`,
		"https://%zz":             `database URL: parse "https://%zz"`,
	} {
		if _, err := dogwood.Dial(ctx, url, dogwood.Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	want(t, err)
	url := "http://" + l.Addr().String()
	want(t, l.Close())
	if _, err := dogwood.Dial(ctx, url, dogwood.Options{}); !errors.Is(err, dogwood.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := dogwood.New(ctx, newScript(t), dogwood.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		database string
		hand     dogwood.Handshake
		read     dogwood.ReadRequest
		socket   string
		resource string
	}{
		{
			database: "https://shop.db.example.org", read: dogwood.ReadRequest{Path: "/"},
			socket: "wss://shop.db.example.org/.ws?ns=shop&v=5", resource: "https://shop.db.example.org/.json?format=export&ns=shop",
		}, {
			database: "http://127.0.0.1:9000?ns=shop", hand: dogwood.Handshake{LastSession: "s1", Host: "10.0.0.1:9000"},
			read:     dogwood.ReadRequest{Path: "/a b/c", After: "k", Limit: 3},
			socket:   "ws://10.0.0.1:9000/.ws?ls=s1&ns=shop&v=5",
			resource: "http://127.0.0.1:9000/a%20b/c/.json?format=export&limitToFirst=3&ns=shop&orderBy=%22%24key%22&startAfter=%22k%22",
		}, {
			database: "ws://localhost:9000", read: dogwood.ReadRequest{Path: "/a", Shallow: true, Limit: 2},
			socket: "ws://localhost:9000/.ws?v=5", resource: "http://localhost:9000/a/.json?limitToFirst=2&shallow=true",
		},
	} {
		if got, err := dogwood.SocketURL(c.database, c.hand); err != nil || got != c.socket {
			t.Errorf("%s, %v, want %s", got, err, c.socket)
		}
		if got, err := dogwood.ResourceURL(c.database, c.read); err != nil || got != c.resource {
			t.Errorf("%s, %v, want %s", got, err, c.resource)
		}
	}
}
