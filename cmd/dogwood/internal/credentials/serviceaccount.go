// Package credentials has the commands for service accounts and for tokens of users.
package credentials

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// ServiceAccount manages the service accounts of a data directory. A
// server that runs on it takes notice by itself.
type ServiceAccount struct {
	Create createAccount `cmd:"" help:"Create a service account and write its key file."`
	List   listAccounts  `cmd:"" help:"List service accounts."`
	Revoke revokeAccount `cmd:"" help:"Revoke a service account and all tokens that it signed or got."`
}

func (ServiceAccount) Help() string {
	return `A service account lets a program act as administrator, such as a backend with an
Admin SDK. A server that runs on the data directory notices changes by itself.

Examples:

  dogwood serviceaccount create backend --out backend.json --url https://db.example.org
  dogwood serviceaccount list
  dogwood serviceaccount revoke backend`
}

// createAccount adds the public key to the data directory before it writes the private key
// to a file. If the file cannot be written, the account is revoked again. The other order
// could leave a key file that no server accepts.
type createAccount struct {
	Name string `arg:"" help:"Name of the account: letters a-z, digits and hyphens."`
	Out  string `help:"Key file to write. It must not exist yet. Keep it secret." required:"" type:"path" env:"-" placeholder:"FILE"`
	datadir.Flag
	URL       string   `help:"Address at which the account's programs reach the server." default:"http://localhost:9000" env:"-"`
	Namespace []string `help:"Databases that the account is for; all if it is not given." env:"-" placeholder:"NAME"`
	Project   string   `help:"project_id in the key file; Admin SDKs require one." default:"dogwood" env:"-" placeholder:"NAME"`
}

func (createAccount) Help() string {
	return `The key file has the format of Google service accounts, which Admin SDKs read. Its
token_uri is /token below --url. There they get an access token that is valid for an
hour. The server keeps only the public key.

Examples:

  dogwood serviceaccount create backend --out backend.json --url https://db.example.org
  dogwood serviceaccount create shop --out shop.json --namespace shop,shop-test`
}

func (c *createAccount) Run(e *console.Env) error {
	if err := c.Check(); err != nil {
		return err
	}
	for _, ns := range c.Namespace {
		if err := datadir.CheckName("--namespace", ns); err != nil {
			return err
		}
	}
	base, err := client.ParseURL(c.URL)
	if err != nil {
		return err
	}
	base.RawQuery = ""
	tokenURI := strings.TrimRight(base.String(), "/") + "/token"
	account, key, err := auth.NewAccount(c.Name, c.Project, tokenURI, c.Namespace, time.Now())
	if err != nil {
		return err
	}
	accounts := auth.AccountsOf(c.Data)
	if err := accounts.Add(account); err != nil {
		return err
	}
	if err := writeSecretFile(c.Out, key); err != nil {
		return errors.Join(fmt.Errorf("--out: %w", err), accounts.Revoke(account.Name))
	}
	fmt.Fprintf(e.Stdout, "Service account %s (%s) may act as administrator of %s.\nIts key is in %s: keep it secret.\n"+
		"How programs use it: "+accountDocs+"\n",
		account.Name, account.Email(), scopeOf(account), c.Out)
	return nil
}

// accountDocs is where programs for each Admin SDK are shown: some need more than the key file.
const accountDocs = "https://github.com/dogwooddb/dogwood/blob/main/docs/authentication.md#service-accounts-and-admin-sdks"

// writeSecretFile writes a new file that only its owner can read.
func writeSecretFile(file string, content []byte) error {
	if err := datadir.NeedDirectory(file); err != nil {
		return err
	}
	return durable.Create(file, content, 0o600)
}

// scopeOf names the databases of an account for people.
func scopeOf(a *auth.Account) string {
	if len(a.Namespaces) == 0 {
		return "all databases"
	}
	return strings.Join(a.Namespaces, ", ")
}

// listAccounts prints a line for each account. It shows no keys: the directory has only the
// public ones.
type listAccounts struct{ datadir.Flag }

func (c *listAccounts) Run(e *console.Env) error {
	if err := c.Check(); err != nil {
		return err
	}
	list, err := auth.AccountsOf(c.Data).List()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 3, ' ', 0)
	for _, a := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Name, a.Created.Format(time.RFC3339), scopeOf(a), a.TokenURI)
	}
	return w.Flush()
}

// revokeAccount takes an account out of the directory, so that its signatures are no longer
// valid.
type revokeAccount struct {
	Name string `arg:"" help:"Name of the account."`
	datadir.Flag
}

func (revokeAccount) Help() string {
	return `Requests with its access tokens and custom tokens are refused at once;
connections and event streams that are open end within a second.`
}

func (c *revokeAccount) Run(e *console.Env) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := auth.AccountsOf(c.Data).Revoke(c.Name); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Service account %s is revoked.\n", c.Name)
	return nil
}
