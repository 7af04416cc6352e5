package peer

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestRemoteOf(t *testing.T) {
	p := proxies{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, HeaderForwardedFor}
	for _, c := range []struct {
		name, peer, told string
		want             Remote
	}{
		{"no proxy", "198.51.100.1:5", "", Remote{"198.51.100.1:5", ""}},
		{"not a proxy", "198.51.100.1:5", "203.0.113.7", Remote{"198.51.100.1:5", ""}},
		{"a proxy", "10.0.0.1:5", "203.0.113.7", Remote{"203.0.113.7", "10.0.0.1:5"}},
		{"two proxies", "10.0.0.1:5", "203.0.113.7, 10.0.0.2", Remote{"203.0.113.7", "10.0.0.1:5"}},
		{"the proxy itself", "10.0.0.1:5", "", Remote{"10.0.0.1:5", ""}},
		{"a pipe", "pipe", "203.0.113.7", Remote{"pipe", ""}},
	} {
		r := httptest.NewRequest("GET", "/a.json", nil)
		r.RemoteAddr = c.peer
		if c.told != "" {
			r.Header.Set(HeaderForwardedFor, c.told)
		}
		if got := p.remoteOf(r); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
