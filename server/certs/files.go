package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// The files: a key for each authority, and for each host its key and its chain, in PEM. They
// have mode 0600. A file that cannot be read as such is an error and is not replaced: it may be
// the only copy of something else. Files are replaced as a whole, and key and chain are in one,
// so a crash never leaves a key that does not fit its certificate.
//
//	acme/account-5e76d31517ec.pem   the account key
//	acme/db.example.org.pem         the key, then the chain with the host's certificate first

// accountKey returns the key of the account with the authority, a new one at the first start. The
// authority knows an account by its key; if the file is lost, register makes another account.
func (c *Certs) accountKey() (crypto.Signer, error) {
	sum := sha256.Sum256([]byte(c.o.Directory)) // each authority has accounts of its own
	file := filepath.Join(c.o.Dir, fmt.Sprintf("account-%x.pem", sum[:6]))
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		text, err := encodeKey(key)
		if err != nil {
			return nil, err
		}
		return key, durable.Replace(file, text, 0o600)
	}
	if err != nil {
		return nil, err
	}
	key, _, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

func (c *Certs) file(name string) string { return filepath.Join(c.o.Dir, name+".pem") }

// load returns the certificate that is kept for a host, nil if there is none that is valid. One
// that has expired or is for another key is replaced by the next success; an error
// means a file that cannot be read or decoded.
func (c *Certs) load(name string) (*tls.Certificate, error) {
	text, err := os.ReadFile(c.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, chain, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.file(name), err)
	}
	cert, err := c.verified(name, &tls.Certificate{Certificate: chain, PrivateKey: key})
	if err != nil {
		c.o.Log.Warn("a certificate that is kept is of no use, so another one is got", "file", c.file(name), "err", err)
		return nil, nil
	}
	return cert, nil
}

// verified returns a certificate with its Leaf, if it is for the host and has not expired. Clients
// decide whether they trust the authority. NotBefore is not compared with the clock. The key is
// compared because the file or the authority may be wrong: no handshake would succeed.
func (c *Certs) verified(name string, cert *tls.Certificate) (*tls.Certificate, error) {
	if len(cert.Certificate) == 0 {
		return nil, errors.New("there is no certificate")
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return nil, err
	}
	if err := leaf.VerifyHostname(name); err != nil {
		return nil, err
	}
	key, ok := cert.PrivateKey.(*ecdsa.PrivateKey)
	if public, same := leaf.PublicKey.(*ecdsa.PublicKey); !ok || !same || !key.PublicKey.Equal(public) {
		return nil, errors.New("the certificate is for another key")
	}
	if now := c.o.Now(); now.After(leaf.NotAfter) {
		return nil, fmt.Errorf("it expired at %s", leaf.NotAfter.UTC())
	}
	cert.Leaf = leaf
	return cert, nil
}

// save keeps a certificate with its key.
func (c *Certs) save(name string, cert *tls.Certificate) error {
	text, err := encodeKey(cert.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return err
	}
	for _, der := range cert.Certificate {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return durable.Replace(c.file(name), text, 0o600)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// decode reads what encodeKey and save have written: a key, and behind it any number of
// certificates in DER. An account's file has none.
func decode(text []byte) (key crypto.Signer, chain [][]byte, err error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, nil, errors.New("no key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, nil, errors.New("not a key that signs")
	}
	for len(bytes.TrimSpace(rest)) > 0 {
		if block, rest = pem.Decode(rest); block == nil {
			return nil, nil, errors.New("more than certificates in PEM")
		}
		chain = append(chain, block.Bytes)
	}
	return key, chain, nil
}

// hostOf returns the host of a Host header as certificates have it.
func hostOf(hostport string) string {
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		hostport = h
	}
	return strings.TrimSuffix(strings.ToLower(hostport), ".")
}
