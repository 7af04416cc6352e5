package credentials

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/profile"
)

// Login keeps the address and the secret of a server, if the server accepts the secret.
type Login struct {
	URL        string `arg:"" help:"Address of the server, with ?ns=NAME for a database that is not its default one."`
	Profile    string `help:"Name of the profile; the host of the address if it is not given." env:"-" placeholder:"NAME"`
	SecretFile string `help:"File that holds the admin secret, or a secret of the database. Without it, the secret is asked for on the terminal, or read from standard input." type:"path" env:"-" placeholder:"FILE"`
}

func (Login) Help() string {
	return `Asks the server whether it accepts the secret, and then keeps both, so that other
commands need no more than --profile NAME, or the variable DOGWOOD_PROFILE. A profile of
the same name is replaced. The secret is in a file in the configuration directory of the
user, and no other user can read it. It is sent to this server only, and never printed.
A development server ("dogwood dev") accepts every secret, which the command says.

Examples:

  dogwood login https://db.example.org --profile shop
  dogwood login 'http://localhost:9000?ns=shop' --secret-file dogwood-data/admin-secret
  pass show dogwood | dogwood login https://db.example.org`
}

func (c *Login) Run(e *console.Env) error {
	u, err := client.ParseURL(c.URL)
	if err != nil {
		return err
	}
	name := c.Profile
	if name == "" {
		name = u.Hostname()
	}
	if err := profile.CheckName(name); err != nil {
		return err
	}
	secret, err := c.secret(e, u)
	if err != nil {
		return err
	}
	p := profile.Profile{URL: u.Scheme + "://" + u.Host + u.Path, Namespace: u.Query().Get("ns"), Secret: secret}
	if err := verify(e, p); err != nil {
		return fmt.Errorf("%w; nothing was stored", err)
	}
	err = profile.Change(func(all map[string]profile.Profile) error {
		all[name] = p
		return nil
	})
	if err != nil {
		return err
	}
	if u.Scheme == "http" && !client.IsLoopback(u.Hostname()) {
		fmt.Fprintf(e.Stderr, "warning: %s is not encrypted: others in the network can read the secret when it is sent\n", p.URL)
	}
	if acceptsAll(e, p) {
		fmt.Fprintf(e.Stderr, "warning: %s is a development server, which accepts every secret: it does not check this one\n", p.URL)
	}
	fmt.Fprintf(e.Stdout, "%s accepts the secret. Use it with --profile %s, or DOGWOOD_PROFILE=%[2]s.\n", p.URL, name)
	return nil
}

// secret reads the secret from a file, a terminal, or standard input.
func (c *Login) secret(e *console.Env, u *url.URL) (string, error) {
	if c.SecretFile != "" && c.SecretFile != "-" {
		return client.ReadSecretFile(c.SecretFile)
	}
	text, err := e.ReadSecret(fmt.Sprintf("Secret of %s (it is not shown): ", u.Host))
	if err != nil {
		return "", err
	}
	secret, err := client.CheckSecret(text)
	if err != nil {
		return "", fmt.Errorf("standard input %w", err)
	}
	return secret, nil
}

// verify asks the server for something that only administrators get.
func verify(e *console.Env, p profile.Profile) error {
	db, err := client.WithSecret(e, p.URL, p.Namespace, p.Secret)
	if err != nil {
		return err
	}
	r, err := db.Request(e.Ctx, http.MethodGet, "/.settings/rules", nil, nil)
	if err != nil {
		return err
	}
	resp, err := db.Answer(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return db.Refusal(resp)
	}
	return nil
}

// acceptsAll reports whether the server that p names is a development server, for which no
// secret is wrong. Only those answer the request that finds an emulator.
func acceptsAll(e *console.Env, p profile.Profile) bool {
	db, err := client.WithSecret(e, p.URL, p.Namespace, p.Secret)
	if err != nil {
		return false
	}
	r, err := db.Request(e.Ctx, http.MethodGet, "/emulators", nil, nil)
	if err != nil {
		return false
	}
	r.URL.Path = strings.TrimSuffix(r.URL.Path, ".json") // it is not data
	resp, err := db.Answer(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Logout removes a profile.
type Logout struct {
	Name string `arg:"" help:"Name of the profile."`
}

func (Logout) Help() string {
	return `Removes the profile, with its secret, from this machine. The server accepts the secret
as before.

Examples:

  dogwood logout shop`
}

func (c *Logout) Run(*console.Env) error {
	return profile.Change(func(all map[string]profile.Profile) error {
		if _, ok := all[c.Name]; !ok {
			return fmt.Errorf("there is no profile %q; dogwood profiles lists them", c.Name)
		}
		delete(all, c.Name)
		return nil
	})
}

// Profiles lists the profiles.
type Profiles struct{}

func (Profiles) Help() string {
	return `Lists the profiles that dogwood login made, without their secrets. The one that
DOGWOOD_PROFILE names has a star.

Examples:

  dogwood profiles`
}

func (Profiles) Run(e *console.Env) error {
	all, err := profile.All()
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		star := ""
		if name == os.Getenv(console.EnvPrefix+"_PROFILE") {
			star = "*"
		}
		address := all[name].URL
		if ns := all[name].Namespace; ns != "" {
			address = strings.TrimSuffix(address, "/") + "?ns=" + ns
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", console.Printable(name), console.Printable(address), star)
	}
	return t.Flush()
}
