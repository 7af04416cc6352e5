package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MinSecret is the length of the shortest secret that a server takes from its
// configuration: what is shorter can be guessed from a token that it signed.
const MinSecret = 16

// A Secret is an administrator's credential, and the key of HS256 tokens. It is
// never printed.
type Secret struct {
	Value      string
	Namespaces []string // the databases that it is for; none: all
}

// String hides the secret from logs.
func (Secret) String() string { return "(secret)" }

// GoString hides the secret from %#v.
func (Secret) GoString() string { return "(secret)" }

// ReadSecrets reads a file of secrets, one a line. Several allow for exchanging
// one for another. Empty lines and lines that begin with # mean nothing.
func ReadSecrets(text string) (list []Secret, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if len(line) < MinSecret {
			return nil, fmt.Errorf("line %d: a secret needs at least %d characters", n, MinSecret)
		}
		list = append(list, Secret{Value: line})
	}
	if len(list) == 0 {
		return nil, errors.New("the file has no secret")
	}
	return list, nil
}

// covers reports whether a credential that is limited to some databases, none
// for no limit, is good for a namespace. Only one without limits is good for "",
// the server as a whole.
func covers(limit []string, ns string) bool {
	return len(limit) == 0 || slices.Contains(limit, ns)
}

// secrets are those of a server.
type secrets []hashedSecret

type hashedSecret struct {
	Secret
	sum [sha256.Size]byte // so that comparing takes the same time for every length
}

func newSecrets(list []Secret) (all secrets) {
	for _, s := range list {
		if s.Value != "" {
			all = append(all, hashedSecret{s, sha256.Sum256([]byte(s.Value))})
		}
	}
	return all
}

// match reports whether text is a secret for the namespace, in constant time.
func (all secrets) match(ns, text string) bool {
	sum := sha256.Sum256([]byte(text))
	found := 0
	for _, s := range all {
		same := subtle.ConstantTimeCompare(sum[:], s.sum[:])
		if covers(s.Namespaces, ns) {
			found |= same
		}
	}
	return found == 1
}

// signed reports whether one of the secrets for the namespace signed t.
func (all secrets) signed(ns string, t token) bool {
	for _, s := range all {
		if covers(s.Namespaces, ns) && t.verify([]byte(s.Value)) {
			return true
		}
	}
	return false
}
