package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// AccessLife is how long an access token is valid.
const AccessLife = time.Hour

// accessPrefix begins access tokens, so that they can be told from everything
// else, also by programs that look for leaked ones. They are no JWTs: JavaScript
// clients present what looks like one as a user's token (protocol §9).
const accessPrefix = "dogwood_"

// An accessKey makes and reads access tokens, with which a service account
// presents itself after it has proved once who it is. It is kept in the data
// directory, so that access tokens outlive a restart.
//
// A token is the grant and its authentication code, so the server keeps no list
// of those that it issued. It can be revoked only together with its account,
// and lives for an hour.
type accessKey [32]byte

// An accessGrant is what an access token says.
type accessGrant struct {
	Account string `json:"sub"`
	Key     string `json:"kid"` // of the account, when the token was made
	Expires int64  `json:"exp"`
}

// loadAccessKey reads the key of a data directory, making it if there is none.
// Without a directory it is a new one.
func loadAccessKey(dataDir string) (key accessKey, err error) {
	rand.Read(key[:])
	if dataDir == "" {
		return key, nil
	}
	file := filepath.Join(dataDir, "access-token-key")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		err := writeFile(durable.Create, file, []byte(hex.EncodeToString(key[:])+"\n"))
		if durable.Unwritable(err) {
			return key, nil // it cannot be kept: access tokens end with this process
		}
		if !errors.Is(err, fs.ErrExist) {
			return key, err
		}
		text, err = os.ReadFile(file) // another process made it
	}
	if err != nil {
		return key, err
	}
	src, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(src) != len(key) {
		return key, fmt.Errorf("%s: not a key; delete it to have a new one made", file)
	}
	return accessKey(src), nil
}

// writeFile makes a file of this package by a function of package durable, and its
// directory. Only their owner can read them.
func writeFile(write func(string, []byte, fs.FileMode) error, file string, content []byte) error {
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return write(file, content, 0o600)
}

// issue returns an access token.
func (k accessKey) issue(g accessGrant) (string, error) {
	payload, err := json.Marshal(g)
	if err != nil {
		return "", err
	}
	text := accessPrefix + base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + base64.RawURLEncoding.EncodeToString(k.mac(text)), nil
}

// read returns what an access token says. It may have expired.
func (k accessKey) read(token string) (g accessGrant, ok bool) {
	if len(token) > MaxTokenBytes || !strings.HasPrefix(token, accessPrefix) {
		return accessGrant{}, false
	}
	text, mac, _ := strings.Cut(token, ".")
	sum, ok := decodePart(mac)
	if !ok || !hmac.Equal(sum, k.mac(text)) {
		return accessGrant{}, false
	}
	payload, ok := decodePart(text[len(accessPrefix):])
	return g, ok && json.Unmarshal(payload, &g) == nil
}

func (k accessKey) mac(text string) []byte {
	h := hmac.New(sha256.New, k[:])
	h.Write([]byte(text))
	return h.Sum(nil)
}
