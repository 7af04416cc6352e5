package front

import (
	"net/http"
	"strings"
	"testing"
)

func TestWanted(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                   false,
		"*/*":                                false,
		"text/*":                             false,
		"application/json, text/plain, */*":  false,
		"application/json":                   false,
		"text/event-stream":                  false,
		"text/htmlx":                         false,
		"text/html;q=0":                      false,
		"text/html; q=0.000, */*":            false,
		"text/html":                          true,
		"Text/HTML;level=1":                  true,
		"application/json, text/html; q=0.1": true,
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": true,
	} {
		if got := Wanted(http.Header{"Accept": {accept}}); got != want {
			t.Errorf("Accept: %s: %t, want %t", accept, got, want)
		}
	}
	if !Wanted(http.Header{"Accept": {"*/*", "text/html"}}) {
		t.Error("the second Accept header is not read")
	}
	if Wanted(http.Header{}) {
		t.Error("a request without Accept gets the page")
	}
}

// The host comes from the client.
func TestHostIsNotRepeatedBlindly(t *testing.T) {
	p := New(Options{Dev: true})
	for host, want := range map[string]string{
		"127.0.0.1:9100":          "'http://127.0.0.1:9100/hello.json'",
		"[::1]:9000":              "'http://[::1]:9000/hello.json'",
		`a"><script>x()</script>`: "'http://localhost:9000/hello.json'",
		"a' ; rm":                 "'http://localhost:9000/hello.json'",
		"":                        "'http://localhost:9000/hello.json'",
		strings.Repeat("a", 300):  "'http://localhost:9000/hello.json'",
	} {
		body := string(p.For(host))
		if !strings.Contains(body, want) || strings.Contains(body, hostMark) || strings.Contains(body, "<script") {
			t.Errorf("host %.40q: page %s, want %s in it", host, body, want)
		}
	}
}

func TestPages(t *testing.T) {
	const demo, command, try = `href="/demo/"`, "dogwood dev --sample chat", "curl"
	for _, c := range []struct {
		o      Options
		has    []string
		hasNot []string
	}{
		{Options{Dev: true}, []string{command, try}, []string{demo}},
		{Options{Dev: true, Demo: true}, []string{demo, try}, []string{command}},
		{Options{}, nil, []string{demo, command, try, "development", "shop.example"}},
	} {
		body := string(New(c.o).For("shop.example"))
		for _, text := range append(c.has, "<h1>Dogwood</h1>", Docs, "dogwood docs") {
			if !strings.Contains(body, text) {
				t.Errorf("%+v: no %q in %s", c.o, text, body)
			}
		}
		for _, text := range c.hasNot {
			if strings.Contains(body, text) {
				t.Errorf("%+v: %q in %s", c.o, text, body)
			}
		}
		if len(body) > 4<<10 {
			t.Errorf("%+v: %d bytes, want at most 4 KiB", c.o, len(body))
		}
	}
}

// The policy allows the style that is in the page as it is.
func TestPolicyAllowsTheStyle(t *testing.T) {
	body := string(New(Options{}).For(""))
	_, rest, _ := strings.Cut(body, "<style>")
	in, _, _ := strings.Cut(rest, "</style>")
	h := http.Header{}
	SetHeaders(h)
	policy := h.Get("Content-Security-Policy")
	if !strings.Contains(policy, "style-src 'sha256-"+hash(in)+"'") || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %s does not fit the style", policy)
	}
}
