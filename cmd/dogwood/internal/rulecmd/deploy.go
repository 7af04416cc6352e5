package rulecmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/sync/versions"
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
	Extensions string `help:"Extensions that the document uses: newRoot." placeholder:"NAMES"`
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
		return c.deploy(e, db)
	}
	return c.deployConfig(e, db)
}

// rulesToDeploy returns the rules file of the working directory.
func rulesToDeploy() string {
	const document = "database.rules.json"
	if _, err := os.Stat(document); err == nil {
		return document
	}
	return cmp.Or(project.FindRules(), document)
}

// deployConfig deploys what a firebase.json names, all of it or for one namespace.
func (c *deployCommand) deployConfig(e *console.Env, db *client.Client) error {
	config, wanted := c.File, db.Namespace
	targets, err := new(project.RulesSet).Targets(config)
	if err != nil {
		return err
	}
	deployed := false
	for _, t := range targets {
		namespaces := t.Namespaces
		if len(namespaces) == 0 {
			namespaces = []string{wanted}
		}
		for _, ns := range namespaces {
			if wanted != "" && ns != wanted {
				continue
			}
			one := *db
			one.Namespace, c.File, deployed = ns, t.File, true
			if err := c.deploy(e, &one); err != nil {
				return err
			}
		}
	}
	if !deployed {
		return fmt.Errorf("%s names no rules for the database %q", config, wanted)
	}
	return nil
}

// deploy deploys one document to one database.
func (c *deployCommand) deploy(e *console.Env, db *client.Client) error {
	if _, err := rulestest.ParseOptions(c.Dialect, nil); err != nil {
		return console.Unusable(fmt.Errorf("--dialect: %w", err))
	}
	if _, err := rulestest.ParseOptions("", extensionNames(c.Extensions)); err != nil {
		return console.Unusable(fmt.Errorf("--extensions: %w", err))
	}
	text, err := os.ReadFile(c.File)
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
	if err := c.warn(e, string(text)); err != nil || c.DryRun {
		return err
	}
	query.Del("dryRun")
	if err := c.upload(e.Ctx, db, query, text); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "The rules of %s are in force%s%s.\n", c.File, inDatabase(db), c.versionOf(e.Ctx, db, string(text)))
	return nil
}

// inDatabase names the database that a command was for, if it was named.
func inDatabase(db *client.Client) string {
	if db.Namespace == "" {
		return ""
	}
	return " in " + db.Namespace
}

// warn says on standard error which holes the rules have. They are deployed nonetheless.
func (c *deployCommand) warn(e *console.Env, text string) error {
	o, err := rulestest.ParseOptions(cmp.Or(c.Dialect, "firebase"), extensionNames(c.Extensions))
	if err != nil {
		return nil // the server knows it
	}
	return warnOpen(e, e.Stderr, &rulestest.Source{File: c.File, Text: text, Options: o})
}

// versionOf names the version that has the rules in force. Without an answer to
// that they are in force nonetheless.
func (c *deployCommand) versionOf(ctx context.Context, db *client.Client, text string) string {
	list, err := rulesHistory(ctx, db)
	if err != nil {
		return ""
	}
	for _, v := range list {
		if v.Hash == versions.Hash(text) {
			return fmt.Sprintf(", as version %d", v.Number)
		}
	}
	return ""
}

func (c *deployCommand) upload(ctx context.Context, db *client.Client, query url.Values, text []byte) error {
	r, err := db.Request(ctx, http.MethodPut, rulesPlace, query, client.NewPayload(string(text)))
	if err != nil {
		return err
	}
	resp, err := db.Answer(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusBadRequest:
		return c.refusedRules(string(text), resp)
	}
	return db.Refusal(resp)
}

// maxRefusal bounds what is read of an answer that refuses rules.
const maxRefusal = 1 << 20

