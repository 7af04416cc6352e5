package auth

import (
	"errors"
	"fmt"
	"slices"
)

// A Provider makes ID tokens for users. A token is believed if all three of its
// issuer, its audience and its key belong to the same provider.
type Provider struct {
	Issuer    string
	KeySet    string     // file or address of its keys (JWKS)
	Audiences []Audience // that tokens must be for
}

// An Audience is what the aud of a token says when it is for a database.
type Audience struct {
	Name      string
	Namespace string // "": all databases
}

// errOthers is why all of a provider must be known.
var errOthers = errors.New("the keys of ID tokens need an issuer and an audience: without them, tokens that were made for others would be accepted")

// Providers returns what lists of issuers, key sets and audiences mean. One issuer
// has all the key sets and all the audiences. Of several, each has the key set and
// the audience at the same place of their lists; a list with one element is that
// of all issuers.
func Providers(issuers, keySets []string, audiences []Audience) (list []Provider, err error) {
	n := len(issuers)
	fits := func(m int) bool { return m == 1 || m == n }
	switch {
	case len(keySets) == 0 && n+len(audiences) > 0:
		return nil, errors.New("an issuer or audience of ID tokens is given, but no keys to verify them with")
	case len(keySets) > 0 && (n == 0 || len(audiences) == 0):
		return nil, errOthers
	case n == 1:
		for _, keySet := range keySets {
			list = append(list, Provider{issuers[0], keySet, audiences})
		}
		return list, nil
	case n > 0 && !(fits(len(keySets)) && fits(len(audiences))):
		return nil, fmt.Errorf("%d issuers of ID tokens with %d key sets and %d audiences: of both, give one for all issuers or one for each, in the same order", n, len(keySets), len(audiences))
	}
	for i, issuer := range issuers {
		list = append(list, Provider{issuer, keySets[i%len(keySets)], []Audience{audiences[i%len(audiences)]}})
	}
	return list, nil
}

// check refuses to believe the tokens that a provider made for others.
func (p Provider) check() error {
	switch {
	case p.KeySet == "":
		return errors.New("the keys of an issuer of ID tokens are missing")
	case p.Issuer == "" || len(p.Audiences) == 0 || slices.ContainsFunc(p.Audiences, func(a Audience) bool { return a.Name == "" }):
		return errOthers
	}
	return nil
}

// A provider is a Provider with its keys.
type provider struct {
	Provider
	keys keySource
}

// isFor reports whether the aud of a token names one of the audiences that are
// for a namespace.
func isFor(ns string, c Claims, audiences []Audience) bool {
	return slices.ContainsFunc(c.strings("aud"), func(name string) bool {
		return slices.Contains(audiences, Audience{name, ""}) || slices.Contains(audiences, Audience{name, ns})
	})
}
