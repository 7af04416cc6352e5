package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

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
		code, _, stderr := runCommand(t, "", append([]string{"set", "/here", "--url", source.URL}, args...)...)
		if code != 0 {
			t.Errorf("set %q = %d: %s", args, code, stderr)
		}
		if want := "PUT /there.json [1]"; got != want {
			t.Errorf("set %q requested %q, want %q", args, got, want)
		}
	}

	code, _, stderr := runCommand(t, "[1]", "set", "/here", "--url", source.URL)
	if code != 1 {
		t.Errorf("set from a stream = %d, want 1", code)
	}
	if want := "the database is at " + target.URL + "/there.json\n"; !strings.HasSuffix(stderr, want) {
		t.Errorf("set from a stream: %q, want …%q", stderr, want)
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
			code, stdout, stderr := runCommand(t, "", append(args, "--url", s.URL)...)
			want := "dogwood: " + s.URL + " does not answer as a Dogwood server does: is the port right? --url names another\n"
			if code != 1 || stdout != "" || stderr != want {
				t.Errorf("%s: %q = %d, %q, %q", name, args, code, stdout, stderr)
			}
		}
	}
}

// jsonToWrites answers JSON to what asks for an answer of 204 and no body, and HTML to the rest.
func jsonToWrites(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Query().Get("print") == "silent" {
		w.Header().Set("Content-Type", "application/json")
	}
	io.WriteString(w, `{"ok":true}`)
}

// An answer that breaks off leaves the file as it was.
func TestGetThatBreaksOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"a":`) // the client sees what is missing
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "out.json")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runCommand(t, "", "get", "/", "--url", s.URL, "-o", file)
	if code != 1 {
		t.Errorf("get = %d, want 1", code)
	}
	if want := "dogwood: the answer broke off: unexpected EOF\n"; stderr != want {
		t.Errorf("get: %q, want %q", stderr, want)
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
	code, _, stderr := runCommand(t, "", "get", "/", "--url", "http://"+host)
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if want := "; the server speaks TLS; write --url https://" + host + "\n"; !strings.HasSuffix(stderr, want) {
		t.Errorf("%q, want …%q", stderr, want)
	}
}

// A silentTransport is a host that accepts a part of what is sent to it and never answers.
type silentTransport struct{}

func (silentTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = r.Body.Read(make([]byte, 1))
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Each command says that it waits, and ends.
func TestSilentHost(t *testing.T) {
	t.Setenv("DOGWOOD_SECRET", "")
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = silentTransport{}
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, []byte(`{"rules":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const reading = "is the port right? If it is, try again later"
	const writing = "is the port right? The change may still take effect: look before you try again"
	for _, c := range []struct {
		args    string
		minutes int
		advice  string
	}{
		{"get /x", 1, reading},
		{"set /x 1", 1, writing},
		{"update /x {}", 1, writing},
		{"push /x 1", 1, writing},
		{"remove /x --force", 1, writing},
		{"rules deploy " + file, 1, writing},
		{"rules history", 1, reading},
		{"watch /x", 1, reading},
		{"top", 1, reading},
		{"export /", 60, reading},
		{"backup -", 60, reading},
		{"explain /", 60, reading},
		{"import / " + file + " --force", 60, writing},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			code, _, log := runCommand(t, "", append(strings.Fields(c.args), "--url", "silent:9000")...)
			if took := time.Since(began); code != 1 || took != time.Duration(c.minutes)*time.Minute {
				t.Errorf("%s = %d after %v: %s", c.args, code, took, log)
			}
			notices := "dogwood: still waiting for http://silent:9000 (5s)\ndogwood: still waiting for http://silent:9000 (35s)\n"
			if !strings.HasPrefix(log, notices) {
				t.Errorf("%s: %s", c.args, log)
			}
			after := time.Duration(c.minutes) * time.Minute
			if want := fmt.Sprintf("\ndogwood: http://silent:9000: no answer for %v; %s\n", after, c.advice); !strings.HasSuffix(log, want) {
				t.Errorf("%s: %s, want …%s", c.args, log, want)
			}
		})
	}
}

// runCommand runs a command in this process.
func runCommand(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(&console.Env{Ctx: t.Context(), Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs}, args)
	return code, out.String(), errs.String()
}
