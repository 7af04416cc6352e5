package servers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// tlsFlags let a server speak TLS itself.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" help:"Certificate, with its chain, in PEM: the server then speaks TLS and nothing else. It is read again when it changes." type:"path" placeholder:"FILE"`
	TLSKey  string `name:"tls-key" help:"Private key of --tls-cert." type:"path" placeholder:"FILE"`

	certificate *certificate // nil: plain HTTP
}

// config returns nil if the server is to speak plain HTTP.
func (f *tlsFlags) config() (*tls.Config, error) {
	if f.TLSCert == "" && f.TLSKey == "" {
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
