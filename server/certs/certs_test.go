package certs

import (
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"
)

func TestCheckHost(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"db.example.org", "db.example.org"},
		{"DB.Example.org.", "db.example.org"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"localhost", ""}, {"", ""}, {"*.example.org", ""}, {"10.0.0.1", ""}, {"::1", ""}, {"a..b", ""},
		{"-a.example.org", ""}, {"bücher.example", ""}, {"db.example.org:443", ""}, {"../../etc", ""}, {"a/b.c", ""},
		{strings.Repeat("a.", 130) + "org", ""},
	} {
		got, err := CheckHost(c.name)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v", c.name, got, err)
		}
	}
}

// TestWithoutCertificate: a handshake fails as long as there is none.
func TestWithoutCertificate(t *testing.T) {
	c, err := New(Options{Hosts: []string{"db.example.org"}, Dir: t.TempDir(), Directory: "https://127.0.0.1:1/", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, protocols := range [][]string{nil, {"http/1.1"}, {"acme-tls/1"}} {
		hello := &tls.ClientHelloInfo{ServerName: "db.example.org", SupportedProtos: protocols}
		config, err := c.TLSConfig().GetConfigForClient(hello)
		if err != nil {
			t.Fatal(err)
		}
		if cert, err := config.GetCertificate(hello); err == nil {
			t.Errorf("%v: %v", protocols, cert)
		}
	}
	if all := c.Expiry(); len(all) != 1 || !all["db.example.org"].IsZero() {
		t.Errorf("expiry %v", all)
	}
}
