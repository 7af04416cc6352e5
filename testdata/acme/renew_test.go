package acme

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/server/certs"
)

// A site is a server with certificates whose clock is the test's.
type site struct {
	t     *testing.T
	now   time.Time
	log   bytes.Buffer
	o     certs.Options
	certs *certs.Certs
	addr  string
	roots *authority
}

func newSite(t *testing.T) *site {
	t.Helper()
	port := freePort(t)
	s := &site{t: t, now: time.Now(), addr: fmt.Sprintf("127.0.0.1:%d", port)}
	s.roots = newAuthority(t, freePort(t), port)
	s.o = certs.Options{Hosts: []string{host}, Directory: s.roots.directory, Dir: filepath.Join(t.TempDir(), "acme"), Client: s.roots.client,
		Log: slog.New(slog.NewTextHandler(&s.log, nil)), Now: func() time.Time { return s.now }}
	s.open()
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		return s.certs.TLSConfig().GetConfigForClient(hello)
	}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }}
	server := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	go server.Serve(tls.NewListener(l, config))
	t.Cleanup(func() { server.Close() })
	return s
}

// open reads the files, as a start does.
func (s *site) open() {
	s.t.Helper()
	var err error
	if s.certs, err = certs.New(s.o); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) renew() (next time.Duration) {
	return s.certs.Renew(s.t.Context()).Sub(s.now)
}

// shown returns the number of the certificate of a client that trusts the authority.
func (s *site) shown() (string, error) {
	c, err := tls.Dial("tcp", s.addr, &tls.Config{ServerName: host, RootCAs: s.roots.roots})
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func (s *site) want(t *testing.T) string {
	t.Helper()
	serial, err := s.shown()
	if err != nil {
		t.Fatalf("%v\n%s", err, &s.log)
	}
	return serial
}

// TestRenewal: a certificate is got once, kept, and renewed after two thirds of its life; while
// the authority fails, the old one stays, and the next tries are ever farther apart.
func TestRenewal(t *testing.T) {
	s := newSite(t)
	if _, err := s.shown(); err == nil {
		t.Error("there is a certificate before one was got")
	}
	s.renew()
	first := s.want(t)
	if until := s.certs.Expiry()[host]; until.Sub(s.now) < 89*24*time.Hour {
		t.Errorf("it is valid until %s", until)
	}
	asked := s.roots.orders.Load()
	if next := s.renew(); next <= 0 || s.roots.orders.Load() != asked || s.want(t) != first {
		t.Errorf("a certificate that is not due was got again; the next is due in %s", next)
	}

	s.open() // a restart
	if s.renew(); s.roots.orders.Load() != asked || s.want(t) != first {
		t.Error("a restart gets another certificate")
	}

	s.now = s.now.Add(61 * 24 * time.Hour)
	s.roots.broken.Store(true)
	var waits []time.Duration
	for range 7 {
		next := s.renew()
		waits = append(waits, next)
		if s.want(t) != first {
			t.Fatal("the old certificate is not used while the authority fails")
		}
		if s.renew(); s.want(t) != first {
			t.Fatal("it was tried again too soon")
		}
		s.now = s.now.Add(next)
	}
	if got := fmt.Sprint(waits); got != "[2m0s 4m0s 8m0s 16m0s 32m0s 1h0m0s 1h0m0s]" {
		t.Errorf("the authority was asked again after %s", got)
	}
	if n := strings.Count(s.log.String(), "there is no new certificate"); n != 7 {
		t.Errorf("the log has %d lines about 7 failures:\n%s", n, &s.log)
	}
	s.roots.broken.Store(false)
	s.renew()
	second := s.want(t)
	if second == first {
		t.Error("the certificate was not renewed")
	}
	if s.open(); s.want(t) != second {
		t.Error("the new certificate was not kept")
	}
}

// TestClockAhead: the clock is so far ahead that each certificate is due when it comes. They are
// ordered an hour apart all the same: an authority gives a host a few in a week.
func TestClockAhead(t *testing.T) {
	s := newSite(t)
	s.now = s.now.Add(70 * 24 * time.Hour)
	if next := s.renew(); next != time.Hour {
		t.Errorf("the next certificate is due in %s\n%s", next, &s.log)
	}
	asked, first := s.roots.orders.Load(), s.want(t)
	s.now = s.now.Add(time.Minute)
	if s.renew(); s.roots.orders.Load() != asked || s.want(t) != first {
		t.Error("another certificate was ordered a minute later")
	}
}

// TestFiles: keys are readable by the server alone, and a file that is no certificate is not
// replaced.
func TestFiles(t *testing.T) {
	s := newSite(t)
	s.renew()
	files, err := filepath.Glob(filepath.Join(s.o.Dir, "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range append(files, s.o.Dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", file, info.Mode().Perm())
		}
	}
	file := filepath.Join(s.o.Dir, host+".pem")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := certs.New(s.o); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is no certificate: %v", err)
	}
}

// TestForeignHosts: handshakes and requests for other names get nothing, and do not reach the
// authority.
func TestForeignHosts(t *testing.T) {
	s := newSite(t)
	s.renew()
	asked := s.roots.orders.Load()
	for _, c := range []*tls.Config{
		{ServerName: "other.example.test"},
		{ServerName: host, NextProtos: []string{"acme-tls/1"}}, // no proof is due
	} {
		c.InsecureSkipVerify = true
		if conn, err := tls.Dial("tcp", s.addr, c); err == nil {
			conn.Close()
			t.Errorf("%s %v: the handshake succeeds", c.ServerName, c.NextProtos)
		}
	}
	if conn, err := tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true, ServerName: "127.0.0.1"}); err != nil {
		t.Errorf("a client that has the address alone: %v", err)
	} else {
		conn.Close()
	}
	if s.roots.orders.Load() != asked {
		t.Error("a handshake asks the authority")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.now = s.now.Add(70 * 24 * time.Hour)
	if s.certs.Renew(ctx); strings.Contains(s.log.String(), "no new certificate") {
		t.Error("a server that stops logs a failure")
	}
}
