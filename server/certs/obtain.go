package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/crypto/acme"
)

// The proofs that this server can give of a host being its own: by a handshake on port 443,
// and by a file on port 80.
const (
	proofTLS  = "tls-alpn-01"
	proofHTTP = "http-01"
)

// obtain gets a certificate with a new key: the account, an order for the name, a proof for each
// of its authorizations, then the certificate (RFC 8555, section 7). A key is never used for two
// certificates, so one that was stolen is of use only as long as its certificate is valid.
func (c *Certs) obtain(ctx context.Context, name string) (*tls.Certificate, error) {
	if err := c.register(ctx); err != nil {
		return nil, fmt.Errorf("account: %w", err)
	}
	order, err := c.client.AuthorizeOrder(ctx, acme.DomainIDs(name))
	if err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	for _, url := range order.AuthzURLs {
		if err := c.authorize(ctx, url, name); err != nil {
			return nil, err
		}
	}
	if order, err = c.client.WaitOrder(ctx, order.URI); err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{DNSNames: []string{name}}, key)
	if err != nil {
		return nil, err
	}
	chain, _, err := c.client.CreateCertFromOrder(ctx, order, request, true)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return c.verified(name, &tls.Certificate{Certificate: chain, PrivateKey: key})
}

// register has the authority know the account. Its terms are accepted: the flag that asks for
// certificates says so. An account that exists is no error: after a restart that is the usual
// answer, and the client learns its URL from it.
func (c *Certs) register(ctx context.Context) error {
	if c.registered {
		return nil
	}
	account := new(acme.Account)
	if c.o.Email != "" {
		account.Contact = []string{"mailto:" + c.o.Email}
	}
	_, err := c.client.Register(ctx, account, acme.AcceptTOS)
	if err != nil && !errors.Is(err, acme.ErrAccountAlreadyExists) {
		return err
	}
	c.registered = true
	return nil
}

// authorize proves that a host is ours. An authorization that is valid already, from an order not
// long ago, needs no proof. The proof is answered until the authority has decided.
func (c *Certs) authorize(ctx context.Context, url, name string) error {
	authorization, err := c.client.GetAuthorization(ctx, url)
	if err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	if authorization.Status == acme.StatusValid {
		return nil
	}
	challenge := c.pick(authorization.Challenges)
	if challenge == nil {
		return errors.New("the authority accepts neither of the proofs of this server: " + proofTLS + ", and " + proofHTTP + " with --acme-http")
	}
	withdraw, err := c.answer(challenge, name)
	if err != nil {
		return err
	}
	defer withdraw()
	if _, err := c.client.Accept(ctx, challenge); err != nil {
		return fmt.Errorf("%s: %w", challenge.Type, err)
	}
	if _, err := c.client.WaitAuthorization(ctx, url); err != nil {
		return fmt.Errorf("%s: the authority could not convince itself that this server is %s: %w", challenge.Type, name, err)
	}
	return nil
}

// pick returns the challenge to answer, nil if the authority offers none that this server can.
// Without Options.HTTP it is tls-alpn-01 only: it needs no second port.
func (c *Certs) pick(all []*acme.Challenge) *acme.Challenge {
	kinds := []string{proofTLS}
	if c.o.HTTP { // then port 80 was chosen, perhaps because a proxy has port 443
		kinds = []string{proofHTTP, proofTLS}
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(all, func(c *acme.Challenge) bool { return c.Type == kind }); i >= 0 {
			return all[i]
		}
	}
	return nil
}

// answer has a challenge answered until withdraw is called. Its caller must call it, or proofs and
// tokens grow. Both are ready when it returns, before the authority is told to look.
func (c *Certs) answer(challenge *acme.Challenge, name string) (withdraw func(), err error) {
	if challenge.Type == proofTLS {
		cert, err := c.client.TLSALPN01ChallengeCert(challenge.Token, name)
		if err != nil {
			return nil, err
		}
		c.set(func() { c.proofs[name] = &cert })
		return func() { c.set(func() { delete(c.proofs, name) }) }, nil
	}
	text, err := c.client.HTTP01ChallengeResponse(challenge.Token)
	if err != nil {
		return nil, err
	}
	path := c.client.HTTP01ChallengePath(challenge.Token)
	c.set(func() { c.tokens[path] = text })
	return func() { c.set(func() { delete(c.tokens, path) }) }, nil
}

// set changes proofs or tokens.
func (c *Certs) set(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// proof is the GetCertificate of a handshake by which the authority convinces itself.
func (c *Certs) proof(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cert := c.proofs[hello.ServerName]; cert != nil {
		return cert, nil
	}
	return nil, errors.New("no proof is due for the host that the client wants")
}

// Challenges returns the handler for port 80. It answers the authority, and redirects browsers
// that were given a URL without https. port is that of TLS. It redirects to hosts of this server
// only: the Host header is a text of the client, and could lead anywhere. It refuses
// writes: a redirect would hide from the client that it sends them in clear text.
func (c *Certs) Challenges(port string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		token, proves := c.tokens[r.URL.Path]
		c.mu.Unlock()
		host := hostOf(r.Host)
		switch {
		case proves:
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write([]byte(token)) // an error means that the authority left
		case !c.has(host):
			http.Error(w, "this server has no such host", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "use https", http.StatusForbidden) // what was sent was readable on the way
		default:
			if port != "443" {
				host += ":" + port
			}
			http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), http.StatusPermanentRedirect)
		}
	})
}

func (c *Certs) has(name string) bool {
	return slices.ContainsFunc(c.hosts, func(h *host) bool { return h.name == name })
}
