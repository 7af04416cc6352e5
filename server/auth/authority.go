package auth

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// linePause is the least time between two lines of the log about the same trouble: clients that
// send many tokens cannot fill it.
const linePause = 10 * time.Second

// DefaultSkew is by how much the clocks of those who make tokens may differ from
// ours.
const DefaultSkew = time.Minute

// Options say what an Authority believes. The zero value believes nothing.
type Options struct {
	Dev     bool     // believe any bearer token and unsigned tokens, for good
	Secrets []Secret // of administrators
	DataDir string   // with service accounts and revocations; "" has none

	Providers []Provider    // of ID tokens
	Skew      time.Duration // 0: DefaultSkew

	Now       func() time.Time  // nil: time.Now
	Log       *slog.Logger      // nil discards
	Transport http.RoundTripper // to addresses of key sets; nil: http.DefaultTransport
}

// An Authority decides whom credentials stand for. Its methods may be called by
// several goroutines at once.
//
// Its options do not change, but for the secrets, which are replaced as a whole
// (atomic), and the keys of providers, which have a schedule of their own.
// Files of accounts and revocations are read for each question instead of being
// kept: they are few and small, the system caches them, and a revocation holds
// from the moment that its file is there.
type Authority struct {
	opts      Options
	secrets   atomic.Pointer[secrets]
	sources   map[string]keySource // by their places
	providers []provider
	audiences []Audience // of all providers
	accounts  Accounts
	revoked   Revocations
	access    accessKey
	warnOpen  sync.Once      // of a development server's openness
	undecided rate.Sometimes // lines of the log about what cannot be decided
}

// New returns an Authority. It makes a key for access tokens in the data
// directory if there is none.
func New(o Options) (*Authority, error) {
	o.setDefaults()
	a := &Authority{
		opts:     o,
		sources:  make(map[string]keySource),
		accounts: AccountsOf(o.DataDir),
		revoked:  RevocationsOf(o.DataDir),

		undecided: rate.Sometimes{Interval: linePause},
	}
	a.SetSecrets(o.Secrets)
	var err error
	if a.access, err = loadAccessKey(o.DataDir); err != nil {
		return nil, fmt.Errorf("key of access tokens: %w", err)
	}
	for _, p := range o.Providers {
		if err := a.add(p); err != nil {
			a.Close()
			return nil, fmt.Errorf("%w: %w", ErrKeySet, err)
		}
	}
	return a, nil
}

// ErrKeySet is wrapped by what is wrong with a key set (JWKS).
var ErrKeySet = errors.New("keys of ID tokens")

// add makes a provider believed. Providers with the same key set share it.
func (a *Authority) add(p Provider) error {
	if err := p.check(); err != nil {
		return err
	}
	keys := a.sources[p.KeySet]
	if keys == nil {
		var err error
		if keys, err = newKeySource(p.KeySet, a.opts); err != nil {
			return err
		}
		a.sources[p.KeySet] = keys
	}
	a.providers = append(a.providers, provider{p, keys})
	a.audiences = append(a.audiences, p.Audiences...)
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
	for _, k := range a.sources {
		k.close()
	}
}

// SetSecrets replaces Options.Secrets. It holds for credentials that come later: a
// connection that has signed in stays so.
func (a *Authority) SetSecrets(list []Secret) {
	all := newSecrets(list)
	a.secrets.Store(&all)
}

// ReloadKeys reads the key sets of files again, and returns what is wrong with each of
// them, by its place: nil if it was read, else the keys before stay in use. Key sets at an
// address are asked for on their own schedule.
func (a *Authority) ReloadKeys() map[string]error {
	results := make(map[string]error)
	for place, source := range a.sources {
		if f, ok := source.(*keyFile); ok {
			results[place] = f.reload()
		}
	}
	return results
}

