package credentials

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/server/auth"
)

// Token makes and revokes tokens of users.
type Token struct {
	Create createToken `cmd:"" help:"Print a custom token that signs a user in."`
	Revoke revokeToken `cmd:"" help:"Refuse the tokens that a user has."`
}

func (Token) Help() string {
	return `Examples:

  dogwood token create --uid ana --claims '{"role":"editor"}'
  dogwood token revoke --uid ana`
}

// createToken signs on this machine and asks no server. Each server that has the secret
// accepts the token.
type createToken struct {
	UID       string        `name:"uid" help:"The user's id: auth.uid in rules." required:"" env:"-" placeholder:"ID"`
	Claims    string        `help:"JSON object with more about the user: auth.token in rules." env:"-" placeholder:"JSON"`
	Expires   time.Duration `help:"How long the token is valid." default:"1h" env:"-"`
	Namespace string        `help:"Database that the token is for; all that the secret is for, if it is not given." env:"-" placeholder:"NAME"`
	datadir.Flag
	SecretFile string `help:"File with the secret to sign with. Without it, the environment variable DOGWOOD_SECRET is used, and else the admin secret in --data." type:"path" placeholder:"FILE"`
}

func (createToken) Help() string {
	return `Signs a token with the secret. Requests present it as auth=, and clients sign in with
it.

Examples:

  dogwood token create --uid ana --data /var/lib/dogwood
  dogwood token create --uid ana --claims '{"role":"editor"}' --expires 15m --namespace shop
  curl "localhost:9000/.json?auth=$(dogwood token create --uid ana)"`
}

func (c *createToken) Run(e *console.Env) error {
	token := auth.CustomToken{UID: c.UID, Namespace: c.Namespace, Life: c.Expires}
	if c.Claims != "" {
		var ok bool
		if token.Claims, ok = auth.ParseClaims([]byte(c.Claims)); !ok {
			return fmt.Errorf("--claims: %w", auth.ErrNoClaim)
		}
	}
	secret, err := c.secret()
	if err != nil {
		return err
	}
	text, err := token.Sign(secret, time.Now())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.Stdout, text)
	return err
}

// secret returns the secret to sign with. If a file has several, it is the first one.
func (c *createToken) secret() (string, error) {
	file := c.SecretFile
	if file == "" {
		if secret := strings.TrimSpace(os.Getenv("DOGWOOD_SECRET")); secret != "" {
			return secret, nil
		}
		file = datadir.SecretFile(c.Data)
	}
	list, err := datadir.ReadSecretFile(file)
	if c.SecretFile == "" && errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w; name the server's data directory with --data, or a file with a secret with --secret-file", err)
	}
	if err != nil {
		return "", err
	}
	return list[0].Value, nil
}

// revokeToken records a time in the data directory: tokens of sign-ins before it are refused.
// Single tokens cannot be listed, because clients get new ones at any time.
type revokeToken struct {
	UID    string `name:"uid" help:"The user's id." required:"" env:"-" placeholder:"ID"`
	Before string `help:"Refuse tokens of sign-ins before this time, such as 2026-01-31T12:00:00Z; now if it is not given." env:"-" placeholder:"TIME"`
	datadir.Flag
}

func (revokeToken) Help() string {
	return `Tokens of earlier sign-ins are refused at once; open connections and event streams end
within a second. The time of a sign-in is the claim auth_time, or else iat.`
}

func (c *revokeToken) Run(e *console.Env) error {
	if err := c.Check(); err != nil {
		return err
	}
	// Tokens count in whole seconds: one of this second is older than now.
	before := time.Now().Truncate(time.Second).Add(time.Second)
	if c.Before != "" {
		t, err := time.Parse(time.RFC3339, c.Before)
		if err != nil {
			return errors.New("--before: not a time such as 2026-01-31T12:00:00Z")
		}
		before = t
	}
	if err := auth.RevocationsOf(c.Data).Revoke(c.UID, before); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Tokens of %s from before %s are refused.\n", c.UID, before.UTC().Format(time.RFC3339))
	return nil
}
