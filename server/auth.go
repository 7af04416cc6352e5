package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// An authenticator decides who a credential stands for. It knows
// administrators' secrets and, in dev mode, tokens that nobody signed.
type authenticator struct {
	dev     bool
	secrets [][sha256.Size]byte // hashed, so that comparing takes the same time for every length
}

func newAuthenticator(o Options) *authenticator {
	a := &authenticator{dev: o.Dev}
	for _, s := range o.AdminSecrets {
		if s != "" {
			a.secrets = append(a.secrets, sha256.Sum256([]byte(s)))
		}
	}
	return a
}

// isSecret reports whether s is an administrator's secret, in constant time.
func (a *authenticator) isSecret(s string) bool {
	sum := sha256.Sum256([]byte(s))
	found := 0
	for _, secret := range a.secrets {
		found |= subtle.ConstantTimeCompare(sum[:], secret[:])
	}
	return found == 1
}

// isAdmin reports whether a bearer token is an administrator's. In dev mode
// every one is, as in the emulator (REST §6).
func (a *authenticator) isAdmin(token string) bool {
	return token != "" && (a.dev || a.isSecret(token))
}

// An identity is a caller with the time at which its credential expires, zero
// if it does not.
type identity struct {
	dsync.Caller
	expires time.Time
	claims  claims // of a token, nil if there was none
}

// token returns whom the token of auth= or of an auth message stands for. ok
// is false if it is not acceptable.
func (a *authenticator) token(token string) (id identity, ok bool) {
	if a.isSecret(token) {
		return identity{Caller: dsync.Admin}, true
	}
	if !a.dev {
		return identity{}, false
	}
	c, ok := decodeToken(token)
	if !ok {
		return identity{}, false
	}
	return identity{Caller: c.caller(), claims: c}, c.usable()
}

// callerOf returns on whose behalf a request is made. A credential that is not
// acceptable is an error even where the rules would let anybody in (REST §6).
func (s *Server) callerOf(r *http.Request) (dsync.Caller, error) {
	id, err := s.auth.identify(r.Header, parseParams(r.URL.RawQuery))
	return id.Caller, err
}

// identify is callerOf. The first kind of credential that is present decides.
func (a *authenticator) identify(h http.Header, ps params) (identity, error) {
	id, err := a.credential(h, ps)
	if err != nil {
		return identity{}, err
	}
	override, ok := ps.get("auth_variable_override")
	if !ok {
		return id, nil
	}
	if !id.Admin {
		return identity{}, errUnauthorized
	}
	id.Caller, ok = overridden(override)
	if !ok {
		return identity{}, badRequest("auth_variable_override must be a JSON object or null")
	}
	return id, nil
}

func (a *authenticator) credential(h http.Header, ps params) (identity, error) {
	bearer := bearerToken(h)
	if token, _ := ps.get("access_token"); bearer == "" {
		bearer = token
	}
	if bearer != "" {
		if !a.isAdmin(bearer) {
			return identity{}, errUnauthorized
		}
		return identity{Caller: dsync.Admin}, nil
	}
	token, _ := ps.get("auth")
	if token == "" {
		return identity{}, nil
	}
	id, ok := a.token(token)
	if !ok {
		return identity{}, errBadToken
	}
	return id, nil
}

func bearerToken(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// overridden returns the caller that an administrator wants to act as: auth is
// the given JSON object, or null. The rules apply to it.
func overridden(auth string) (c dsync.Caller, ok bool) {
	if strings.TrimSpace(auth) == "null" {
		return dsync.Caller{}, true
	}
	vars, ok := decodeObject([]byte(auth))
	if !ok {
		return dsync.Caller{}, false
	}
	return dsync.Caller{Auth: authOf(vars)}, true
}

// authOf returns the auth variable that consists of the given members.
func authOf(vars claims) rules.Auth {
	a := rules.Auth{UID: vars.text("uid"), JSON: vars.json()}
	if token, ok := vars.object("token"); ok {
		a.Token = token.json()
	}
	return a
}

// signIn decides a credential that came over the realtime protocol (wire
// protocol §9). A refusal is a *dsync.TokenError.
func (s *Server) signIn(_ context.Context, c dsync.Credential) (dsync.Caller, dsync.SignInInfo, error) {
	id, ok := identity{Caller: dsync.Admin}, true
	if c.Admin {
		ok = s.auth.isAdmin(c.Token)
	} else {
		id, ok = s.auth.token(c.Token)
	}
	if !ok {
		return dsync.Caller{}, dsync.SignInInfo{}, &dsync.TokenError{Status: wire.StatusInvalidToken, Text: wire.TextInvalidToken}
	}
	if c.NoAuth || c.AuthVar != "" {
		override := c.AuthVar
		if c.NoAuth {
			override = "null"
		}
		caller, ok := overridden(override)
		if !id.Admin || !ok {
			return dsync.Caller{}, dsync.SignInInfo{}, &dsync.TokenError{Status: wire.StatusPermissionDenied, Text: wire.TextPermissionDenied}
		}
		id.Caller = caller
	}
	return id.Caller, dsync.SignInInfo{Expires: id.expires, Data: id.data()}, nil
}

// data returns what a client is told about its own sign-in.
func (id identity) data() string {
	auth := "null"
	if !id.Auth.IsNull() {
		auth = id.Auth.JSON
	}
	data := `{"auth":` + auth
	if exp, ok := id.claims.number("exp"); ok {
		data += `,"expires":` + exp
	}
	return data + "}"
}

// claims is a decoded JSON object. Its numbers keep their text.
type claims map[string]any

// decodeObject reads a JSON object. Duplicate members are resolved here, the
// last one wins, so that nobody later sees another one.
func decodeObject(src []byte) (claims, bool) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var c claims
	if d.Decode(&c) != nil || c == nil {
		return nil, false
	}
	_, err := d.Token()
	return c, err == io.EOF
}

func (c claims) json() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(map[string]any(c)) != nil {
		return "{}" // cannot be: c was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// text returns a member that is a string, else "".
func (c claims) text(name string) string {
	s, _ := c[name].(string)
	return s
}

func (c claims) object(name string) (claims, bool) {
	m, ok := c[name].(map[string]any)
	return m, ok
}

// number returns the text of a member that is an integer.
func (c claims) number(name string) (string, bool) {
	n, _ := c[name].(json.Number)
	_, err := strconv.ParseInt(n.String(), 10, 64)
	return n.String(), err == nil
}
