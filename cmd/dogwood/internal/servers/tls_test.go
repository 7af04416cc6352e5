package servers

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writePair writes a new certificate and its key, and returns it in DER.
func writePair(t *testing.T, certFile, keyFile string, at time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(at.Unix()), DNSNames: []string{"localhost"}, NotAfter: at.Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}

// A certificate that is replaced is used without a restart, but not while only
// half of the pair is there.
func TestCertificateIsReplaced(t *testing.T) {
	dir := t.TempDir()
	cert, key, other := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "other.pem")
	first := writePair(t, cert, key, time.Now().Add(-time.Hour))
	config, err := (&tlsFlags{TLSCert: cert, TLSKey: key}).tlsConfig(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, want []byte) {
		t.Helper()
		got, err := config.GetCertificate(nil)
		if err != nil || !bytes.Equal(got.Certificate[0], want) {
			t.Errorf("%s: another certificate, %v", when, err)
		}
	}
	want("at first", first)
	second := writePair(t, cert, other, time.Now())
	want("half replaced", first)
	if err := os.Rename(other, key); err != nil {
		t.Fatal(err)
	}
	want("replaced", second)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	want("gone", second)
}
