package datacmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/versioned"
	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
)

// deployCommand replaces the data document of a database, if the one that it compared with is
// still in force when its user has said yes.
type deployCommand struct {
	File    string `arg:"" optional:"" help:"Data document, or a firebase.json that names it; if it is not given, that of the working directory."`
	DryRun  bool   `help:"Only have the server check it, and print what it costs."`
	Comment string `short:"m" help:"Text to keep with the version." placeholder:"TEXT"`
	Yes     bool   `short:"y" help:"Do not ask for confirmation. Required where there is no terminal." env:"-"`
	client.Flags
}

func (deployCommand) Help() string {
	return `Prints what the document changes and what each new definition costs a write, has the
server check it, and asks before it is put in force. If there are errors, or another
document was deployed meanwhile, the one in force stays. A document with an empty "define"
ends all definitions; what they kept becomes ordinary data.

A firebase.json names the document beside the rules:

  {"database": {"rules": "database.rules.json", "data": "database.data.json"}}

With one of several databases, each gets the document of its instance or target;
--namespace chooses one.

Examples:

  dogwood data deploy --secret-file dogwood-data/admin-secret
  dogwood data deploy chat.data.json --namespace chat --yes -m 'members are counted'
  dogwood data deploy --dry-run`
}

func (c *deployCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	file := cmp.Or(c.File, project.FindData(), "database.data.json")
	if !project.IsConfig(file) {
		return c.deploy(e, file, db)
	}
	return versioned.Data.Each(file, db, func(file string, db *client.Client) error { return c.deploy(e, file, db) })
}

// deploy deploys one document to one database.
func (c *deployCommand) deploy(e *console.Env, file string, db *client.Client) error {
	text, err := readDocument(file)
	if err != nil {
		return err
	}
	d, err := project.ParseData(file, text)
	if err != nil {
		return err
	}
	current, tag, err := inForce(e, db)
	if err != nil {
		return err
	}
	query := url.Values{"dryRun": {"true"}}
	if c.Comment != "" {
		query.Set("comment", c.Comment)
	}
	if _, err := upload(e, db, query, tag, file, text); err != nil {
		return err
	}
	if err := printChanges(e.Stdout, file, current, d); err != nil || c.DryRun {
		return err
	}
	if !c.Yes {
		if err := e.Ask(fmt.Sprintf("This puts the data document of %s in force%s.", file, versioned.InDatabase(db)), "--yes"); err != nil {
			return err
		}
	}
	query.Del("dryRun")
	if _, err := upload(e, db, query, tag, file, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.Stdout, "The data document of %s is in force%s%s.\n", file, versioned.InDatabase(db), versioned.Data.VersionOf(e.Ctx, db, text)); err != nil {
		return err
	}
	return printUnfinished(e, db)
}

// printUnfinished prints which definitions of a document that was just deployed are not ready.
// Without an answer to that it is in force nonetheless.
func printUnfinished(e *console.Env, db *client.Client) error {
	list, err := statusOf(e, db)
	if err != nil {
		return nil
	}
	list = slices.DeleteFunc(list, func(s status) bool { return s.State == "ready" || s.State == "off" })
	if len(list) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(e.Stdout, "\nNot ready yet (dogwood data status shows how far they are):"); err != nil {
		return err
	}
	return printStatus(e.Stdout, list)
}

// upload sends a document to a server, to be checked or put in force.
func upload(e *console.Env, db *client.Client, query url.Values, tag, file, text string) ([]byte, error) {
	answer, err := versioned.Data.Upload(e.Ctx, db, query, tag, text)
	var errs rules.Errors
	if errors.As(err, &errs) {
		return nil, project.DrawErrors(file, text, errs)
	}
	if e := (*client.ServerError)(nil); errors.As(err, &e) && e.Status == http.StatusPreconditionFailed {
		return nil, errors.New("another data document was deployed meanwhile; nothing was changed. Look at it with dogwood data history, and deploy again")
	}
	return answer, err
}

// inForce returns the document that is in force and its ETag, nil and "" if there is none.
func inForce(e *console.Env, db *client.Client) (d *derive.Document, tag string, err error) {
	r, err := db.Request(e.Ctx, http.MethodGet, versioned.Data.Place, nil, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := db.Answer(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound: // if it is the database, the upload is refused
		return nil, "", nil
	case resp.StatusCode != http.StatusOK:
		return nil, "", db.Refusal(resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, derive.MaxDocument+1))
	if err != nil {
		return nil, "", fmt.Errorf("data document in force: %w", err)
	}
	if d, err = derive.Parse(string(text)); err != nil {
		d = nil // of a later version of Dogwood: everything is new to us
	}
	return d, resp.Header.Get("ETag"), nil
}

// printChanges prints which definitions a document adds, changes, leaves and ends, and what
// the first two cost.
func printChanges(w io.Writer, file string, current, next *derive.Document) error {
	before := make(map[string]*derive.Definition)
	if current != nil {
		for _, d := range current.Definitions() {
			before[d.Name] = d
		}
	}
	same := 0
	_, err := fmt.Fprintf(w, "%s: %s\n", file, console.Count(len(next.Definitions()), "definition"))
	for _, d := range next.Definitions() {
		remark, was := "   (new)", before[d.Name]
		delete(before, d.Name)
		switch {
		case was != nil && was.Text() == d.Text():
			same++
			continue
		case was != nil:
			remark = fmt.Sprintf("   (changed; until now %s %s)", was.Kind, was.Summary())
		}
		if err == nil {
			err = printDefinition(w, d, remark)
		}
	}
	var ended []string
	for name := range before {
		ended = append(ended, name)
	}
	slices.Sort(ended)
	for _, name := range ended {
		if err == nil {
			_, err = fmt.Fprintf(w, "\n%s: ends; what it keeps becomes ordinary data\n", name)
		}
	}
	if err == nil && same > 0 {
		_, err = fmt.Fprintf(w, "\n%s as before\n", console.Count(same, "definition"))
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}
