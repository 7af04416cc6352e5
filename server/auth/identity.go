package auth

import (
	"slices"
	"time"
)

// An Identity says whom a credential stands for. It has what is needed to
// decide again later without the credential itself, which is not kept.
type Identity struct {
	Admin   bool      // the rules do not apply
	Auth    Claims    // the auth variable of the rules, nil for none
	Claims  Claims    // of the token, nil if there was none
	Expires time.Time // zero: never
	Debug   bool      // a verified token asks to be told how the rules decide

	since   time.Time // when the user signed in
	account string    // name of the service account that vouches, "" for none
	key     string    // id of its key
}

// Recheck is how often a credential that can end is looked at again, in addition to the
// looks when it expires and when something is revoked.
const Recheck = 30 * time.Second

// UntilCheck returns when an identity is to be looked at again. ok is false if it never
// ends.
func (id Identity) UntilCheck(now time.Time) (wait time.Duration, ok bool) {
	if !id.CanEnd() {
		return 0, false
	}
	wait = Recheck
	if !id.Expires.IsZero() {
		wait = min(wait, id.Expires.Sub(now))
	}
	return max(wait, 0), true
}

var admin = Identity{Admin: true}

// maxUID is the length of the longest id of a user.
const maxUID = 128

// uid returns the user's id, "" for none.
func (id Identity) uid() string { return id.Auth.Text("uid") }

// Account returns the name of the service account that a credential is of, "" if
// it is of another kind.
func (id Identity) Account() string { return id.account }

// CanEnd reports whether Check may find one day that id has ended.
func (id Identity) CanEnd() bool {
	return !id.Expires.IsZero() || id.account != ""
}

// legacy returns the auth variable that a token of the old kind carries:
// {"v":0,"d":{"uid":…},"iat":…}.
func (c Claims) legacy() (vars Claims, ok bool) {
	if _, ok := c["v"]; !ok {
		return nil, false
	}
	return c.Object("d")
}

// asksFor reports whether a legacy token asks for something: "admin" for an
// administrator's rights, "debug" to be told how the rules decide.
func (c Claims) asksFor(name string) bool {
	asks, _ := c[name].(bool)
	_, legacy := c["v"]
	return legacy && asks
}

// secretIdentity returns whom a token stands for that was signed with a secret:
// an old or a custom one.
func (c Claims) secretIdentity() (Identity, error) {
	if c.asksFor("admin") {
		return Identity{Admin: true, Claims: c}, nil
	}
	if vars, ok := c.legacy(); ok {
		return Identity{Auth: vars, Claims: c}, nil
	}
	return c.customIdentity()
}

// issued are the claims that only an issuer of ID tokens sets. Those of a custom
// token cannot replace them.
var issued = []string{
	"acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase",
	"iat", "iss", "jti", "nbf", "nonce", "sub", "uid", "user_id",
}

// customIdentity returns whom a custom token, {"uid":…,"claims":{…}}, stands for:
// the user whom the identity service would have made an ID token for.
func (c Claims) customIdentity() (Identity, error) {
	uid := c.Text("uid")
	claims, hasClaims := c.Object("claims")
	if _, present := c["claims"]; uid == "" || len(uid) > maxUID || present && !hasClaims {
		return Identity{}, ErrInvalid
	}
	token := Claims{}
	for name, value := range claims {
		if !slices.Contains(issued, name) {
			token[name] = value
		}
	}
	for _, name := range []string{"iat", "exp"} {
		if v, ok := c[name]; ok {
			token[name] = v
		}
	}
	token["sub"], token["user_id"] = uid, uid
	token["firebase"] = map[string]any{"sign_in_provider": "custom", "identities": map[string]any{}}
	return token.userIdentity(uid), nil
}

// idIdentity returns whom an ID token stands for.
func (c Claims) idIdentity() (Identity, error) {
	uid := c.Text("sub")
	if uid == "" || len(uid) > maxUID {
		return Identity{}, ErrInvalid
	}
	return c.userIdentity(uid), nil
}

// userIdentity returns the user uid, whose auth variable has the members uid,
// provider and token (rules §2).
func (c Claims) userIdentity(uid string) Identity {
	vars := Claims{"uid": uid, "token": map[string]any(c)}
	if firebase, ok := c.Object("firebase"); ok && firebase.Text("sign_in_provider") != "" {
		vars["provider"] = firebase.Text("sign_in_provider")
	} else if p := c.Text("provider_id"); p != "" {
		vars["provider"] = p
	}
	return Identity{Auth: vars, Claims: c}
}

// devIdentity returns whom a token stands for that is believed as it is, for
// good.
func (c Claims) devIdentity() (Identity, error) {
	_, legacy := c.legacy()
	if legacy || c.asksFor("admin") {
		return c.secretIdentity()
	}
	if slices.Contains(c.strings("aud"), customAudience) { // whose sub is who signed it
		return c.customIdentity()
	}
	for _, name := range []string{"sub", "user_id"} {
		if uid := c.Text(name); uid != "" {
			return c.userIdentity(uid), nil
		}
	}
	if _, custom := c.Object("claims"); custom {
		return c.customIdentity()
	}
	if uid := c.Text("uid"); uid != "" {
		return c.userIdentity(uid), nil
	}
	return Identity{}, ErrInvalid
}
