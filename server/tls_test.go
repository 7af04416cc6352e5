package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
)

// serveTLS serves on a real socket, until shutdown.
func serveTLS(t *testing.T, o Options) *testServer {
	t.Helper()
	o.TLS = &tls.Config{Certificates: []tls.Certificate{certificateTest(t)}}
	return serveSocket(t, o)
}

// TestSilentTLSClient: the handshake has its time, too.
func TestSilentTLSClient(t *testing.T) {
	tier.Need(t, tier.Full)
	t.Parallel()
	o := shortWaits(Options{Dev: true})
	ts := serveTLS(t, o)
	defer ts.shutdown()
	began := time.Now()
	conn, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := cutWithin(conn, "no handshake", began, o.waits.headers); err != nil {
		t.Error(err)
	}
}

// Requests over TLS are served, heads have their bounds there, and one who speaks plain HTTP
// is told so.
func TestTLS(t *testing.T) {
	ts := serveTLS(t, Options{Dev: true})
	defer ts.shutdown()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	for range 2 { // on one connection
		r, err := client.Get("https://" + ts.addr + "/x.json?ns=test")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || string(body) != "null" || r.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%d %s with %v", r.StatusCode, body, r.Header)
		}
	}
	q, _ := http.NewRequest("GET", "https://"+ts.addr+"/x.json?ns=test", nil)
	for range peer.MaxHeadLines {
		q.Header.Add("A", "b")
	}
	wants := func(about string, q *http.Request, status int) {
		t.Helper()
		r, err := client.Do(q)
		if err != nil {
			t.Fatalf("%s: %v", about, err)
		}
		defer r.Body.Close()
		if r.StatusCode != status {
			t.Errorf("%s: status %d, want %d", about, r.StatusCode, status)
		}
	}
	wants("too many headers", q, http.StatusRequestHeaderFieldsTooLarge)
	q, _ = http.NewRequest("GET", "http://"+ts.addr+"/x.json", nil)
	wants("plain HTTP", q, 400)
}

// TestNoHandshakeInExcess: one connection too many of an address is closed before its handshake,
// which costs more than any refusal.
func TestNoHandshakeInExcess(t *testing.T) {
	certificate := certificateTest(t)
	synctest.Test(t, func(t *testing.T) {
		tn := townOf(t, Options{
			Dev: true, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
			Limits: Limits{PerAddress: AddressLimits{Connections: 1}},
		})
		defer tn.shutdown()
		for i, want := range []error{os.ErrDeadlineExceeded, io.EOF} {
			c, err := tn.dialFrom(t.Context(), "198.51.100.1")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			synctest.Wait()
			c.SetReadDeadline(time.Now().Add(headerTimeout / 2))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("connection %d that waits for its handshake: %v, want %v", i+1, err, want)
			}
		}
		tn.wantRefused(t, metrics.AddressConnections, 1)
	})
}

// A handshake counts while it is unfinished, and must not be long.
func TestHandshakesAreBounded(t *testing.T) {
	o := Options{Dev: true}
	o.PerAddress.Exempt = []netip.Prefix{}
	ts := serveTLS(t, o)
	defer ts.shutdown()
	hello := "\x16\x03\x01\x40\x00" + "\x01\x00\xf0\x00" + strings.Repeat("x", 16<<10-4) // the first record of a long ClientHello
	conn, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, hello)
	held := func() int64 { return ts.all.Bodies.Meter().Used() }
	waitFor(t, "the handshake to count", func() bool { return held() >= 16<<10 })
	record := "\x16\x03\x01\x40\x00" + strings.Repeat("x", 16<<10)
	io.WriteString(conn, record)
	conn.SetDeadline(time.Now().Add(headerTimeout / 2))
	if _, err := io.Copy(io.Discard, conn); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("a handshake of more than %d bytes goes on: %v", peer.MaxHandshake, err)
	}
	waitFor(t, "the handshake to be given back", func() bool { return held() == 0 })
}

func certificateTest(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestFailedHandshakesAreLogged: many of them make few lines.
func TestFailedHandshakesAreLogged(t *testing.T) {
	certificate := certificateTest(t)
	synctest.Test(t, func(t *testing.T) {
		out := new(console)
		tn := townOf(t, Options{
			Dev: true, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
			Log: slog.New(slog.NewTextHandler(out, nil)),
		})
		defer tn.shutdown()
		for range 3 * observe.LineBurst {
			c, err := tn.dialFrom(t.Context(), "198.51.100.1")
			if err != nil {
				t.Fatal(err)
			}
			go io.WriteString(c, "no handshake")
			synctest.Wait()
			c.Close()
		}
		synctest.Wait()
		if n := strings.Count(out.String(), `msg="TLS handshake failed" remote=198.51.100.1:4711 `); n != observe.LineBurst {
			t.Errorf("%d lines, want %d", n, observe.LineBurst)
		}
	})
}
