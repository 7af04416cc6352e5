package datacmd

import (
	"cmp"
	"encoding/json"
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
	DryRun  bool   `help:"Only have the server check it, and print what it costs and finds."`
	Comment string `short:"m" help:"Text to keep with the version." placeholder:"TEXT"`
	console.Sure
	client.Flags
}

func (deployCommand) Help() string {
	return `Prints what the document changes, what each new definition costs a write, and what it
finds in the database: nodes, places to be written or removed, and conflicts, which make
it fail. It asks before the document is put in force, and needs --yes where there is no terminal. If there are errors, or another
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
	query := url.Values{}
	if c.Comment != "" {
		query.Set("comment", c.Comment)
	}
	tag, err := plan(e, db, query, file, text)
	if err != nil || c.DryRun {
		return err
	}
	if !c.IsSure() {
		if err := e.Ask(fmt.Sprintf("This puts the data document of %s in force%s.", file, versioned.InDatabase(db))); err != nil {
			return err
		}
	}
	if _, err := upload(e, db, query, tag, file, text); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.Stdout, "The data document of %s is in force%s%s.\n", file, versioned.InDatabase(db), versioned.Data.VersionOf(e.Ctx, db, text)); err != nil {
		return err
	}
	return printUnfinished(e, db)
}

// plan has a server check a document, and prints what it changes and finds. tag is the ETag of the one
// that is in force.
func plan(e *console.Env, db *client.Client, query url.Values, file, text string) (tag string, err error) {
	d, err := project.ParseData(file, text)
	if err != nil {
		return "", err
	}
	current, tag, err := inForce(e, db)
	if err != nil {
		return "", err
	}
	query.Set("dryRun", "true")
	defer query.Del("dryRun")
	answer, err := upload(e, db, query, tag, file, text)
	if err != nil {
		return "", err
	}
	found, err := readPreview(answer)
	if err != nil {
		return "", err
	}
	return tag, printChanges(e.Stdout, file, current, d, found)
}

// printUnfinished prints which definitions of a document that was just deployed are not ready.
// Without an answer to that it is in force nonetheless.
func printUnfinished(e *console.Env, db *client.Client) error {
	list, err := statusOf(e, db)
	if err != nil {
		return nil
	}
	failed := failures(list)
	list = slices.DeleteFunc(list, func(s status) bool { return s.State == "ready" || s.State == "off" })
	if len(list) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(e.Stdout, "\nNot ready (dogwood data status shows how far they are):"); err != nil {
		return err
	}
	if err := printStatus(e.Stdout, list); err != nil {
		return err
	}
	if failed == nil && slices.ContainsFunc(list, func(s status) bool { return s.State == "verifying" }) {
		_, err = fmt.Fprintln(e.Stdout, "One that fails yet is not in force; dogwood data status then says why. Deploy it with \"onConflict\": \"replace\" if its places hold something else.")
		return err
	}
	return failed
}

// upload sends a document to a server, to be checked or put in force.
func upload(e *console.Env, db *client.Client, query url.Values, tag, file, text string) ([]byte, error) {
	answer, err := versioned.Data.Upload(e.Ctx, db, query, tag, text)
	var errs rules.Errors
	if errors.As(err, &errs) {
		return nil, project.DrawErrors(file, text, errs)
	}
	return answer, meanwhile(err)
}

// meanwhile says of a document that was compared with one in force that there is another.
func meanwhile(err error) error {
	if e := (*client.ServerError)(nil); errors.As(err, &e) && e.Status == http.StatusPreconditionFailed {
		return errors.New("another data document was deployed meanwhile; nothing was changed. Look at it with dogwood data history, and try again")
	}
	return err
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

// A preview says what a definition would find in the database, as a server tells it (REST §12.7).
type preview struct {
	Name      string   `json:"name"`
	Nodes     int64    `json:"nodes"`
	Writes    int64    `json:"writes"`
	Removes   int64    `json:"removes"`
	Bytes     int64    `json:"bytes"`
	Conflicts []string `json:"conflicts"`
	Total     int      `json:"conflictsTotal"`
	More      bool     `json:"more"`
}

// readPreview reads the answer to a document that was only checked, by the names of definitions.
func readPreview(answer []byte) (map[string]preview, error) {
	var list struct{ Definitions []preview }
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("answer of the server: %w", err)
	}
	found := make(map[string]preview)
	for _, p := range list.Definitions {
		found[p.Name] = p
	}
	return found, nil
}

// print prints what a definition would find; nothing if the server did not tell.
func (p preview) print(w io.Writer) error {
	if p.Name == "" {
		return nil
	}
	line := fmt.Sprintf("  nodes there now:     %d", p.Nodes)
	if p.More {
		line += ", and more that were not looked at"
	}
	if p.Writes > 0 {
		line += "; " + console.Count(int(p.Writes), "place") + " to write"
	}
	if p.Bytes > 0 {
		line += "; about " + console.FormatBytes(p.Bytes) + " in the file"
	}
	if p.Removes > 0 {
		line += fmt.Sprintf("; %d to remove", p.Removes)
	}
	_, err := fmt.Fprintln(w, line)
	for _, c := range p.Conflicts {
		if err == nil {
			_, err = fmt.Fprintf(w, "    conflict: %s\n", console.Printable(c))
		}
	}
	if err == nil && p.Total > 0 {
		_, err = fmt.Fprintf(w, "  It would fail: %s. Mend them, or have \"onConflict\": \"replace\" if places hold something else.\n", console.Count(p.Total, "conflict"))
	}
	return err
}

// printChanges prints which definitions a document adds, changes, leaves and ends, and of the
// first two the cost and what they find.
func printChanges(w io.Writer, file string, current, next *derive.Document, found map[string]preview) error {
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
		if err == nil {
			err = found[d.Name].print(w)
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
