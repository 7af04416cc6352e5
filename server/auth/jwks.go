package auth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// Bounds of a key set.
const (
	maxKeySetBytes = 1 << 20
	maxKeys        = 100
	minRSABits     = 2048
	maxRSABits     = 8192 // beyond it, verifying would be a way to keep us busy
)

// A keySet is a JSON Web Key Set (RFC 7517): the public keys that an issuer of
// tokens signs with, by their kid.
type keySet map[string]publicKey

type publicKey struct {
	alg string // the only algorithm that the key is for
	key any    // *rsa.PublicKey or *ecdsa.PublicKey
}

// A jsonKey is a JSON Web Key.
type jsonKey struct {
	Kty, Kid, Use, Alg, Crv string
	N, E, X, Y              string
}

// parseKeySet reads a key set. Keys that are for something else than verifying
// RS256 and ES256 are left out, as the standard demands; a set without any other
// is an error.
func parseKeySet(src []byte) (keySet, error) {
	var doc struct{ Keys []jsonKey }
	if err := json.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	if len(doc.Keys) > maxKeys {
		return nil, fmt.Errorf("key set: more than %d keys", maxKeys)
	}
	set := make(keySet)
	var errs []error
	for i, k := range doc.Keys {
		key, err := k.parse()
		if err != nil {
			errs = append(errs, fmt.Errorf("key %d: %w", i+1, err))
			continue
		}
		set[k.Kid] = key
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("key set: no key for RS256 or ES256 in it: %w", errors.Join(errs...))
	}
	return set, nil
}

func (k jsonKey) parse() (publicKey, error) {
	if k.Kid == "" {
		return publicKey{}, errors.New("no kid")
	}
	if k.Use != "" && k.Use != "sig" {
		return publicKey{}, fmt.Errorf("use is %q", k.Use)
	}
	parsers := map[string]struct {
		alg   string
		parse func(jsonKey) (any, error)
	}{
		"RSA": {"RS256", jsonKey.rsa},
		"EC":  {"ES256", jsonKey.ecdsa},
	}
	p, ok := parsers[k.Kty]
	if !ok || k.Alg != "" && k.Alg != p.alg {
		return publicKey{}, fmt.Errorf("type %q with algorithm %q", k.Kty, k.Alg)
	}
	key, err := p.parse(k)
	return publicKey{p.alg, key}, err
}

func (k jsonKey) rsa() (any, error) {
	n, okN := decodePart(k.N)
	e, okE := decodePart(k.E)
	exponent := new(big.Int).SetBytes(e)
	if !okN || !okE || !exponent.IsInt64() || exponent.Int64() < 3 || exponent.Int64() > 1<<31-1 {
		return nil, errors.New("n or e cannot be read")
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}
	return key, checkRSA(key)
}

func checkRSA(key *rsa.PublicKey) error {
	if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
		return fmt.Errorf("%d bits, not %d to %d", bits, minRSABits, maxRSABits)
	}
	return nil
}

func (k jsonKey) ecdsa() (any, error) {
	x, okX := decodePart(k.X)
	y, okY := decodePart(k.Y)
	if k.Crv != "P-256" || !okX || !okY || len(x) > 32 || len(y) > 32 {
		return nil, fmt.Errorf("curve %q, or x or y cannot be read", k.Crv)
	}
	point := make([]byte, 65)
	point[0] = 4 // uncompressed
	copy(point[33-len(x):33], x)
	copy(point[65-len(y):], y)
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}

// find returns the key for a token that names it and its algorithm.
func (s keySet) find(kid, alg string) (any, bool) {
	k, ok := s[kid]
	return k.key, ok && k.alg == alg
}
