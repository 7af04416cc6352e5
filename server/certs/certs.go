// Package certs gets the certificates of a server from an authority by the ACME protocol,
// keeps them in files, and renews them.
//
// A [Certs] works in the background, one host after the other. A handshake only looks up the
// certificates in memory: strangers cannot make it ask the authority, which has bounds of its own for that.
// In contrast, autocert of golang.org/x/crypto gets a certificate while the first client of a
// host waits.
//
// A host goes through: no certificate, or the one from its file; due, at once or after two thirds
// of its life; obtained and saved, or tried again later. The old one is used meanwhile.
package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// LetsEncrypt is the directory of the authority that is asked unless Options name another.
const LetsEncrypt = acme.LetsEncryptURL

// MaxHosts is how many hosts a server can have certificates for.
const MaxHosts = 100

// Times of getting a certificate. An authority such as Let's Encrypt lets a host fail five
// times in an hour. The waits double from firstRetry and then stay at lastRetry: attempts that fail
// at once are after 0, 2, 6, 14, 30 and 62 minutes, then 122 and so on.
const (
	attemptTime = 5 * time.Minute // of one attempt for one host, with all its requests
	firstRetry  = 2 * time.Minute
	lastRetry   = time.Hour
)

// Options say which certificates to get, and where from.
type Options struct {
	Hosts     []string // a certificate for each
	Email     string   // where the authority writes to; "" for nowhere
	Directory string   // URL of the authority; "" is LetsEncrypt
	Dir       string   // where keys and certificates are kept; it is made with mode 0700

	// HTTP says that Challenges answers on port 80 of the hosts. Otherwise the authority has
	// to connect to port 443.
	HTTP bool

	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
	Client *http.Client     // that asks the authority; nil: http.DefaultClient
}

// Certs are the certificates of a server.
//
// One goroutine may call Run or Renew; all else may be called by any number of them at once.
// hosts never changes after New, so it is read without a lock. No lock is held while the authority
// is asked, and mu and a host's mu are never held together.
type Certs struct {
	o      Options
	client *acme.Client
	hosts  []*host // as in Options, the first one for clients that name none

	registered bool // the authority knows the account; of Renew

	mu     sync.Mutex                  // guards proofs and tokens, which are empty but for an attempt
	proofs map[string]*tls.Certificate // by host, for tls-alpn-01
	tokens map[string]string           // by path, for http-01
}

// A host is one name and its certificate.
type host struct {
	name string // as CheckHost returns it

	mu   sync.Mutex       // guards cert
	cert *tls.Certificate // with its Leaf; nil: there is none yet. It is replaced, never changed

	failures int       // since the last success; of Renew
	retry    time.Time // not before this; zero: nothing was tried; of Renew
}

// New reads the account and the certificates that are kept, and makes an account key if there
// is none. It connects to no authority, so a server starts while the authority is down. An
// error means that a name or a file is not as it must be, and the server should not start.
func New(o Options) (*Certs, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Directory == "" {
		o.Directory = LetsEncrypt
	}
	if len(o.Hosts) > MaxHosts {
		return nil, fmt.Errorf("%d hosts are more than %d", len(o.Hosts), MaxHosts)
	}
	c := &Certs{o: o, proofs: make(map[string]*tls.Certificate), tokens: make(map[string]string)}
	for _, name := range o.Hosts {
		ascii, err := CheckHost(name)
		if err != nil {
			return nil, err
		}
		c.hosts = append(c.hosts, &host{name: ascii})
	}
	if err := durable.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	key, err := c.accountKey()
	if err != nil {
		return nil, err
	}
	c.client = &acme.Client{Key: key, DirectoryURL: o.Directory, HTTPClient: o.Client, UserAgent: "dogwood", RetryBackoff: backoff}
	for _, h := range c.hosts {
		if h.cert, err = c.load(h.name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// maxRequestRetries bounds how often one request to the authority is sent again.
const maxRequestRetries = 5

// backoff says when a request that failed is sent again: soon, since the usual reason is a
// nonce that was used up, and a few times, since renew tries again as a whole. n is 1 at first, so
// the waits are 200 ms, 400 ms and so on, some 6 s in all. -1 ends the request.
func backoff(n int, _ *http.Request, _ *http.Response) time.Duration {
	if n > maxRequestRetries {
		return -1
	}
	return 100 * time.Millisecond << n
}

var fullName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
})

// CheckHost returns a name as it is in certificates, or an error if an authority gives none for
// it by the proofs of this package. Only the form is checked, not whether the
// name leads to this server: the authority finds that out.
func CheckHost(name string) (string, error) {
	ascii := strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case net.ParseIP(name) != nil:
		return "", fmt.Errorf("%s is an address: a name is needed", name)
	case strings.HasPrefix(name, "*"):
		return "", fmt.Errorf("%s: a certificate for all names needs a proof in the DNS, which is not supported; name each host", name)
	case !fullName().MatchString(ascii) || len(ascii) > 253:
		return "", fmt.Errorf("%q is not the full name of a host, such as db.example.org; one with other letters is written as in the DNS, xn--…", name)
	}
	return ascii, nil
}

