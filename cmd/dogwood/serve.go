package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/server"
)

type serveCommand struct {
	listenFlags
	Data      string   `help:"Directory that holds the data." default:"./dogwood-data" type:"path" placeholder:"DIR" env:"DOGWOOD_DATA"`
	Namespace []string `help:"Databases to create if they do not exist." default:"default"`
}

func (serveCommand) Help() string {
	return `Listens on loopback unless --host says otherwise. Without rules everything is
denied except to the admin secret, which is created in DIR/admin-secret and
readable only by the user who runs the server.

Examples:
  dogwood serve --data /var/lib/dogwood
  curl -H "Authorization: Bearer $(cat dogwood-data/admin-secret)" localhost:9000/.json`
}

func (c *serveCommand) Run(e *env) error {
	ruleset, err := c.ruleset()
	if err != nil {
		return err
	}
	secret, err := adminSecret(c.Data)
	if err != nil {
		return err
	}
	if c.DefaultNamespace == "" && len(c.Namespace) == 1 {
		c.DefaultNamespace = c.Namespace[0]
	}
	s, err := server.New(server.Options{
		Dir:              c.Data,
		DefaultNamespace: c.DefaultNamespace,
		Namespaces:       c.Namespace,
		AdminSecrets:     []string{secret},
		Rules:            ruleset,
		Log:              c.logger(e),
	})
	if err != nil {
		return err
	}
	return c.serve(e, s, func(base string) {
		fmt.Fprintf(e.stdout, "Listening on %s\n\n  data           %s\n  databases      %s\n  admin secret   %s\n",
			base, c.Data, strings.Join(c.Namespace, ", "), secretFile(c.Data))
	})
}

func secretFile(dir string) string { return filepath.Join(dir, "admin-secret") }

// adminSecret reads the secret of the data directory, creating both if need be.
func adminSecret(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file := secretFile(dir)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		secret := rand.Text()
		return secret, os.WriteFile(file, []byte(secret+"\n"), 0o600)
	}
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < 16 {
		return "", fmt.Errorf("%s: too short to be a secret; delete it to have a new one made", file)
	}
	return secret, nil
}
