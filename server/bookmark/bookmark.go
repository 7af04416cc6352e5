// Package bookmark seals the place where a listing goes on. A caller hands the text back with the
// next request, and learns nothing from it: the place may be a key that the caller may not read.
package bookmark

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
)

// ErrUnknown is the error of a text that the Sealer has not made for the same listing.
var ErrUnknown = errors.New("unknown bookmark")

// A Sealer seals keys. Its secret is made with it, so another process knows none of its texts.
// Its methods may be called by several goroutines at once.
type Sealer struct{ aead cipher.AEAD }

// New returns a Sealer with a secret of its own.
func New() *Sealer {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	block, err := aes.NewCipher(secret)
	if err != nil {
		panic(err) // the length of the secret is right
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block is that of AES
	}
	return &Sealer{aead}
}

// Seal returns a text for the place behind key in a listing.
func (s *Sealer) Seal(listing, key string) string {
	padded := append([]byte(key), 1)
	for len(padded)%padding != 0 {
		padded = append(padded, 0)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, padded, []byte(listing)))
}

// padding is so that the length of a text does not tell how long the key is.
const padding = 32

// Open returns the key of a text that Seal has made for the listing, or ErrUnknown.
func (s *Sealer) Open(listing, text string) (key string, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", ErrUnknown
	}
	padded, err := s.aead.Open(nil, nil, sealed, []byte(listing))
	if err != nil {
		return "", ErrUnknown
	}
	end := len(padded) - 1
	for padded[end] == 0 { // Seal has put a 1 behind the key
		end--
	}
	return string(padded[:end]), nil
}
