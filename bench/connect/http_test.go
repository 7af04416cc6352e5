package connect

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// A connection is usable for the next response after any that is well-formed.
func TestHTTPResponses(t *testing.T) {
	for _, c := range []struct {
		name, response string
		status         int
		size           int64
		want           error
	}{
		{"length", "HTTP/1.1 200 OK\r\nVary: x\r\ncontent-LENGTH: 3\r\n\r\nabc", 200, 3, nil},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0, nil},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, 0, nil},
		{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, 0, nil},
		{"chunks", "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", 401, 13, nil},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", 0, 0, errBadResponse},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", 0, 0, errBadResponse},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 200, 0, errBadResponse},
		{"bad version", "HTTP/2.0 200 OK\r\n\r\n", 0, 0, errBadResponse},
		{"bad status", "HTTP/1.1 OKAY\r\n\r\n", 0, 0, errBadResponse},
		{"not HTTP", "hello\r\n", 0, 0, errBadResponse},
		{"broken off", "HTTP/1.1 200 OK\r\nContent-Le", 0, 0, io.ErrUnexpectedEOF},
		{"nothing", "", 0, 0, io.EOF},
	} {
		server, client := net.Pipe()
		go func() {
			_, _ = io.CopyN(io.Discard, server, 3)
			_, _ = io.WriteString(server, c.response+"HTTP/1.1 204 Next\r\n\r\n"[:map[bool]int{true: 21}[c.want == nil]])
			server.Close()
		}()
		h := &HTTPConn{client, bufio.NewReader(client)}
		status, size, err := h.Do([]byte("GET"))
		if !errors.Is(err, c.want) || c.want == nil && (status != c.status || size != c.size) {
			t.Errorf("%s: status %d, %d bytes, %v; want %d, %d, %v", c.name, status, size, err, c.status, c.size, c.want)
		}
		if line, err := h.br.ReadString('\n'); c.want == nil && (err != nil || !strings.Contains(line, "Next")) {
			t.Errorf("%s: followed by %q, %v, want the next response", c.name, line, err)
		}
		h.Close()
	}
}

func TestRequestHead(t *testing.T) {
	for _, c := range []struct{ url, ns, query, want string }{
		{"http://h:1", "", "", "GET /a.json HTTP/1.1\r\nHost: h:1\r\n\r\n"},
		{"https://h", "x y", "", "GET /a.json?ns=x+y HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"http://h", "n", "shallow=true", "GET /a.json?shallow=true&ns=n HTTP/1.1\r\nHost: h\r\n\r\n"},
	} {
		if got := GetRequest(Target{URL: c.url, Namespace: c.ns}, "/a", c.query); got != c.want {
			t.Errorf("request to %s: %q, want %q", c.url, got, c.want)
		}
	}
}

func TestTargetAddress(t *testing.T) {
	for _, c := range []struct {
		url, addr string
		secure    bool
	}{
		{"http://h:9000", "h:9000", false}, {"http://h", "h:80", false}, {"https://h", "h:443", true}, {"https://[::1]:8", "[::1]:8", true},
		{"ftp://h", "", false}, {"h:9000", "", false}, {"http://", "", false},
	} {
		addr, secure, err := Target{URL: c.url}.address()
		if addr != c.addr || secure != c.secure || (err == nil) != (c.addr != "") {
			t.Errorf("address of %s: %q, %v, %v, want %q, %v", c.url, addr, secure, err, c.addr, c.secure)
		}
	}
	if got, want := (Target{Namespace: "n"}).socketResource(), "/.ws?v=5&ns=n"; got != want {
		t.Errorf("socketResource() = %s, want %s", got, want)
	}
}
