package rulecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/versioned"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// The commands of this file are about the rules of a running server, those of
// the others about rules in files.

// deployCommand replaces the rules of a database. The server compiles and stores them, so
// rules that compile here but not there change nothing.
type deployCommand struct {
	File       string `arg:"" optional:"" help:"Rules document, or a firebase.json that names it; database.rules.json, or else firebase.json, if it is not given."`
	DryRun     bool   `help:"Only have the server check them."`
	Comment    string `short:"m" help:"Text to keep with the version." placeholder:"TEXT"`
	Dialect    string `help:"Language of the document, firebase or wilddog; what the server is set to if it is not given." placeholder:"NAME"`
	Extensions string `help:"Extensions that the document uses: newRoot, text, dates, counts." placeholder:"NAMES"`
	client.Flags
}

func (deployCommand) Help() string {
	return `The server checks the rules first. If there are errors, it shows them, and the rules in
force stay. New rules take effect at once, and each change is kept as a version. Writes
without signing in, and comparisons of null with null, are warnings. With a
firebase.json of several databases, each gets the rules of its instance or target;
--namespace chooses one.

Examples:

  dogwood rules deploy --secret-file dogwood-data/admin-secret
  dogwood rules deploy chat.rules.json --namespace chat -m 'rooms can be left'`
}

func (c *deployCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if c.File == "" {
		c.File = rulesToDeploy()
	}
	if !project.IsConfig(c.File) {
		return c.deploy(e, c.File, db)
	}
	return versioned.Rules.Each(c.File, db, func(file string, db *client.Client) error { return c.deploy(e, file, db) })
}

// rulesToDeploy returns the rules file of the working directory.
func rulesToDeploy() string {
	const document = "database.rules.json"
	if _, err := os.Stat(document); err == nil {
		return document
	}
	return cmp.Or(project.FindRules(), document)
}

// deploy deploys one document to one database.
func (c *deployCommand) deploy(e *console.Env, file string, db *client.Client) error {
	if _, err := rulestest.ParseOptions(c.Dialect, nil); err != nil {
		return console.Unusable(fmt.Errorf("--dialect: %w", err))
	}
	if _, err := rulestest.ParseOptions("", extensionNames(c.Extensions)); err != nil {
		return console.Unusable(fmt.Errorf("--extensions: %w", err))
	}
	c.File = file
	text, err := readText(e, file)
	if err != nil {
		return err
	}
	query := url.Values{}
	for name, value := range map[string]string{"comment": c.Comment, "dialect": c.Dialect, "extensions": c.Extensions} {
		if value != "" {
			query.Set(name, value)
		}
	}
	query.Set("dryRun", "true")
	if err := c.upload(e.Ctx, db, query, text); err != nil {
		return err
	}
	if err := c.warn(e, text); err != nil || c.DryRun {
		return err
	}
	query.Del("dryRun")
	if err := c.upload(e.Ctx, db, query, text); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "The rules of %s are in force%s%s.\n", c.File, versioned.InDatabase(db), versioned.Rules.VersionOf(e.Ctx, db, text))
	return nil
}

// warn says on standard error which holes the rules have. They are deployed nonetheless.
func (c *deployCommand) warn(e *console.Env, text string) error {
	o, err := rulestest.ParseOptions(cmp.Or(c.Dialect, "firebase"), extensionNames(c.Extensions))
	if err != nil {
		return nil // the server knows it
	}
	return warnOpen(e, e.Stderr, &rulestest.Source{File: c.File, Text: text, Options: o})
}

func (c *deployCommand) upload(ctx context.Context, db *client.Client, query url.Values, text string) error {
	_, err := versioned.Rules.Upload(ctx, db, query, "", text)
	var errs rules.Errors
	if !errors.As(err, &errs) {
		return err
	}
	if local := c.localErrors(text, errs.Error()); local != nil {
		errs = local
	}
	return project.DrawErrors(c.File, text, errs)
}

// localErrors returns everything that is wrong in rules that a server refused with a text,
// nil if this program finds something else. The server names the first mistake of each rule.
func (c *deployCommand) localErrors(text, refusal string) rules.Errors {
	for _, dialect := range []string{"firebase", "wilddog"} {
		o, err := rulestest.ParseOptions(cmp.Or(c.Dialect, dialect), extensionNames(c.Extensions))
		if err != nil {
			return nil // the server knows it
		}
		_, err = rules.ParseWith(text, o)
		var errs rules.Errors
		if errors.As(err, &errs) && errs.Error() == refusal {
			return errs
		}
	}
	return nil
}

// extensionNames splits the value of --extensions.
func extensionNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// historyCommand lists the versions of the rules that a server has kept, or prints one.
type historyCommand struct{ versioned.HistoryFlags }

func (historyCommand) Help() string {
	return `A server keeps the last 100 versions of the rules, of at most 16 MiB in all. The
first of the list is in force.

Examples:

  dogwood rules history --secret-file dogwood-data/admin-secret
  dogwood rules history 7 > database.rules.json`
}

func (c *historyCommand) Run(e *console.Env) error { return c.List(e, versioned.Rules) }

// rollbackCommand puts an earlier version of the rules in force.
type rollbackCommand struct{ versioned.RollbackFlags }

func (rollbackCommand) Help() string {
	return `The rules of an earlier version become a new version, so nothing is lost. A second
rollback undoes the first.

Examples:

  dogwood rules rollback --secret-file dogwood-data/admin-secret
  dogwood rules rollback 7`
}

func (c *rollbackCommand) Run(e *console.Env) error {
	db, to, err := c.Find(e, versioned.Rules)
	if err != nil {
		return err
	}
	return c.Restore(e, db, versioned.Rules, to, "")
}
