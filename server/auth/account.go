package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// An Account is what a server knows of a service account: a program that acts
// as an administrator. Its private key is in the key file, and nowhere else.
type Account struct {
	Name       string    `json:"name"`
	Key        string    `json:"key_id"`
	PublicKey  string    `json:"public_key"` // PEM
	TokenURI   string    `json:"token_uri"`  // audience of what it exchanges for access tokens
	Namespaces []string  `json:"namespaces,omitempty"`
	Created    time.Time `json:"created"`
}

// accountDomain ends the e-mail addresses that stand for accounts in tokens. No
// mail ever gets there (RFC 2606).
const accountDomain = "@dogwood.invalid"

// Email returns the name of the account in tokens.
func (a *Account) Email() string { return a.Name + accountDomain }

// An accountKey is a key file of the form that the Admin SDKs read.
type accountKey struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	ClientEmail  string `json:"client_email"`
	ClientID     string `json:"client_id"`
	AuthURI      string `json:"auth_uri"`
	TokenURI     string `json:"token_uri"`
}

// NewAccount returns a new service account and its key file, which must be kept
// secret. tokenURI is the address of the server's /token; namespaces are the
// databases that it is for, none for all.
func NewAccount(name, project, tokenURI string, namespaces []string, now time.Time) (*Account, []byte, error) {
	if !validName(name) {
		return nil, nil, fmt.Errorf("%q: %w", name, ErrName)
	}
	private, err := rsa.GenerateKey(rand.Reader, minRSABits)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	a := &Account{
		Name:       name,
		Key:        strings.ToLower(rand.Text()),
		PublicKey:  string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		TokenURI:   tokenURI,
		Namespaces: namespaces,
		Created:    now.UTC().Truncate(time.Second),
	}
	key, err := json.MarshalIndent(accountKey{
		Type:         "service_account",
		ProjectID:    project,
		PrivateKeyID: a.Key,
		PrivateKey:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
		ClientEmail:  a.Email(),
		ClientID:     a.Key,
		AuthURI:      strings.TrimSuffix(tokenURI, "/token") + "/",
		TokenURI:     tokenURI,
	}, "", "  ")
	return a, append(key, '\n'), err
}

// validName reports whether name can be that of an account: [a-z0-9-], which
// also makes it a safe file name.
func validName(name string) bool {
	return name != "" && len(name) <= 30 && name[0] != '-' &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// Accounts are the service accounts of a data directory, a file each. "" has
// none.
//
// One file for each account makes adding and removing atomic without a lock.
type Accounts struct{ dir string }

// AccountsOf returns the service accounts of a data directory.
func AccountsOf(dataDir string) Accounts {
	if dataDir == "" {
		return Accounts{}
	}
	return Accounts{filepath.Join(dataDir, "service-accounts")}
}

const accountSuffix = ".json"

func (l Accounts) file(name string) string { return filepath.Join(l.dir, name+accountSuffix) }

// Add makes an account known. ErrExists says that there is one of its name.
func (l Accounts) Add(a *Account) error {
	src, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	err = writeFile(durable.Create, l.file(a.Name), append(src, '\n'))
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("service account %s: %w", a.Name, ErrExists)
	}
	return err
}

// Revoke makes an account unknown, and with it every token that it got or
// signed. ErrNoSuch says that there is none of this name.
func (l Accounts) Revoke(name string) error {
	if !validName(name) {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	err := durable.Remove(l.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("service account %s: %w", name, ErrNoSuch)
	}
	return err
}

// Find returns the account of a name. ErrNoSuch says that there is none.
func (l Accounts) Find(name string) (*Account, error) {
	if l.dir == "" || !validName(name) {
		return nil, ErrNoSuch
	}
	src, err := os.ReadFile(l.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSuch
	}
	if err != nil {
		return nil, err
	}
	a := new(Account)
	if err := json.Unmarshal(src, a); err != nil {
		return nil, fmt.Errorf("%s: %w", l.file(name), err)
	}
	if a.Name != name || a.Key == "" {
		return nil, fmt.Errorf("%s: not the file of a service account", l.file(name))
	}
	return a, nil
}

// isAccount reports whether an issuer of tokens is a service account, or was
// one.
func isAccount(issuer string) bool { return strings.HasSuffix(issuer, accountDomain) }

// byEmail returns the account that a token names as its issuer.
func (l Accounts) byEmail(email string) (*Account, error) {
	if !isAccount(email) {
		return nil, ErrNoSuch
	}
	return l.Find(strings.TrimSuffix(email, accountDomain))
}

// List returns all accounts, by name.
func (l Accounts) List() (list []*Account, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), accountSuffix)
		if !ok || !validName(name) {
			continue
		}
		a, err := l.Find(name)
		if errors.Is(err, ErrNoSuch) { // revoked meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// signed reports whether the account signed t.
func (a *Account) signed(t token) bool {
	if kid, err := t.kid(); t.alg() != "RS256" || err == nil && kid != a.Key {
		return false
	}
	block, _ := pem.Decode([]byte(a.PublicKey))
	if block == nil {
		return false
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := key.(*rsa.PublicKey)
	return err == nil && ok && checkRSA(public) == nil && t.verify(public)
}
