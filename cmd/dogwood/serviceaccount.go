package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// serviceAccountCommand manages the service accounts of a data directory. A
// server that runs on it takes notice by itself.
type serviceAccountCommand struct {
	Create createAccountCommand `cmd:"" help:"Create a service account and write its key file."`
	List   listAccountsCommand  `cmd:"" help:"List service accounts."`
	Revoke revokeAccountCommand `cmd:"" help:"Revoke a service account and all that it signed or was given."`
}

func (serviceAccountCommand) Help() string {
	return `A service account is a program that acts as administrator: a backend with an
Admin SDK. A server that runs on the data directory takes notice by itself.

Examples:

  dogwood serviceaccount create backend --out backend.json --url https://db.example.org
  dogwood serviceaccount list
  dogwood serviceaccount revoke backend`
}

// dataFlag says which data directory a command is about.
type dataFlag struct {
	Data string `help:"Directory that holds the data of dogwood serve." default:"./dogwood-data" type:"path" placeholder:"DIR"`
}

// check refuses a directory that is not there: it is more likely misspelt than
// meant to be made.
func (f *dataFlag) check() error {
	info, err := os.Stat(f.Data)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fmt.Errorf("--data %s: %w", f.Data, err)
	}
	return nil
}

type createAccountCommand struct {
	Name string `arg:"" help:"Name of the account: letters a-z, digits and hyphens."`
	Out  string `help:"Key file to write. It must not exist, and be kept secret." required:"" type:"path" env:"-" placeholder:"FILE"`
	dataFlag
	URL       string   `help:"Address at which the account's programs reach the server." default:"http://localhost:9000" env:"-"`
	Namespace []string `help:"Databases that the account is for; all if it is not given." env:"-" placeholder:"NAME"`
	Project   string   `help:"project_id in the key file; Admin SDKs want one." default:"dogwood" env:"-" placeholder:"NAME"`
}

func (createAccountCommand) Help() string {
	return `The key file has the form of those of Google service accounts: Admin SDKs read
it as they are. Its token_uri is /token below --url, where they get an access
token that is valid for an hour. The server keeps only the public key.

Examples:

  dogwood serviceaccount create backend --out backend.json --url https://db.example.org
  dogwood serviceaccount create shop --out shop.json --namespace shop,shop-test`
}

func (c *createAccountCommand) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	base, err := parseServerURL(c.URL)
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
	fmt.Fprintf(e.stdout, "Service account %s (%s) may act as administrator of %s.\nIts key is in %s: keep it secret.\n",
		account.Name, account.Email(), scopeOf(account), c.Out)
	return nil
}

// writeSecretFile writes a new file that only its owner can read.
func writeSecretFile(file string, content []byte) error {
	if err := directoryOf(file); err != nil {
		return err
	}
	return durable.Create(file, content, 0o600)
}

func scopeOf(a *auth.Account) string {
	if len(a.Namespaces) == 0 {
		return "all databases"
	}
	return strings.Join(a.Namespaces, ", ")
}

type listAccountsCommand struct{ dataFlag }

func (c *listAccountsCommand) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	list, err := auth.AccountsOf(c.Data).List()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 3, ' ', 0)
	for _, a := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Name, a.Created.Format(time.RFC3339), scopeOf(a), a.TokenURI)
	}
	return w.Flush()
}

type revokeAccountCommand struct {
	Name string `arg:"" help:"Name of the account."`
	dataFlag
}

func (revokeAccountCommand) Help() string {
	return `Requests with its access tokens and custom tokens are refused at once;
connections and event streams that are open end within a second.`
}

func (c *revokeAccountCommand) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := auth.AccountsOf(c.Data).Revoke(c.Name); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "Service account %s is revoked.\n", c.Name)
	return nil
}
