package client

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

func newTestClient(t *testing.T, f Flags) *Client {
	t.Helper()
	c, err := f.Client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientURL(t *testing.T) {
	for _, test := range []struct{ server, ns, path, want string }{
		{"http://localhost:9000", "", "/", "http://localhost:9000/.json"},
		{"localhost:9000", "", "", "http://localhost:9000/.json"},
		{"https://db.example.org/", "", "rooms//lobby/", "https://db.example.org/rooms/lobby.json"},
		{"http://example.org/base/", "", "/a", "http://example.org/base/a.json"},
		{"http://[::1]:9000?ns=demo", "", "/a", "http://[::1]:9000/a.json?ns=demo"},
		{"http://localhost?ns=demo", "shop", "/a", "http://localhost/a.json?ns=shop"},
		{"http://localhost", "", "/a b/ü/?&#%", "http://localhost/a%20b/%C3%BC/%3F&%23%25.json"},
		{"http://localhost", "", "/.settings/rules", "http://localhost/.settings/rules.json"},
	} {
		c := newTestClient(t, Flags{URL: test.server, Namespace: test.ns})
		if got := c.url(test.path, nil); got != test.want {
			t.Errorf("%s at %s ns %q = %s, want %s", test.path, test.server, test.ns, got, test.want)
		}
	}
}

func TestClientAddsTheNamespaceToAQuery(t *testing.T) {
	c := newTestClient(t, Flags{URL: "localhost", Namespace: "shop"})
	q := url.Values{"orderBy": {`"$key"`}}
	if got, want := c.url("/a", q), "http://localhost/a.json?ns=shop&orderBy=%22%24key%22"; got != want {
		t.Errorf("url = %s, want %s", got, want)
	}
	if len(q) != 1 {
		t.Errorf("the caller's query became %v", q)
	}
}

// Errors of servers that do not answer {"error":…}.
func TestErrorText(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`{"error" : "Permission denied"}`, "Permission denied"},
		{"append .json to your request URI\n", "append .json to your request URI"},
		{"<html><body>Bad Gateway</body></html>", "the server answered 502 Bad Gateway"},
		{"", "the server answered 502 Bad Gateway"},
		{`{"error": {"code": 5}}`, `{"error": {"code": 5}}`},
		{"a\x1b[2Jb\nc", `a\u001b[2Jb c`},
	} {
		resp := &http.Response{Status: "502 Bad Gateway", Body: io.NopCloser(strings.NewReader(test.body))}
		if got := errorText(resp); got != test.want {
			t.Errorf("errorText(%q) = %q, want %q", test.body, got, test.want)
		}
	}
}

// An error about an address says which one to write instead.
func TestUnreachable(t *testing.T) {
	refused := &url.Error{Op: "Get", Err: syscall.ECONNREFUSED}
	unknown := &url.Error{Op: "Get", Err: x509.UnknownAuthorityError{}}
	for _, c := range []struct {
		address string
		err     error
		want    string
	}{
		{"http://db.example:9000", refused, `no server at http://db.example:9000; start one with "dogwood dev", or name another with --url`},
		{"db.example", refused, "no server at http://db.example, which is port 80; name the port with --url, such as http://db.example:9000"},
		{"https://db.example", refused, "no server at https://db.example, which is port 443; name the port with --url, such as https://db.example:9000"},
		{"https://db.example", unknown, "https://db.example: x509: certificate signed by unknown authority; if the certificate is your own, name its file in the environment variable SSL_CERT_FILE"},
	} {
		base, err := ParseURL(c.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Client{base: base}).unreachable(t.Context(), c.err).Error(); got != c.want {
			t.Errorf("%s: %q, want %q", c.address, got, c.want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.1.2.3": true, "::1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "example.org": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("isLoopback(%q) = %v, want %v", host, got, want)
		}
	}
}
