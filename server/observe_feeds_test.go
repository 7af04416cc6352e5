package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
)

// Administrators of one database cannot keep others from looking, and who is refused
// is told why.
func TestFeedShares(t *testing.T) {
	ts := serveTest(t, Options{
		Namespaces: []string{"a", "b"}, AdminSecrets: []string{"all"},
		Auth: auth.Options{Secrets: []auth.Secret{{Value: "of-a", Namespaces: []string{"a"}}, {Value: "of-b", Namespaces: []string{"b"}}}},
	})
	profile := func(ns, secret string) string { return pathProfile + "?ns=" + ns + "&access_token=" + secret }
	view := pathTop + "?access_token=all"
	refused := uint64(0)
	wantFull := func(target, why string) {
		t.Helper()
		refused++
		r := ts.do(call{"GET", target, http.Header{"Accept": {"text/event-stream"}}, ""})
		if r.StatusCode != 503 || r.Header.Get("Retry-After") == "" || !strings.Contains(r.body, why) {
			t.Errorf("GET %s: %d %v %s, want 503 with %q", target, r.StatusCode, r.Header, r.body, why)
		}
	}
	for range observe.MaxFeedsOf {
		defer ts.follow(profile("a", "of-a")).Close()
	}
	wantFull(profile("a", "of-a"), "4 profiles of this database are running")
	defer ts.follow(profile("a", "all")).Close()
	for range 2 {
		defer ts.follow(profile("b", "of-b")).Close()
	}
	wantFull(profile("b", "of-b"), "7 profiles are running; the last place is for administrators of the whole server.")
	defer ts.follow(view).Close()
	wantFull(view, "8 profiles are running; there can be no more")
	wantFull(profile("b", "of-b"), "8 profiles are running")
	if got := ts.metrics.Refused.Of(metrics.Profiles); got != refused {
		t.Errorf("%d refusals are counted, want %d", got, refused)
	}
}