// refusedRules returns the error that shows what a server found wrong in rules.
func (c *deployCommand) refusedRules(text string, resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		return err
	}
	var answer struct{ Error string }
	if json.Unmarshal(body, &answer) != nil || answer.Error == "" {
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	if errs := c.localErrors(text, answer.Error); errs != nil {
		return project.DrawErrors(c.File, text, errs)
	}
	var errs rules.Errors
	for line := range strings.SplitSeq(strings.TrimSpace(answer.Error), "\n") {
		var at rules.Pos
		if n, _ := fmt.Sscanf(line, "%d:%d:", &at.Line, &at.Col); n != 2 {
			return errors.New(console.Printable(answer.Error))
		}
		errs = append(errs, &rules.SyntaxError{Pos: at, Msg: console.Printable(strings.TrimPrefix(line, at.String()+": "))})
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
type historyCommand struct {
	Version int64 `arg:"" optional:"" help:"Version to print; without it, they are listed."`
	JSON    bool  `name:"json" help:"List as JSON."`
	client.Flags
}

func (historyCommand) Help() string {
	return `A server keeps the last 100 versions of the rules, of at most 16 MiB in all. The
first of the list is in force.

Examples:

  dogwood rules history --secret-file dogwood-data/admin-secret
  dogwood rules history 7 > database.rules.json`
}

func (c *historyCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	place := versionsPlace
	if c.Version != 0 {
		place = fmt.Sprintf("%s/%d", versionsPlace, c.Version)
	}
	if c.Version != 0 || c.JSON {
		r, err := db.Request(e.Ctx, http.MethodGet, place, nil, nil)
		if err != nil {
			return err
		}
		return missingVersion(e.Ctx, db, c.Version, db.Call(r, e.Stdout))
	}
	list, err := rulesHistory(e.Ctx, db)
	if err != nil {
		return err
	}
	return printHistory(e.Stdout, list)
}

// printHistory prints a line for each version, the newest first.
func printHistory(w io.Writer, list []versions.Version) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for i, v := range list {
		notes := []string{}
		if i == 0 {
			notes = append(notes, "in force")
		}
		if v.Restore != 0 {
			notes = append(notes, fmt.Sprintf("version %d again", v.Restore))
		}
		if v.Dialect == "wilddog" {
			notes = append(notes, "wilddog")
		}
		if v.Comment != "" {
			notes = append(notes, console.Printable(v.Comment))
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d bytes\t%s\n", v.Number, v.Time.Local().Format(time.DateTime), console.Printable(v.Author), v.Size, strings.Join(notes, "; "))
	}
	return t.Flush()
}

// rollbackCommand puts an earlier version of the rules in force. They become a new version,
// so a rollback can be undone by another one.
type rollbackCommand struct {
	To      int64  `help:"Version to put in force again; the one before that in force if it is not given." placeholder:"VERSION"`
	Comment string `short:"m" help:"Text to keep with the version." placeholder:"TEXT"`
	client.Flags
}

func (rollbackCommand) Help() string {
	return `The rules of an earlier version become a new version, so nothing is lost. A second
rollback undoes the first.

Examples:

  dogwood rules rollback --secret-file dogwood-data/admin-secret
  dogwood rules rollback --to 7`
}

func (c *rollbackCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	to := c.To
	if to == 0 {
		list, err := rulesHistory(e.Ctx, db)
		if err != nil {
			return err
		}
		if len(list) < 2 {
			return errors.New("there is no earlier version of the rules")
		}
		to = list[1].Number
	}
	body, err := json.Marshal(map[string]any{"version": to, "comment": c.Comment})
	if err != nil {
		return err
	}
	r, err := db.Request(e.Ctx, http.MethodPost, rollbackPlace, nil, client.NewPayload(string(body)))
	if err != nil {
		return err
	}
	var made struct{ Version int64 }
	if err := missingVersion(e.Ctx, db, to, db.Read(r, "answer of the server", &made)); err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "The rules of version %d are in force again%s, as version %d.\n", to, inDatabase(db), made.Version)
	return nil
}