// TLSConfig returns what a server speaks. It chooses a configuration for each handshake: a client
// that offers acme-tls/1 and nothing else is the authority and gets a proof, never the certificate.
// All others never see a proof, which is self-signed. NextProtos of plain is empty, so there is
// no HTTP/2.
func (c *Certs) TLSConfig() *tls.Config {
	plain := &tls.Config{GetCertificate: c.certificate, MinVersion: tls.VersionTLS12}
	proving := &tls.Config{GetCertificate: c.proof, NextProtos: []string{acme.ALPNProto}, MinVersion: tls.VersionTLS12}
	top := plain.Clone()
	top.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if len(hello.SupportedProtos) == 1 && hello.SupportedProtos[0] == acme.ALPNProto {
			return proving, nil
		}
		return plain, nil
	}
	return top
}

// certificate is a tls.Config's GetCertificate. A client that names no host, such as one that
// has only the address, gets that of the first one.
func (c *Certs) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	for _, h := range c.hosts {
		if name != "" && h.name != name {
			continue
		}
		if cert := h.current(); cert != nil {
			return cert, nil
		}
		return nil, fmt.Errorf("there is no certificate for %s yet", h.name)
	}
	return nil, errors.New("no certificate is for the host that the client wants")
}

func (h *host) current() *tls.Certificate {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cert
}

// Expiry returns until when the certificates are valid, by host. Hosts without one have the
// zero time.
func (c *Certs) Expiry() map[string]time.Time {
	all := make(map[string]time.Time, len(c.hosts))
	for _, h := range c.hosts {
		all[h.name] = time.Time{}
		if cert := h.current(); cert != nil {
			all[h.name] = cert.Leaf.NotAfter
		}
	}
	return all
}

// Run gets certificates and renews them until ctx ends. The server must be reachable meanwhile,
// since the authority connects to it. Failures are logged and tried again; it never gives up.
func (c *Certs) Run(ctx context.Context) {
	for {
		next := c.Renew(ctx)
		wait := time.NewTimer(max(next.Sub(c.o.Now()), time.Second))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}

// lookAgain is how long Run waits at most, since clocks are set and machines sleep.
const lookAgain = 6 * time.Hour

// Renew gets the certificates that are due now, and returns when to call it again. Calls must
// not overlap. Hosts take turns, so a host waits while those before it are tried, for attemptTime
// each at most. A failure of one does not keep the others back.
func (c *Certs) Renew(ctx context.Context) (next time.Time) {
	next = c.o.Now().Add(lookAgain)
	for _, h := range c.hosts {
		due := h.due()
		if now := c.o.Now(); !due.After(now) && ctx.Err() == nil {
			c.renew(ctx, h)
			due = h.due()
		}
		if due.Before(next) {
			next = due
		}
	}
	return next
}

// due returns when a certificate is to be got: after two thirds of the life of the one there
// is, and not before a failure is to be tried again.
func (h *host) due() (at time.Time) {
	if cert := h.current(); cert != nil {
		life := cert.Leaf.NotAfter.Sub(cert.Leaf.NotBefore)
		at = cert.Leaf.NotAfter.Add(-life / 3)
	}
	if h.retry.After(at) {
		at = h.retry
	}
	return at
}

// renew gets one certificate. A failure leaves the old one in use. The new one is used before it
// is saved: if the disk is full, the server still has it, and only the next start does not.
func (c *Certs) renew(ctx context.Context, h *host) {
	attempt, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	began := time.Now()
	cert, err := c.obtain(attempt, h.name)
	if err == nil {
		h.mu.Lock()
		h.cert = cert
		h.mu.Unlock()
		h.failures, h.retry = 0, c.o.Now().Add(lastRetry) // if the clock is ahead, it is due already
		c.o.Log.InfoContext(ctx, "got a certificate", "host", h.name, "until", cert.Leaf.NotAfter.UTC(), "took", time.Since(began).Round(time.Millisecond))
		if err := c.save(h.name, cert); err != nil {
			c.o.Log.ErrorContext(ctx, "a certificate cannot be kept: the next start gets another one", "host", h.name, "err", err)
		}
		return
	}
	if ctx.Err() != nil {
		return // the server stops
	}
	wait := lastRetry
	if h.failures < 5 {
		wait = firstRetry << h.failures
	}
	h.failures++
	h.retry = c.o.Now().Add(wait)
	args := []any{"host", h.name, "authority", c.o.Directory, "retry", wait, "err", err}
	if cert := h.current(); cert != nil {
		args = append(args, "valid_until", cert.Leaf.NotAfter.UTC())
	}
	c.o.Log.ErrorContext(ctx, "there is no new certificate", args...)
}
