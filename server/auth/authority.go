package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// DefaultSkew is by how much the clocks of those who make tokens may differ from
// ours.
const DefaultSkew = time.Minute

// Options say what an Authority believes. The zero value believes nothing.
type Options struct {
	Dev     bool     // believe any bearer token and tokens that nobody signed, for good
	Secrets []Secret // of administrators
	DataDir string   // with service accounts and revocations; "" has none

	KeySets   []string      // files and addresses of key sets (JWKS) for ID tokens
	Issuers   []string      // of ID tokens
	Audiences []Audience    // that ID tokens must be for
	Skew      time.Duration // 0: DefaultSkew

	Now       func() time.Time  // nil: time.Now
	Log       *slog.Logger      // nil discards
	Transport http.RoundTripper // to addresses of key sets; nil: http.DefaultTransport
}

// An Audience is what the aud of a token says when it is for a database.
type Audience struct {
	Name      string
	Namespace string // "": all databases
}

// An Authority decides whom credentials stand for. Its methods may be called by
// several goroutines at once.
type Authority struct {
	opts     Options
	secrets  secrets
	keys     []keySource
	accounts Accounts
	revoked  Revocations
	access   accessKey
}

// New returns an Authority. It makes a key for access tokens in the data
// directory if there is none.
func New(o Options) (*Authority, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.setDefaults()
	a := &Authority{
		opts:     o,
		secrets:  newSecrets(o.Secrets),
		accounts: AccountsOf(o.DataDir),
		revoked:  RevocationsOf(o.DataDir),
	}
	var err error
	if a.access, err = loadAccessKey(o.DataDir); err != nil {
		return nil, fmt.Errorf("key of access tokens: %w", err)
	}
	for _, place := range o.KeySets {
		source, err := newKeySource(place, o)
		if err != nil {
			a.Close()
			return nil, fmt.Errorf("keys of ID tokens: %w", err)
		}
		a.keys = append(a.keys, source)
	}
	return a, nil
}

// check refuses to believe the tokens that an issuer made for others.
func (o *Options) check() error {
	switch {
	case len(o.KeySets) == 0 && len(o.Issuers)+len(o.Audiences) > 0:
		return errors.New("an issuer or audience of ID tokens is given, but no keys to verify them with")
	case len(o.KeySets) > 0 && (len(o.Issuers) == 0 || len(o.Audiences) == 0):
		return errors.New("the keys of ID tokens need an issuer and an audience: without them, tokens that were made for others would be accepted")
	case slices.Contains(o.Issuers, "") || slices.ContainsFunc(o.Audiences, func(a Audience) bool { return a.Name == "" }):
		return errors.New("an issuer or audience of ID tokens is empty")
	}
	return nil
}

