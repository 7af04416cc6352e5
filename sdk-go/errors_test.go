package dogwood_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// Answers of REST become errors of the same kind.
func TestRESTErrors(t *testing.T) {
	var status int
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.ws" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("authorization %q", r.Header.Get("Authorization"))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	o := quick
	o.Lazy, o.Token = true, dogwood.StaticToken("secret")
	c := dial(t, s.URL, o)
	for _, r := range []struct {
		status int
		body   string
		is     error
		want   string
	}{
		{401, `{"error":"Permission denied"}`, dogwood.ErrPermissionDenied, "read /a: permission denied"},
		{401, `{"error":"Auth token is expired"}`, dogwood.ErrUnauthorized, "read /a: invalid or expired token: Auth token is expired"},
		{400, `{"error":"Invalid path"}`, dogwood.ErrInvalid, "read /a: invalid parameters: Invalid path"},
		{400, `{"error":"Data requested exceeds the maximum size."}`, dogwood.ErrTooBig, "read /a: too big: Data requested exceeds the maximum size."},
		{503, `no JSON`, dogwood.ErrUnavailable, "read /a: the server is not available"},
		{418, `{}`, nil, "read /a: 418 I'm a teapot"},
		{200, `{"a":`, dogwood.ErrUnavailable, "children /a: the server is not available: the answer is not JSON"},
	} {
		status, body = r.status, r.body
		err := pull(t, c.Ref("a").Children(t.Context())).fails()
		if err.Error() != r.want || r.is != nil && !errors.Is(err, r.is) {
			t.Errorf("%d: %v, want %s", r.status, err, r.want)
		}
	}
	// No error shows the credential, which is a part of some URLs.
	s.Close()
	if err := pull(t, c.Ref("a").Keys(t.Context())).fails(); !errors.Is(err, dogwood.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
}

// A server for development may tell which rule it was.
func TestErrorNamesRule(t *testing.T) {
	for tells, want := range map[bool]string{true: "/rooms/$room/.write", false: ""} {
		s := servertest.New(t, servertest.Options{Decisions: observe.Decisions{Tell: tells}})
		s.SetRules(`{"rules": {"rooms": {"$room": {".write": "auth != null"}}}}`)
		err := dial(t, s.URL, quick).Ref("rooms/r1").Set(t.Context(), 1)
		var e *dogwood.Error
		if !errors.As(err, &e) || !errors.Is(err, dogwood.ErrPermissionDenied) || e.Rule != want {
			t.Fatalf("err = %v, want the rule %q", err, want)
		}
		if want != "" && !strings.HasSuffix(err.Error(), " ("+want+")") {
			t.Errorf("err = %v, want it to name the rule", err)
		}
	}
}

// Statuses that this package does not know are passed on.
func TestUnknownStatus(t *testing.T) {
	s := newScript(t)
	c, conn := s.client(dogwood.Options{})
	set := result(func() error { return c.Ref("a").Set(t.Context(), 1) })
	conn.answer(conn.hear("p", "/a"), "strange", `{"why":1}`)
	var e *dogwood.Error
	if err := <-set; !errors.As(err, &e) || err.Error() != `set /a: strange: {"why":1}` || errors.Unwrap(e) != nil {
		t.Errorf("err = %v", err)
	}
}

// A caller with too much unanswered waits, or gives up.
func TestMaxPending(t *testing.T) {
	s := newScript(t)
	c, conn := s.client(dogwood.Options{MaxPending: 1})
	first := result(func() error { return c.Ref("a").Set(t.Context(), 1) })
	id := conn.hear("p", "/a")
	ctx, cancel := context.WithCancel(t.Context())
	second := result(func() error { return c.Ref("b").Set(ctx, 2) })
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	// A read that was sent can be given up, too; a write can't be taken back.
	conn.answer(id, "ok", `""`)
	want(t, <-first)
	ctx, cancel = context.WithCancel(t.Context())
	get := result(func() error { return c.Ref("c").Get(ctx, new(int)) })
	conn.hear("g", "/c")
	cancel()
	if err := <-get; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	set := result(func() error { return c.Ref("d").Set(ctx, 3) })
	id = conn.hear("p", "/d")
	cancel()
	if err := <-set; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	last := result(func() error { return c.Ref("e").Set(t.Context(), 4) })
	conn.answer(id, "ok", `""`)
	conn.answer(conn.hear("p", "/e"), "ok", `""`)
	want(t, <-last)
}

// Nothing is sent or shown of an operation whose context has ended before it is begun.
func TestEndedContext(t *testing.T) {
	s := newScript(t)
	c, conn := s.client(dogwood.Options{})
	waitConnected(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 32 {
		if err := c.Ref("a").Set(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Fatalf("err = %v", err)
		}
	}
	set := result(func() error { return c.Ref("b").Set(t.Context(), 2) })
	conn.answer(conn.hear("p", "/b"), "ok", `""`)
	want(t, <-set)
}

// TestMuchPending: writes that are more than a connection has room for are sent on it, one after the
// other as they are taken.
func TestMuchPending(t *testing.T) {
	tier.Unraced(t) // the detector needs 2 GB for it
	const writes, size = 70, 1 << 20
	s := newScript(t)
	s.slow = true
	c := s.begin(dogwood.Options{})
	value := strings.Repeat("x", size)
	done := make(chan error, writes)
	for range writes {
		go func() { done <- c.Ref("a").Set(t.Context(), value) }()
	}
	for dogwood.Pending(c) < writes {
		time.Sleep(time.Millisecond)
	}
	conn := s.accept("one")
	waitConnected(t, c)
	heard := 0
	for range writes {
		id := conn.hear("p", "/a")
		conn.answer(id, "ok", `""`)
		heard++
	}
	for range writes {
		want(t, <-done)
	}
	if n := len(s.handshakes()); n != 1 || heard != writes {
		t.Errorf("%d writes over %d connections", heard, n)
	}
}

// A struct without exported fields would be written as {}, which deletes the value.
func TestNoExportedFields(t *testing.T) {
	_, c := openWith(t, `{"rules":{".read":true,".write":true}}`)
	ctx := t.Context()
	if err := c.Ref("a").Set(ctx, 1); err != nil {
		t.Fatal(err)
	}
	type hidden struct{ a int }
	for _, value := range []any{hidden{1}, &hidden{1}} {
		if err := c.Ref("a").Set(ctx, value); !errors.Is(err, dogwood.ErrValue) {
			t.Errorf("Set(%+v): %v, want %v", value, err, dogwood.ErrValue)
		}
	}
	var n int
	if err := c.Ref("a").Get(ctx, &n); err != nil || n != 1 {
		t.Errorf("after the refused writes: %d, %v, want 1", n, err)
	}
}
