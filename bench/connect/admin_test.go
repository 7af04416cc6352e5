package connect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLooksAtTheDatabaseFirst: nothing is loaded unless the database is there and empty,
// and the error says what to do.
func TestLooksAtTheDatabaseFirst(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   error
		text   string
	}{
		{200, "null", nil, ""},
		{200, `{"a":true}`, errNotEmpty, "--force"},
		{404, `{"error":"404 Not Found"}`, errNoDatabase, "--namespace"},
		{401, `{"error":"Permission denied"}`, nil, "401 Unauthorized: Permission denied"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		err := NewAdmin(Target{URL: server.URL, Namespace: "bench"}).wantEmpty(t.Context())
		server.Close()
		switch {
		case test.text == "" && err != nil, test.text != "" && err == nil:
			t.Errorf("%d %s: %v", test.status, test.body, err)
		case test.want != nil && !errors.Is(err, test.want), err != nil && !strings.Contains(err.Error(), test.text):
			t.Errorf("%d %s: %v", test.status, test.body, err)
		}
	}
}