func (o *Options) setDefaults() {
	if o.Skew == 0 {
		o.Skew = DefaultSkew
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Close ends what New began.
func (a *Authority) Close() {
	for _, k := range a.keys {
		k.close()
	}
}

// Bearer returns whom an administrator's credential stands for in a namespace,
// "" for the server as a whole: a secret or an access token.
func (a *Authority) Bearer(ns, text string) (Identity, error) {
	if text == "" {
		return Identity{}, ErrInvalid
	}
	if a.opts.Dev || a.secrets.match(ns, text) {
		return admin, nil
	}
	g, ok := a.access.read(text)
	if !ok {
		return Identity{}, ErrInvalid
	}
	id := Identity{Admin: true, Expires: time.Unix(g.Expires, 0), account: g.Account, key: g.Key}
	return id, a.Check(ns, id)
}

// Token returns whom a user's token stands for in a namespace. A secret stands
// for an administrator here, too.
func (a *Authority) Token(ns, text string) (Identity, error) {
	if text != "" && a.secrets.match(ns, text) {
		return admin, nil
	}
	t, err := parseToken(text)
	if err != nil {
		return Identity{}, err
	}
	if a.opts.Dev {
		return t.claims.devIdentity()
	}
	id, err := a.verified(ns, t)
	issued, expires, when := t.claims.lifetime(a.opts.Now(), a.opts.Skew)
	if err == nil || when == ErrExpired { // which is no secret, whoever signed it
		err = when
	}
	if err != nil {
		return Identity{}, err
	}
	id.Expires = expires
	if id.since, _ = t.claims.time("auth_time"); id.since.IsZero() {
		id.since = issued
	}
	return id, a.Check(ns, id)
}

// verified returns whom a token stands for if whoever signed it may say so.
func (a *Authority) verified(ns string, t token) (Identity, error) {
	switch t.alg() {
	case "HS256":
		if !a.secrets.signed(ns, t) || !a.isFor(ns, t.claims, ns) {
			return Identity{}, ErrInvalid
		}
		return t.claims.secretIdentity()
	case "RS256", "ES256":
		if !isAccount(t.claims.Text("iss")) {
			return a.byKeySet(ns, t)
		}
		account, err := a.accounts.byEmail(t.claims.Text("iss"))
		switch {
		case errors.Is(err, ErrNoSuch):
			return Identity{}, ErrInvalid
		case err != nil:
			return Identity{}, a.broken(err)
		}
		return a.byAccount(ns, t, account)
	}
	return Identity{}, ErrInvalid
}

// customAudience is what the Admin SDKs say custom tokens are for.
const customAudience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

// byAccount returns whom a custom token stands for that a service account
// signed.
func (a *Authority) byAccount(ns string, t token, by *Account) (Identity, error) {
	if _, named := t.claims["aud"]; !named || !by.signed(t) || !covers(by.Namespaces, ns) || !a.isFor(ns, t.claims, ns, customAudience) {
		return Identity{}, ErrInvalid
	}
	id, err := t.claims.customIdentity()
	id.account, id.key = by.Name, by.Key
	return id, err
}

// byKeySet returns whom an ID token stands for.
func (a *Authority) byKeySet(ns string, t token) (Identity, error) {
	kid, err := t.kid()
	if err != nil {
		return Identity{}, err
	}
	key, ok := a.findKey(kid, t.alg())
	if !ok {
		return Identity{}, ErrUnknownKid
	}
	_, expires := t.claims["exp"]
	_, issued := t.claims["iat"]
	_, named := t.claims["aud"]
	if !t.verify(key) || !expires || !issued || !named ||
		!slices.Contains(a.opts.Issuers, t.claims.Text("iss")) || !a.isFor(ns, t.claims) {
		return Identity{}, ErrInvalid
	}
	return t.claims.idIdentity()
}

func (a *Authority) findKey(kid, alg string) (any, bool) {
	for _, source := range a.keys {
		if key, ok := source.find(kid, alg); ok {
			return key, true
		}
	}
	return nil, false
}

// isFor reports whether the aud of a token, if it has one, says that it is for a
// namespace: by an audience that was configured, or one of others.
func (a *Authority) isFor(ns string, c Claims, others ...string) bool {
	if _, named := c["aud"]; !named {
		return true
	}
	return slices.ContainsFunc(c.strings("aud"), func(name string) bool {
		return name != "" && slices.Contains(others, name) ||
			slices.Contains(a.opts.Audiences, Audience{name, ""}) ||
			slices.Contains(a.opts.Audiences, Audience{name, ns})
	})
}

// Check decides again about an identity that was accepted for a namespace. Its
// token may have expired or was revoked, its service account may be gone.
func (a *Authority) Check(ns string, id Identity) error {
	if !id.Expires.IsZero() && !a.opts.Now().Before(id.Expires) {
		return ErrExpired
	}
	if a.opts.Dev {
		return nil
	}
	if id.account != "" {
		account, err := a.accounts.Find(id.account)
		switch {
		case errors.Is(err, ErrNoSuch):
			return ErrExpired
		case err != nil:
			return a.broken(err)
		case account.Key != id.key:
			return ErrExpired
		case !covers(account.Namespaces, ns):
			return ErrInvalid
		}
	}
	before, err := a.revoked.find(id.uid())
	if err != nil {
		return a.broken(err)
	}
	if id.since.Before(before) && id.Auth != nil {
		return ErrExpired
	}
	return nil
}

// broken says that a credential cannot be decided, for reasons that are ours:
// it is refused.
func (a *Authority) broken(err error) error {
	a.opts.Log.Error("a credential cannot be decided", "err", err)
	return ErrInvalid
}
