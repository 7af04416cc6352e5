package auth

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/MicahParks/jwkset"
)

// Bounds of a key set.
const (
	maxKeySetBytes = 1 << 20
	maxKeys        = 100
	minRSABits     = 2048
	maxRSABits     = 8192 // beyond it, verifying would be a way to keep us busy

	maxExponent   = 6  // characters of base64, for an e of 32 bits
	maxCoordinate = 43 // characters of base64, for an x or y of P-256
)

// algorithms has, for each type of key that is used, the only algorithm that it
// is used for.
var algorithms = map[jwkset.KTY]jwkset.ALG{
	jwkset.KtyRSA: jwkset.AlgRS256,
	jwkset.KtyEC:  jwkset.AlgES256,
}

// parseKeySet reads a JSON Web Key Set (RFC 7517): the public keys that an issuer
// of tokens signs with. Each key says which algorithm it is for. Keys that are for
// something else than verifying RS256 and ES256 are left out, as the standard
// demands; a set without any other is an error.
func parseKeySet(src []byte) ([]jwkset.JWK, error) {
	var doc struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	if len(doc.Keys) > maxKeys {
		return nil, fmt.Errorf("key set: more than %d keys", maxKeys)
	}
	var set []jwkset.JWK
	var errs []error
	for i, src := range doc.Keys {
		key, err := parseKey(src)
		if err != nil {
			errs = append(errs, fmt.Errorf("key %d: %w", i+1, err))
			continue
		}
		set = append(set, key)
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("key set: no key for RS256 or ES256 in it: %w", errors.Join(errs...))
	}
	return set, nil
}

func parseKey(src []byte) (jwkset.JWK, error) {
	var k jwkset.JWKMarshal
	if err := json.Unmarshal(src, &k); err != nil {
		return jwkset.JWK{}, err
	}
	if err := checkUse(k); err != nil {
		return jwkset.JWK{}, err
	}
	// Only what verifying takes: certificates would be compared with the key, and
	// private members would make it a private one.
	key, err := jwkset.NewJWKFromMarshal(jwkset.JWKMarshal{
		KID: k.KID, KTY: k.KTY, ALG: algorithms[k.KTY],
		N: k.N, E: k.E, CRV: k.CRV, X: k.X, Y: k.Y,
	}, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return jwkset.JWK{}, err
	}
	return key, checkKey(key.Key())
}

// checkUse says what a key is not used for. It also bounds those numbers that
// jwkset would cut off, or panic at.
func checkUse(k jwkset.JWKMarshal) error {
	alg, known := algorithms[k.KTY]
	switch {
	case k.KID == "":
		return errors.New("no kid")
	case k.USE != "" && k.USE != jwkset.UseSig:
		return fmt.Errorf("use is %q", k.USE)
	case !known || k.ALG != "" && k.ALG != alg:
		return fmt.Errorf("type %q with algorithm %q", k.KTY, k.ALG)
	case k.KTY == jwkset.KtyEC && k.CRV != jwkset.CrvP256:
		return fmt.Errorf("curve is %q", k.CRV)
	case digits(k.E) > maxExponent, digits(k.X) > maxCoordinate, digits(k.Y) > maxCoordinate:
		return errors.New("e, x or y is too long")
	}
	return nil
}

// digits returns the length of base64 without padding.
func digits(text string) int { return len(strings.TrimRight(text, "=")) }

func checkKey(key any) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if key.E < 3 || key.E > 1<<31-1 {
			return fmt.Errorf("e is %d", key.E)
		}
		return checkRSA(key)
	case *ecdsa.PublicKey:
		_, err := key.Bytes() // an error if it is not on the curve
		return err
	}
	return fmt.Errorf("%T is no public key for tokens", key)
}

func checkRSA(key *rsa.PublicKey) error {
	if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits {
		return fmt.Errorf("%d bits, not %d to %d", bits, minRSABits, maxRSABits)
	}
	return nil
}

// formatKeySet returns a key set as JSON.
func formatKeySet(set []jwkset.JWK) ([]byte, error) {
	var doc jwkset.JWKSMarshal
	for _, key := range set {
		doc.Keys = append(doc.Keys, key.Marshal())
	}
	return json.Marshal(doc)
}
