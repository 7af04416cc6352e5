// Package servertest runs a Dogwood server in memory for the tests of programs
// that use one, as net/http/httptest does for HTTP:
//
//	func TestMine(t *testing.T) {
//		s := servertest.New(t, servertest.Options{})
//		s.SetRules(`{"rules": {".read": true, ".write": "auth.uid == 'ana'"}}`)
//		s.Set("/rooms/one/name", `"Lobby"`)
//		run(s.URL, servertest.Token("ana", nil)) // "http://127.0.0.1:41237?ns=test"
//		if got := s.Get("/rooms/one/name"); got != `"Lounge"` { … }
//	}
package servertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server"
)

// Namespace is the database that a Server's URL and methods use. Others are
// made when they are first asked for.
const Namespace = "test"

// Options adjust a Server. The zero value is an empty database in memory with
// open rules, as "dogwood dev" runs it.
type Options = server.Options

// A Server is a running server that ends with its test.
type Server struct {
	*server.Server
	URL  string // of the database, for SDKs: http://127.0.0.1:PORT?ns=test
	Host string // 127.0.0.1:PORT

	t testing.TB
}

// logged is the environment variable with which databases are in files with a log, for the
// tests of Dogwood itself (make freeze).
const logged = "DOGWOOD_LOGGED"

// New starts a server on a free port of the loopback address. It is drained
// when the test ends; what does not end well fails the test.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	o.Dev = true
	if o.DefaultNamespace == "" {
		o.DefaultNamespace = Namespace
	}
	if os.Getenv(logged) != "" && o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := server.New(o)
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("servertest: %v", err)
		}
	})
	host := l.Addr().String()
	return &Server{Server: s, URL: "http://" + host + "?ns=" + Namespace, Host: host, t: t}
}

// Get returns the value at a path as JSON, "null" if there is none. No rules apply
// to it.
func (s *Server) Get(path string) string {
	s.t.Helper()
	return s.do(http.MethodGet, path, "")
}

// Set replaces the value at a path by JSON; "null" removes it. No rules apply to
// it.
func (s *Server) Set(path, json string) {
	s.t.Helper()
	s.do(http.MethodPut, path, json)
}

func (s *Server) do(method, path, body string) string {
	s.t.Helper()
	url := fmt.Sprintf("http://%s/%s.json?ns=%s", s.Host, strings.Trim(path, "/"), Namespace)
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("servertest: %v", err)
	}
	req.Header.Set("Authorization", "Bearer owner") // to whom no rules apply
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("servertest: %v", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("servertest: %s %s: %s %s %v", method, path, res.Status, answer, err)
	}
	return string(answer)
}
