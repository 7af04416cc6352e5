package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// minSecret is the length of the shortest secret that is taken for one.
const minSecret = 16

// SecretFile returns the name of the file with the admin secret.
func SecretFile(dir string) string { return filepath.Join(dir, "admin-secret") }

// AdminSecret reads the secret of the data directory, creating both if need be.
func AdminSecret(dir string) (string, error) {
	file := SecretFile(dir)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := createSecret(file); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", &NoSecretError{err}
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return "", err
	}
	return checkSecret(file, text)
}

// A NoSecretError says that there is no secret, and why none could be created.
type NoSecretError struct{ err error }

func (e *NoSecretError) Error() string { return e.err.Error() }

func (e *NoSecretError) Unwrap() error { return e.err }

// checkSecret returns the secret of a file with the given text.
func checkSecret(file string, text []byte) (string, error) {
	secret := strings.TrimSpace(string(text))
	if len(secret) < minSecret {
		return "", fmt.Errorf("%s: too short to be a secret; delete it to have a new one made", file)
	}
	return secret, nil
}

// createSecret makes a new file with a random secret that only its owner can
// read, and its directory. The error is fs.ErrExist if another server was faster.
func createSecret(file string) error {
	if err := durable.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return durable.Create(file, []byte(rand.Text()+"\n"), 0o600)
}

// ReadSecretFile reads a file of secrets, one a line.
func ReadSecretFile(file string) ([]auth.Secret, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list, err := auth.ReadSecrets(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}
