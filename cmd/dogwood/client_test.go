package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newTestClient(t *testing.T, f clientFlags) *client {
	t.Helper()
	c, err := f.client()
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
		c := newTestClient(t, clientFlags{URL: test.server, Namespace: test.ns})
		if got := c.url(test.path, nil); got != test.want {
			t.Errorf("%s at %s ns %q = %s, want %s", test.path, test.server, test.ns, got, test.want)
		}
	}
}

func TestClientAddsTheNamespaceToAQuery(t *testing.T) {
	c := newTestClient(t, clientFlags{URL: "localhost", Namespace: "shop"})
	q := url.Values{"orderBy": {`"$key"`}}
	if got, want := c.url("/a", q), "http://localhost/a.json?ns=shop&orderBy=%22%24key%22"; got != want {
		t.Errorf("url = %s, want %s", got, want)
	}
	if len(q) != 1 {
		t.Errorf("the caller's query became %v", q)
	}
}

// A redirect repeats a body that can be read again, as servers of a cluster ask
// for, and is an error that says where to go if the body is gone.
func TestClientFollowsRedirects(t *testing.T) {
	var got string
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + string(body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer target.Close()
	source := httptest.NewServer(http.RedirectHandler(target.URL+"/there.json", http.StatusTemporaryRedirect))
	defer source.Close()
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte("[1]"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"[1]"}, {file}, {"--data", "[1]"}} {
		got = ""
		var stderr strings.Builder
		e := &env{t.Context(), strings.NewReader(""), io.Discard, &stderr}
		if code := run(e, append([]string{"set", "/here", "--url", source.URL}, args...)); code != 0 {
			t.Errorf("set %q = %d: %s", args, code, stderr.String())
		}
		if want := "PUT /there.json [1]"; got != want {
			t.Errorf("set %q requested %q, want %q", args, got, want)
		}
	}

	var stderr strings.Builder
	e := &env{t.Context(), strings.NewReader("[1]"), io.Discard, &stderr}
	if code := run(e, []string{"set", "/here", "--url", source.URL}); code != 1 {
		t.Errorf("set from a stream = %d, want 1", code)
	}
	if want := "the database is at " + target.URL + "/there.json\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("set from a stream: %q, want …%q", stderr.String(), want)
	}
}

// What other servers say instead of {"error":…}.
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

// A server of another kind that answers 200 to everything has stored nothing.
func TestAnswersOfOtherServers(t *testing.T) {
	t.Setenv("DOGWOOD_SECRET", "")
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"rules":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(data, []byte(`1`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"HTML":           func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<h1>It works") },
		"nothing":        func(http.ResponseWriter, *http.Request) {},
		"JSON to writes": jsonToWrites,
	} {
		s := httptest.NewServer(answer)
		defer s.Close()
		for _, args := range [][]string{
			{"get", "/"}, {"get", "/", "-o", filepath.Join(t.TempDir(), "out")}, {"export", "/"}, {"backup", "-"},
			{"set", "/a", "1"}, {"update", "/a", `{"b":1}`}, {"push", "/a", "1"}, {"remove", "/a", "--force"},
			{"import", "/a", data, "--force"}, {"rules", "deploy", rules}, {"rules", "history"}, {"explain", "/a"},
			{"watch", "/a"}, {"top"},
		} {
			var stdout, stderr strings.Builder
			code := run(&env{t.Context(), strings.NewReader(""), &stdout, &stderr}, append(args, "--url", s.URL))
			want := "dogwood: " + s.URL + " does not answer as a Dogwood server does: is the port right? --url names another\n"
			if code != 1 || stdout.Len() > 0 || stderr.String() != want {
				t.Errorf("%s: %q = %d, %q, %q", name, args, code, stdout.String(), stderr.String())
			}
		}
	}
}

// jsonToWrites answers JSON to what asks for an answer of 204 and no body, and HTML to the rest.
func jsonToWrites(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Query().Get("print") == "silent" {
		w.Header().Set("Content-Type", typeJSON)
	}
	io.WriteString(w, `{"ok":true}`)
}

// An answer that breaks off leaves the file as it was.
func TestGetThatBreaksOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", typeJSON)
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"a":`) // the client sees what is missing
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "out.json")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	e := &env{t.Context(), strings.NewReader(""), io.Discard, &stderr}
	if code := run(e, []string{"get", "/", "--url", s.URL, "-o", file}); code != 1 {
		t.Errorf("get = %d, want 1", code)
	}
	if want := "dogwood: the answer broke off: unexpected EOF\n"; stderr.String() != want {
		t.Errorf("get: %q, want %q", stderr.String(), want)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "before" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(files) != 1 {
		t.Errorf("left behind: %q", files)
	}
}

// A server that speaks TLS is said to do so.
func TestClientWithoutTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	host := strings.TrimPrefix(server.URL, "https://")
	var stderr strings.Builder
	e := &env{t.Context(), strings.NewReader(""), io.Discard, &stderr}
	if code := run(e, []string{"get", "/", "--url", "http://" + host}); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if want := "; the server speaks TLS; write --url https://" + host + "\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("%q, want …%q", stderr.String(), want)
	}
}
