package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/profile"
)

// AfterApply keeps what the values of the flags do not say.
func (f *Flags) AfterApply(e *console.Env, k *kong.Context) error {
	f.notices, f.given = e.Stderr, OnCommandLine(k)
	return nil
}

// OnCommandLine returns the names of the flags that are on the command line, and not from
// somewhere else.
func OnCommandLine(k *kong.Context) map[string]bool {
	given := make(map[string]bool)
	for _, p := range k.Path {
		if p.Flag != nil && !p.Resolved {
			given[p.Flag.Name] = true
		}
	}
	return given
}

// Given returns flags as if those of the names had been on the command line.
func (f Flags) Given(names map[string]bool) Flags {
	f.given = names
	return f
}

// A target is what the flags, the environment and a profile say together.
type target struct {
	base      *url.URL
	namespace string
	secret    string
	bound     bool // the secret is a profile's, and for no other server
}

// target decides which server is meant. The command line comes first, then the environment.
// The address of a profile has the rank of the name of the profile, and --url comes first
// among equals. The secret of a profile is for the server of that profile alone: for another
// address, the profile means nothing.
func (f *Flags) target() (t target, err error) {
	var p profile.Profile
	if f.Profile != "" {
		if p, err = profile.Find(f.Profile); err != nil {
			return t, err
		}
	}
	address := f.URL
	if f.Profile != "" && !f.choosesURL() {
		address = p.URL
	}
	if t.base, err = ParseURL(address); err != nil {
		return t, err
	}
	t.namespace = f.Namespace
	if t.namespace == "" {
		t.namespace = t.base.Query().Get("ns")
	}
	t.base.RawQuery = ""
	own := false
	if f.Profile != "" {
		of, err := ParseURL(p.URL)
		if err != nil {
			return t, fmt.Errorf("profile %s: %w", f.Profile, err)
		}
		own = profile.Origin(of) == profile.Origin(t.base)
		if !own && f.given["url"] && f.given["profile"] {
			return t, fmt.Errorf("--profile %s is for %s, and --url names another server: leave one of them out", f.Profile, p.URL)
		}
	}
	if !own || f.given["secret-file"] || f.given["owner"] {
		t.secret, err = f.credential()
		return t, err
	}
	if t.namespace == "" {
		t.namespace = p.Namespace
	}
	t.secret, t.bound = p.Secret, true
	return t, nil
}

// choosesURL reports whether --url or its variable comes before the address of the profile.
func (f *Flags) choosesURL() bool {
	return f.given["url"] || !f.given["profile"] && os.Getenv(console.EnvPrefix+"_URL") != ""
}

// keepSecret has redirects to another server go without the secret.
func keepSecret(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	if profile.Origin(r.URL) != profile.Origin(via[0].URL) {
		r.Header.Del("Authorization")
	}
	return nil
}

// WithSecret returns a client with a secret that is for this server alone.
func WithSecret(e *console.Env, address, namespace, secret string) (*Client, error) {
	f := Flags{URL: address, Namespace: namespace, Owner: true, notices: e.Stderr}
	c, err := f.Client()
	if err != nil {
		return nil, err
	}
	c.Secret, c.http.CheckRedirect = secret, keepSecret
	return c, nil
}

// ReadSecretFile reads the file of --secret-file.
func ReadSecretFile(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("--secret-file: %w", err)
	}
	secret, err := CheckSecret(string(text))
	if err != nil {
		return "", fmt.Errorf("--secret-file %s: the file %w", name, err)
	}
	return secret, nil
}

// CheckSecret returns the secret in a text.
func CheckSecret(text string) (string, error) {
	secret := strings.TrimSpace(text)
	if secret == "" {
		return "", errors.New("is empty")
	}
	if strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", errors.New("does not hold a secret, which is one word; that of a server is admin-secret in its data directory")
	}
	return secret, nil
}
