// Package profile keeps the addresses and secrets of servers that "dogwood login" has checked,
// in a file that only its user can read.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// A Profile is a server and the secret that it accepts.
type Profile struct {
	URL       string `json:"url"`
	Namespace string `json:"namespace,omitempty"`
	Secret    string `json:"secret"`
}

// maxBytes bounds the file. It has room for thousands of profiles.
const maxBytes = 4 << 20

type document struct {
	Profiles map[string]Profile `json:"profiles"`
}

// File returns the name of the file.
func File() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("profiles: %w", err)
	}
	return filepath.Join(dir, "dogwood", "profiles.json"), nil
}

// All returns the profiles by name. A file that others can read is refused: its secrets may
// be known.
func All() (map[string]Profile, error) {
	file, err := File()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string]Profile{}, nil
	case err != nil:
		return nil, err
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("%s: it is larger than 4 MiB", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s: other users can read it; if its secrets are still good, chmod 600 %[1]s", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := document{Profiles: map[string]Profile{}}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: it is damaged (not the JSON of profiles); remove it and log in again", file)
	}
	return d.Profiles, nil
}

// Find returns a profile.
func Find(name string) (Profile, error) {
	all, err := All()
	if err != nil {
		return Profile{}, err
	}
	p, ok := all[name]
	if !ok {
		return p, fmt.Errorf("--profile %s: there is none of that name; dogwood profiles lists them, and dogwood login makes one", name)
	}
	return p, nil
}

// Change has edit change the profiles, and writes them in one step.
func Change(edit func(map[string]Profile) error) (err error) {
	file, err := File()
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil { // it may have been there
		return err
	}
	lock, err := dirlock.Sole(dir, "dogwood login")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	all, err := All()
	if err != nil {
		return err
	}
	if err := edit(all); err != nil {
		return err
	}
	text, err := json.MarshalIndent(document{all}, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(file, append(text, '\n'), 0o600)
}

var nameText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`) })

// CheckName refuses what cannot be the name of a profile.
func CheckName(name string) error {
	if !nameText().MatchString(name) {
		return fmt.Errorf("--profile %q: a name has letters, digits, dots, hyphens and underscores, at most 64", name)
	}
	return nil
}

// Origin returns the part of an address that says which server it is.
func Origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
