package profiles_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/server/profiles"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestProfiles(t *testing.T) {
	s := httptest.NewServer(profiles.Handler())
	defer s.Close()
	get := func(path string, code int) []byte {
		t.Helper()
		r, err := http.Get(s.URL + profiles.Root + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != code {
			t.Fatalf("%s: %d, %v: %.200s", path, r.StatusCode, err, body)
		}
		return body
	}
	for path, part := range map[string]string{
		"": "goroutine", "goroutine?debug=1": "goroutine profile", "heap?debug=1&gc=1": "heap profile", "cmdline": ".test\x00",
	} {
		if body := string(get(path, 200)); !strings.Contains(body, part) {
			t.Errorf("%s: %q", path, body)
		}
	}
	for _, path := range []string{"heap", "profile?seconds=0.05"} {
		if z, err := gzip.NewReader(bytes.NewReader(get(path, 200))); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if _, err := io.Copy(io.Discard, z); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if body := get("trace?seconds=0.05", 200); !bytes.HasPrefix(body, []byte("go 1.")) {
		t.Errorf("trace: %.20q", body)
	}
	get("nosuch", 404)
	get("heap?seconds=1", 400)
	for _, seconds := range []string{"0", "-1", "x", "NaN", "301", "1e300"} {
		get("profile?seconds="+seconds, 400)
	}
}
