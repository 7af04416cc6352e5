package peer

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
)

func TestClientAddress(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name   string
		header string
		peer   string
		values []string
		want   string
	}{
		{"direct", HeaderForwardedFor, "203.0.113.9:4711", nil, "203.0.113.9"},
		{"direct with a forged header", HeaderForwardedFor, "203.0.113.9:4711", []string{"198.51.100.1"}, "203.0.113.9"},
		{"one proxy", HeaderForwardedFor, "10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"one proxy and a forged address", HeaderForwardedFor, "10.0.0.1:80", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1"},
		{"forged in a field of its own", HeaderForwardedFor, "10.0.0.1:80", []string{"127.0.0.1", "198.51.100.1"}, "198.51.100.1"},
		{"two proxies", HeaderForwardedFor, "10.0.0.1:80", []string{"1.1.1.1, 198.51.100.1,10.0.0.2"}, "198.51.100.1"},
		{"proxies only", HeaderForwardedFor, "10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"no header", HeaderForwardedFor, "10.0.0.1:80", nil, "10.0.0.1"},
		{"garbage", HeaderForwardedFor, "10.0.0.1:80", []string{"198.51.100.1, junk"}, "10.0.0.1"},
		{"garbage beyond the client", HeaderForwardedFor, "10.0.0.1:80", []string{"junk, 198.51.100.1"}, "198.51.100.1"},
		{"empty", HeaderForwardedFor, "10.0.0.1:80", []string{""}, "10.0.0.1"},
		{"with a port", HeaderForwardedFor, "10.0.0.1:80", []string{"198.51.100.1:5555"}, "198.51.100.1"},
		{"IPv6", HeaderForwardedFor, "[fd00::1]:80", []string{"2001:db8::7"}, "2001:db8::7"},
		{"IPv6 with a port", HeaderForwardedFor, "[fd00::1]:80", []string{"[2001:db8::7]:99"}, "2001:db8::7"},
		{"mapped IPv4", HeaderForwardedFor, "[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"the other header", headerForwarded, "10.0.0.1:80", []string{`for=1.1.1.1, for=198.51.100.1;proto=https`}, "198.51.100.1"},
		{"quoted IPv6", headerForwarded, "10.0.0.1:80", []string{`For="[2001:db8::7]:99"`}, "2001:db8::7"},
		{"without a port", headerForwarded, "10.0.0.1:80", []string{`proto=http; for="[2001:db8::7]"`}, "2001:db8::7"},
		{"hidden", headerForwarded, "10.0.0.1:80", []string{`for=_secret`}, "10.0.0.1"},
		{"a quote that is left open", headerForwarded, "10.0.0.1:80", []string{`for="1.1.1.1, for=198.51.100.1`}, "198.51.100.1"},
		{"a pipe", HeaderForwardedFor, "pipe", []string{"198.51.100.1"}, "invalid IP"},
	} {
		p := proxies{trusted, c.header}
		got := p.client(peerOf(c.peer), http.Header{c.header: c.values})
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAccountOf(t *testing.T) {
	for addr, want := range map[string]string{
		"198.51.100.1":          "198.51.100.1",
		"2001:db8:1:2:3:4:5:6":  "2001:db8:1:2::",
		"2001:db8:1:2:ff::1":    "2001:db8:1:2::",
		"2001:db8:1:3:3:4:5:6":  "2001:db8:1:3::",
		"::ffff:198.51.100.200": "198.51.100.200",
	} {
		if got := keyOf(cleanAddr(netip.MustParseAddr(addr))).String(); got != want {
			t.Errorf("keyOf(%s) = %s, want %s", addr, got, want)
		}
	}
}

func FuzzHops(f *testing.F) {
	f.Add("a, b", "c")
	f.Add(`for="[::1]:80";proto=x, for=_x`, ",")
	f.Fuzz(func(t *testing.T, a, b string) {
		trusted := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
		near := netip.MustParseAddr("198.51.100.1")
		for _, header := range []string{HeaderForwardedFor, headerForwarded} {
			value := near.String()
			if header == headerForwarded {
				value = "for=" + value
			}
			all := proxies{trusted, header}
			all.client(near, http.Header{header: {a, b}}) // walks all the way
			// Whatever a client writes, it does not change what the proxy adds.
			one := proxies{trusted[1:], header}
			peer := netip.MustParseAddr("2001:db8::1")
			for _, values := range [][]string{{a, b, value}, {a, b + ", " + value}} {
				if got := one.client(peer, http.Header{header: values}); got != near {
					t.Errorf("%s %q: %s, want %s", header, slices.Clip(values), got, near)
				}
			}
		}
	})
}
