package docsite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

func TestHandler(t *testing.T) {
	site := fstest.MapFS{
		"index.html":        {Data: []byte("home")},
		"404.html":          {Data: []byte("lost")},
		"rest.html":         {Data: []byte("rest")},
		"models/index.html": {Data: []byte("models")},
		"assets/app.1a.js":  {Data: []byte("app")},
	}
	for _, c := range []struct {
		method, path string
		status       int
		body, cache  string
	}{
		{"GET", "/", 200, "home", "no-cache"},
		{"GET", "/rest", 200, "rest", "no-cache"},
		{"GET", "/rest.html", 200, "rest", "no-cache"},
		{"GET", "/models/", 200, "models", "no-cache"},
		{"GET", "/assets/app.1a.js", 200, "app", "max-age=31536000, immutable"},
		{"GET", "/nowhere", 404, "lost", ""},
		{"GET", "/models", 404, "lost", ""},
		{"GET", "/../rest.html", 404, "lost", ""},
		{"GET", "//rest.html", 404, "lost", ""},
		{"POST", "/", 405, "the documentation can only be read\n", ""},
	} {
		w := httptest.NewRecorder()
		Handler(site).ServeHTTP(w, &http.Request{Method: c.method, URL: httptest.NewRequest("GET", "http://docs"+c.path, nil).URL})
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Cache-Control") != c.cache {
			t.Errorf("%s %s: %d %q, cache %q", c.method, c.path, w.Code, w.Body, w.Header().Get("Cache-Control"))
		}
	}
}

// TestBuiltSite: a program that has the site serves its pages, within the size that belongs
// into a binary. One without it says how to get it.
func TestBuiltSite(t *testing.T) {
	site, err := Site()
	if err != nil {
		if !errors.Is(err, ErrMissing) || os.Getenv("DOGWOOD_SITE") != "" {
			t.Fatal(err)
		}
		run := Command{}.Run(&console.Env{Ctx: t.Context(), Stdout: io.Discard})
		if !errors.Is(run, ErrMissing) || !strings.Contains(run.Error(), "make site build") {
			t.Errorf("docs without pages: %v", run)
		}
		return
	}
	if text, _ := built.ReadFile("built/site.zip"); len(text) > 2_000_000 {
		t.Errorf("the site takes %d bytes; at most 2,000,000 belong into the binary", len(text))
	}
	for _, page := range []string{"/", "/start", "/rest.html", "/models/", "/cli"} {
		w := httptest.NewRecorder()
		Handler(site).ServeHTTP(w, httptest.NewRequest("GET", page, nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), "Dogwood") {
			t.Errorf("%s: %d", page, w.Code)
		}
	}
}

// TestCommandEnds: the command ends with its context.
func TestCommandEnds(t *testing.T) {
	if _, err := Site(); err != nil {
		t.Log(err) // TestBuiltSite has seen to that
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	var printed bytes.Buffer
	cancel()
	if err := (Command{}).Run(&console.Env{Ctx: ctx, Stdout: &printed}); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