// Bearer returns whom an administrator's credential stands for in a namespace,
// "" for the server as a whole: a secret or an access token.
func (a *Authority) Bearer(ns, text string) (Identity, error) {
	if text == "" {
		return Identity{}, ErrInvalid
	}
	if text == devBearer && a.opts.Dev || a.secrets.Load().match(ns, text) {
		return admin, nil
	}
	g, ok := a.access.read(text)
	if a.opts.Dev {
		if !ok {
			a.warnOpen.Do(a.tellOpen)
		}
		return admin, nil
	}
	if !ok {
		return Identity{}, notRead(text)
	}
	id := Identity{Admin: true, Expires: time.Unix(g.Expires, 0), account: g.Account, key: g.Key}
	return id, a.Check(ns, id)
}

// notRead returns the error of a text that is neither secret nor token.
func notRead(text string) error {
	switch {
	case strings.TrimSpace(text) != text:
		return invalid("it has white space around it, such as the end of a line")
	case strings.HasPrefix(text, accessPrefix):
		return invalid("this server did not issue the access token")
	case strings.Count(text, ".") == 2:
		return invalid("a token of this kind is not accepted in this place")
	}
	return invalid("it is no secret for this database and no token")
}

// devBearer is what Admin SDKs send to a development server.
const devBearer = "owner"

// tellOpen has the log say that a development server takes any text for the credential of
// an administrator, which a program with a wrong one would not notice.
func (a *Authority) tellOpen() {
	a.opts.Log.Warn("a development server takes every Bearer token for that of an administrator; this one is unknown, and dogwood serve would refuse it")
}

