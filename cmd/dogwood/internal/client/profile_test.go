package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/profile"
)

// The secret of a profile goes to its own server: not to where that redirects, be it
// another port of the same host, and not to any other address.
func TestSecretsOfProfilesStayHome(t *testing.T) {
	t.Setenv("DOGWOOD_SECRET", "")
	t.Setenv("DOGWOOD_URL", "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	var got string
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "1")
	}))
	defer away.Close()
	var home *httptest.Server
	atHome := ""
	home = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		atHome = r.Header.Get("Authorization")
		http.Redirect(w, r, away.URL+"/x.json", http.StatusTemporaryRedirect)
	}))
	defer home.Close()
	err := profile.Change(func(all map[string]profile.Profile) error {
		all["shop"] = profile.Profile{URL: home.URL, Secret: "sesame"}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(f Flags) {
		t.Helper()
		c := newTestClient(t, f)
		r, err := c.Request(t.Context(), http.MethodGet, "/x", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, atHome = "never asked", ""
		if err := c.Call(r, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	ask(Flags{Profile: "shop"}.Given(map[string]bool{"profile": true}))
	if atHome != "Bearer sesame" || got != "" {
		t.Errorf("home got %q, the target of a redirect %q", atHome, got)
	}
	ask(Flags{Profile: "shop", URL: away.URL}.Given(map[string]bool{"url": true}))
	if got != "" {
		t.Errorf("another address got %q", got)
	}
	t.Setenv("DOGWOOD_URL", away.URL)
	ask(Flags{Profile: "shop", URL: away.URL})
	if got != "" {
		t.Errorf("the address of the environment got %q", got)
	}
	file, err := profile.File()
	if err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.part*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
