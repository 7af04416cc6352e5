package servers

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server"
)

// ask makes a request of a listener for operations, with a Host header.
func (o *opsListener) ask(t *testing.T, path, host string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+o.addr.String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestOpsListener(t *testing.T) {
	o, err := (&opsFlags{}).listen(0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.stop()
	expect := func(path, host string, status int, text string) {
		t.Helper()
		if got, body := o.ask(t, path, host); got != status || !strings.Contains(body, text) {
			t.Errorf("GET %s of %q: %d %.100s, want %d %s", path, host, got, body, status, text)
		}
	}
	expect("/healthz", "localhost", 200, "ok")
	expect("/readyz", "127.0.0.1:1", 503, "starting")
	expect("/metrics", "localhost", 503, "starting")
	s, err := server.New(server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.ready(s)
	expect("/readyz", "localhost", 200, "ok")
	expect("/metrics", "[::1]:80", 200, "dogwood_info")
	expect("/debug/pprof/cmdline", "localhost", 200, "")
	expect("/metrics", "evil.example", 403, "loopback")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	expect("/readyz", "localhost", 503, "shutting down")
	for range maxOpsRequests {
		o.requests <- struct{}{}
	}
	expect("/healthz", "localhost", 503, "too many")
}

// A foreign page takes no place, and holds no connection.
func TestOpsPages(t *testing.T) {
	o, err := (&opsFlags{}).listen(0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer o.stop()
	for range maxOpsRequests {
		o.requests <- struct{}{}
	}
	for _, c := range []struct {
		name   string
		header http.Header
		host   string
		status int
	}{
		{"a program", http.Header{}, "localhost", 503},
		{"a page of this machine", http.Header{"Origin": {"http://localhost:3000"}}, "localhost", 503},
		{"the address bar", http.Header{"Sec-Fetch-Site": {"none"}}, "localhost", 503},
		{"a foreign page", http.Header{"Origin": {"https://evil.example"}}, "localhost", 403},
		{"a foreign script that hides it", http.Header{"Sec-Fetch-Site": {"cross-site"}}, "localhost", 403},
		{"a foreign link", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}, "localhost", 403},
		{"a foreign script by a host that browsers do not trust", http.Header{}, "[::ffff:127.0.0.1]", 403},
	} {
		r, err := http.NewRequest(http.MethodGet, "http://"+o.addr.String()+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header, r.Host = c.header, c.host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if refused := c.status == 403; resp.StatusCode != c.status || resp.Close != refused {
			t.Errorf("%s: %d, closed %t, want %d, %t", c.name, resp.StatusCode, resp.Close, c.status, refused)
		}
	}
}

// Connections beyond the bound are closed, and have their place again when they are.
func TestOpsConnections(t *testing.T) {
	var o opsListener
	for i := range maxOpsConnections + 2 {
		here, there := net.Pipe()
		defer there.Close()
		o.changed(here, http.StateNew)
		open := here.SetDeadline(time.Now()) == nil
		if want := i < maxOpsConnections; open != want {
			t.Fatalf("connection %d is open: %t, want %t", i, open, want)
		}
		if !open {
			o.changed(here, http.StateClosed)
		}
	}
	if n := o.connections.Load(); n != maxOpsConnections {
		t.Errorf("%d connections count, want %d", n, maxOpsConnections)
	}
}

// A page of the web, whose own name points at the listener, is not answered.
func TestOpsHosts(t *testing.T) {
	for _, c := range []struct {
		addr, name string
		hosts      map[string]bool
	}{
		{"127.0.0.1:9464", "127.0.0.1", map[string]bool{
			"127.0.0.1": true, "127.0.0.1:9464": true, "localhost:1": true, "LOCALHOST": true, "app.localhost": true,
			"[::1]": true, "[::1]:9464": true, "::1": true,
			"": false, "evil.example": false, "localhost.evil.example": false, "10.0.0.1": false, "[2001:db8::1]": false,
			"localhost.": false, "LocalHost.:9464": false, "[::ffff:127.0.0.1]:9464": false, "[::ffff:7f00:1]": false,
		}},
		{"10.0.0.1:9464", "", map[string]bool{
			"10.0.0.1:9464": true, "192.0.2.1": true, "[2001:db8::1]": true, "[2001:db8::1]:9464": true, "localhost": true, "": true,
			"evil.example": false, "evil.example:9464": false, "10.0.0.1.evil.example": false,
		}},
		{"10.0.0.1:9464", "db.internal:9464", map[string]bool{"DB.internal.:9464": true, "10.0.0.1": true, "evil.example": false, "x.db.internal": false}},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.addr)
		if err != nil {
			t.Fatal(err)
		}
		gate := server.NewOpsGate(addr, c.name)
		for host, want := range c.hosts {
			if err := gate.Refuse(&http.Request{Host: host}); (err == nil) != want {
				t.Errorf("at %s %s, the host %q: %v, want it to be answered: %t", c.addr, c.name, host, err, want)
			}
		}
	}
}

func TestOpsAddress(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if o, err := (&opsFlags{OpsAddr: "off"}).listen(0, log); o != nil || err != nil {
		t.Errorf("off: %v, %v", o, err)
	}
	if _, err := (&opsFlags{OpsAddr: "nowhere"}).listen(0, log); err == nil || !strings.Contains(err.Error(), "--ops-addr") {
		t.Errorf("nowhere: %v", err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if o, err := (&opsFlags{OpsAddr: taken.Addr().String()}).listen(0, log); err == nil {
		o.stop()
		t.Error("an address that is in use was no error, though it was asked for")
	}
}