// Token returns whom a user's token stands for in a namespace. A secret stands
// for an administrator here, too.
//
// The algorithm in the header decides which keys are tried, never the other way
// round. A token whose signature is right can still be refused: it may be for
// another database, not valid yet, expired or revoked.
func (a *Authority) Token(ns, text string) (Identity, error) {
	if text != "" && a.secrets.Load().match(ns, text) {
		return admin, nil
	}
	t, err := parseToken(text)
	if err != nil {
		return Identity{}, notRead(text)
	}
	if a.opts.Dev {
		return t.claims.devIdentity()
	}
	if strings.EqualFold(t.header.Text("alg"), "none") {
		return Identity{}, ErrUnsigned
	}
	id, err := a.verified(ns, t)
	issued, expires, when := t.claims.lifetime(a.opts.Now(), a.opts.Skew)
	if err == nil || when == ErrExpired { // which is no secret
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

// verified returns the identity in a token if its signer may vouch for it.
func (a *Authority) verified(ns string, t token) (Identity, error) {
	switch t.alg() {
	case "HS256":
		if !a.secrets.Load().signed(ns, t) {
			return Identity{}, invalid("no secret for this database signed it")
		}
		if !a.isFor(ns, t.claims, ns) {
			return Identity{}, invalid("its audience (aud) is not the database")
		}
		id, err := t.claims.secretIdentity()
		id.Debug = t.claims.asksFor("debug")
		return id, err
	case "RS256", "ES256":
		if !isAccount(t.claims.Text("iss")) {
			return a.byProvider(ns, t)
		}
		account, err := a.issuer(t)
		if err != nil {
			return Identity{}, err
		}
		return a.byAccount(ns, t, account)
	}
	return Identity{}, invalid("its algorithm (alg) is not accepted")
}

// issuer returns the service account that a token names as its issuer.
func (a *Authority) issuer(t token) (*Account, error) {
	account, err := a.accounts.byEmail(t.claims.Text("iss"))
	switch {
	case errors.Is(err, ErrNoSuch):
		return nil, invalid("there is no such service account")
	case err != nil:
		return nil, a.broken(err)
	}
	return account, nil
}

// customAudience is what the Admin SDKs say custom tokens are for.
const customAudience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

// byAccount returns whom a custom token stands for that a service account
// signed.
func (a *Authority) byAccount(ns string, t token, by *Account) (Identity, error) {
	_, named := t.claims["aud"]
	switch {
	case !by.signed(t):
		return Identity{}, invalid("the service account's key did not sign it")
	case !covers(by.Namespaces, ns):
		return Identity{}, errOtherDatabase
	case !named || !a.isFor(ns, t.claims, ns, customAudience):
		return Identity{}, invalid("its audience (aud) is neither that of custom tokens nor that of the database")
	}
	id, err := t.claims.customIdentity()
	id.account, id.key = by.Name, by.Key
	return id, err
}

// byProvider returns whom an ID token stands for.
func (a *Authority) byProvider(ns string, t token) (Identity, error) {
	if _, err := t.kid(); err != nil {
		return Identity{}, err
	}
	_, expires := t.claims["exp"]
	_, issued := t.claims["iat"]
	why := invalid("its issuer (iss) is not one of --issuer")
	known, asked := false, false
	for _, p := range a.providers {
		if p.Issuer != t.claims.Text("iss") {
			continue
		}
		key, ok := p.keys.find(t)
		switch {
		case !isFor(ns, t.claims, p.Audiences):
			why = invalid("its audience (aud) is not one of --audience")
		case !expires || !issued:
			why = invalid("it does not say from when or until when it is valid (iat, exp)")
		case !ok || !t.verify(key):
			why = invalid("the key that it names (kid) did not sign it")
		default:
			return t.claims.idIdentity()
		}
		known, asked = known || ok, true
	}
	if asked && !known {
		why = ErrUnknownKid
	}
	return Identity{}, why
}

var errOtherDatabase = invalid("the service account is not for this database")

// isFor reports whether the aud of a token that a secret or an account signed, if
// it has one, says that it is for a namespace: by an audience of a provider, or by
// one of others.
func (a *Authority) isFor(ns string, c Claims, others ...string) bool {
	if _, named := c["aud"]; !named {
		return true
	}
	return isFor(ns, c, a.audiences) || slices.ContainsFunc(c.strings("aud"), func(name string) bool {
		return name != "" && slices.Contains(others, name)
	})
}

// Check decides again about an identity that was accepted for a namespace. Its
// token may have expired (ErrExpired), it may have been revoked, or its service
// account may be gone (ErrRevoked, which is an ErrExpired, too). ErrUnavailable says
// that this is not known now. It needs no signature: the identity was accepted before,
// and only what can change is asked again.
func (a *Authority) Check(ns string, id Identity) error {
	if !id.Expires.IsZero() && !a.opts.Now().Before(id.Expires) {
		return ErrExpired
	}
	return a.CheckBegun(ns, id)
}

// Ended is Check for what an identity holds open. Where that cannot be decided, it goes on until
// the next look: a server that cannot open its files for a moment does not sign all its clients
// out.
func (a *Authority) Ended(ns string, id Identity) error {
	if err := a.Check(ns, id); !errors.Is(err, ErrUnavailable) {
		return err
	}
	return nil
}

// CheckBegun is Check for something that an identity began before it expired: it may have expired
// since, but not have been revoked.
func (a *Authority) CheckBegun(ns string, id Identity) error {
	if a.opts.Dev {
		return nil
	}
	if id.account != "" {
		account, err := a.accounts.Find(id.account)
		switch {
		case errors.Is(err, ErrNoSuch):
			return ErrRevoked
		case err != nil:
			return a.broken(err)
		case account.Key != id.key:
			return ErrRevoked
		case !covers(account.Namespaces, ns):
			return errOtherDatabase
		}
	}
	before, err := a.revoked.find(id.uid())
	if err != nil {
		return a.broken(err)
	}
	if id.since.Before(before) && id.Auth != nil {
		return ErrRevoked
	}
	return nil
}

// broken says that a credential cannot be decided, for reasons that are ours. The log says why
// now and then. A file that is damaged stays so: then the credential is refused.
func (a *Authority) broken(err error) error {
	a.undecided.Do(func() { a.opts.Log.Error("a credential cannot be decided", "err", err) })
	if unread := (*fs.PathError)(nil); errors.As(err, &unread) {
		return ErrUnavailable
	}
	return ErrInvalid
}
