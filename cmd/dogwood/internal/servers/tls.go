package servers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// tlsFlags let a server speak TLS itself.
type tlsFlags struct {
	TLSCert string `group:"TLS" name:"tls-cert" help:"Certificate, with its chain, in PEM: the server then speaks TLS and nothing else. It is read again when it changes." type:"path" placeholder:"FILE"`
	TLSKey  string `group:"TLS" name:"tls-key" help:"Private key of --tls-cert." type:"path" placeholder:"FILE"`

	acmeFlags

	certificate *certificate // nil: none in files
}

// tlsConfig returns nil if the server is to speak plain HTTP.
func (f *tlsFlags) tlsConfig(data string, log *slog.Logger) (*tls.Config, error) {
	files := f.TLSCert != "" || f.TLSKey != ""
	if files && len(f.ACMEHost) > 0 {
		return nil, errors.New("--acme-host gets certificates, and --tls-cert has one: use one of the two")
	}
	if err := f.open(data, log); err != nil {
		return nil, err
	}
	if f.certs != nil {
		return f.certs.TLSConfig(), nil
	}
	if !files {
		return nil, nil
	}
	if f.TLSCert == "" || f.TLSKey == "" {
		return nil, errors.New("--tls-cert and --tls-key belong together")
	}
	f.certificate = &certificate{certFile: f.TLSCert, keyFile: f.TLSKey}
	if err := f.certificate.reload(); err != nil {
		return nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return &tls.Config{GetCertificate: f.certificate.get, MinVersion: tls.VersionTLS12}, nil
}

// A certificate is read from its files, again when they were replaced.
type certificate struct {
	certFile, keyFile string

	mu     sync.Mutex
	seen   [2]time.Time // modification times of what was read
	loaded *tls.Certificate
}

// get is a tls.Config's GetCertificate. While new files do not fit together,
// because one of them is yet to be replaced, the old ones serve.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen := c.modified(); seen != c.seen {
		_ = c.load(seen) // it is tried again at the next handshake
	}
	return c.loaded, nil
}

// expiry returns until when the certificate is valid, by the first host that it is for.
func (c *certificate) expiry() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	leaf := c.loaded.Leaf
	host := leaf.Subject.CommonName
	if len(leaf.DNSNames) > 0 {
		host = leaf.DNSNames[0]
	}
	return map[string]time.Time{host: leaf.NotAfter}
}

// reload reads the files now. After an error, those read before serve.
func (c *certificate) reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.load(c.modified())
}

// load reads the files. mu is held.
func (c *certificate) load(seen [2]time.Time) error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil {
		c.loaded, c.seen = &pair, seen
	}
	return err
}

func (c *certificate) modified() [2]time.Time {
	return [2]time.Time{modified(c.certFile), modified(c.keyFile)}
}

func modified(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
