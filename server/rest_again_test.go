package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestLargeReadsOfAdministrators: a read that begins again, since it is not brief, is that of
// the same caller: no rules apply to an administrator.
func TestLargeReadsOfAdministrators(t *testing.T) {
	s := serveTest(t, Options{Namespaces: []string{"a"}, AdminSecrets: []string{"secret"}, DefaultNamespace: "a"})
	large := `"` + strings.Repeat("x", 300_000) + `"`
	s.record(call{http.MethodPut, "/large.json?auth=secret&print=silent", nil, large}, http.StatusNoContent)
	for _, path := range []string{"/large.json?", "/.json?", "/.json?orderBy=%22$key%22&limitToFirst=1&"} {
		r := s.do(call{http.MethodGet, path + "auth=secret", nil, ""})
		if r.StatusCode != http.StatusOK || !strings.Contains(r.body, large) {
			t.Errorf("%s: %d %.100s", path, r.StatusCode, r.body)
		}
		if r := s.do(call{http.MethodGet, path, nil, ""}); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s of nobody: %d", path, r.StatusCode)
		}
	}
}
