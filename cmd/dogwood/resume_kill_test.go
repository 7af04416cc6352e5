package main

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server/servertest/faultproxy"
)

// TestResumeOverKills: a client of the realtime protocol that comes back after the server was
// killed has what is stored, and is sent little of a large view.
func TestResumeOverKills(t *testing.T) {
	dir, port := t.TempDir(), "0"
	start := func() *serverProcess {
		s := startListening(t, exec.Command("dogwood", "dev", "--port", port, "--data", dir))
		u, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		port = u.Port()
		return s
	}
	s := start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	put := func(path, value string) {
		t.Helper()
		if status, text, err := request(ctx, "PUT", s.url+path, "owner", value); err != nil || status != 200 {
			t.Fatal(status, text, err)
		}
	}
	put("/list/base.json", fmt.Sprintf("%q", strings.Repeat("x", 100_000)))
	p, err := faultproxy.Listen("127.0.0.1:"+port, faultproxy.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := dogwood.Dial(ctx, "http://"+p.Addr(), dogwood.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	view := make(chan string)
	go func() {
		for s, err := range c.Ref("list").Values(ctx) {
			if err != nil {
				break
			}
			select {
			case view <- s.JSON():
			case <-ctx.Done():
			}
		}
		close(view)
	}()
	wait := func() {
		t.Helper()
		_, want, err := request(ctx, "GET", s.url+"/list.json", "owner", "")
		if err != nil {
			t.Fatal(err)
		}
		for got := range view {
			if got == strings.TrimSpace(want) {
				return
			}
		}
		t.Fatal("the view has ended")
	}
	wait()
	for round := range 4 {
		put("/other.json", fmt.Sprint(round))
		if err := c.Ref("mine").Set(ctx, round); err != nil { // its answer comes behind a position
			t.Fatal(err)
		}
		before := p.Answered()
		s.kill()
		s = start()
		put("/list/new.json", fmt.Sprint(round)) // before or after the client is back
		wait()
		if sent := p.Answered() - before; sent > 5000 {
			t.Errorf("round %d: the client was sent %d bytes", round, sent)
		}
	}
}
