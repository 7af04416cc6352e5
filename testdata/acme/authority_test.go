package acme

import (
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

const host = "db.example.test"

// An authority is an ACME server in this process. Every name in its DNS is this machine.
type authority struct {
	directory string         // URL
	roots     *x509.CertPool // of the certificates that it issues
	caFile    string         // that its own address is trusted by
	client    *http.Client   // that trusts it
	orders    atomic.Int64
	broken    atomic.Bool // it answers nothing
}

// newAuthority starts an authority that connects to hosts on these ports in place of 80 and 443.
func newAuthority(t *testing.T, httpPort, tlsPort int) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	quiet := log.New(io.Discard, "", 0)
	nameServer := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
	names, err := challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{nameServer}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	names.SetDefaultDNSIPv4("127.0.0.1")
	names.SetDefaultDNSIPv6("")
	go names.Run()
	t.Cleanup(names.Shutdown)

	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {ValidityPeriod: 90 * 24 * 3600}})
	checks := va.New(quiet, httpPort, tlsPort, false, nameServer, store)
	front := wfe.New(quiet, store, checks, issuer, []string{"pebble.example.test"}, false, false, 1, 1)
	a := new(authority)
	handler := front.Handler()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.broken.Load() {
			http.Error(w, "broken", http.StatusForbidden)
			return
		}
		if r.URL.Path == "/order-plz" {
			a.orders.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	a.directory = server.URL + wfe.DirectoryPath
	a.client = server.Client()
	a.caFile = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(a.caFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	a.roots = x509.NewCertPool()
	a.roots.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	return a
}

// freePort returns a port that nothing listens on.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
