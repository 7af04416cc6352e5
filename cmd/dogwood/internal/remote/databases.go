package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"text/tabwriter"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// Databases creates, lists and drops databases of a server that runs.
type Databases struct {
	List   listDatabases  `cmd:"" help:"List the databases of a server, and those that were dropped."`
	Create createDatabase `cmd:"" help:"Create an empty database."`
	Drop   dropDatabase   `cmd:"" help:"Take a database out of a server; its file is kept until it is purged."`
	Purge  purgeDatabase  `cmd:"" help:"Delete the file of a dropped database."`
}

// Help implements kong.HelpProvider.
func (Databases) Help() string {
	return `For administrators of the whole server. The commands act on a server that runs.

Examples:

  dogwood databases list --secret-file dogwood-data/admin-secret
  dogwood databases create shop --secret-file dogwood-data/admin-secret`
}

// Where a server has them.
const (
	databasesPlace = "/.settings/databases"
	droppedPlace   = "/.settings/dropped"
)

// A database is what a server says about one of its own.
type database struct {
	Name        string
	Bytes       int64
	Open        bool
	Default     bool
	Configured  bool
	Children    int
	Connections int
	Listens     int
}

// A droppedDatabase is what a server says about one that was dropped.
type droppedDatabase struct {
	File, Name, Time string
	Bytes            int64
}

// wholeServer returns a client for what is about no database.
func wholeServer(f client.Flags) (*client.Client, error) {
	c, err := f.Bulk("") // to close a database may take as long as the reads that are under way
	if err == nil {
		c.Namespace = ""
	}
	return c, err
}

// ask sends a request about databases and reads the answer into v. missing is what a 404 means.
func ask(e *console.Env, c *client.Client, method, path, body, missing string, v any) error {
	p := client.NewPayload(body)
	if body == "" {
		p = nil
	}
	r, err := c.Request(e.Ctx, method, path, nil, p)
	if err != nil {
		return err
	}
	err = c.Read(r, "answer about databases", v)
	if answer := (*client.ServerError)(nil); errors.As(err, &answer) && answer.Status == http.StatusNotFound {
		return errors.New(missing)
	}
	return err
}

const noSuchDoor = "the server does not know this request; is it older than this program?"

type listDatabases struct {
	JSON bool `help:"Print JSON."`
	client.Flags
}

func (listDatabases) Help() string {
	return `Names the databases with the sizes of their files, and below them the files of databases
that were dropped. It is for administrators of the whole server.

Examples:

  dogwood databases list --secret-file dogwood-data/admin-secret
  dogwood databases list --json --owner | jq -r '.databases[].name'`
}

func (c *listDatabases) Run(e *console.Env) error {
	server, err := wholeServer(c.Flags)
	if err != nil {
		return err
	}
	var raw json.RawMessage
	if err := ask(e, server, http.MethodGet, databasesPlace, "", noSuchDoor, &raw); err != nil {
		return err
	}
	if c.JSON {
		return console.PrintJSON(e.Stdout, raw)
	}
	var list struct {
		Databases []database
		Dropped   []droppedDatabase
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("list of databases: %w", err)
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	for _, d := range list.Databases {
		state := "idle"
		if d.Open {
			state = "open"
		}
		if d.Default {
			state += ", default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.Name, console.FormatBytes(d.Bytes), state)
	}
	for _, d := range list.Dropped {
		fmt.Fprintf(w, "%s\t%s\tdropped %s\n", d.File, console.FormatBytes(d.Bytes), d.Time)
	}
	return w.Flush()
}

type createDatabase struct {
	Name string `arg:"" help:"Small letters, digits and hyphens; at most 63."`
	client.Flags
}

func (createDatabase) Help() string {
	return `The database is on disk when the command ends. It has the rules of --rules of the server,
until others are deployed to it. It is for administrators of the whole server.

Examples:

  dogwood databases create shop --secret-file dogwood-data/admin-secret
  dogwood rules deploy shop.rules.json --namespace shop --secret-file dogwood-data/admin-secret`
}

func (c *createDatabase) Run(e *console.Env) error {
	server, err := wholeServer(c.Flags)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"name": c.Name})
	if err != nil {
		return err
	}
	var d database
	if err := ask(e, server, http.MethodPost, databasesPlace, string(body), noSuchDoor, &d); err != nil {
		return fmt.Errorf("database %s: %w", c.Name, err)
	}
	e.Say("Created the database %s on %s.", d.Name, server.Server())
	return nil
}

type dropDatabase struct {
	Name string `arg:"" help:"The database."`
	console.Sure
	client.Flags
}

func (dropDatabase) Help() string {
	return `Says what is in the database and asks first; --yes is required where there is no terminal. Then its clients are disconnected, and its
file is renamed to NAME.db.dropped-TIME in the data directory. That file is deleted by
"dogwood databases purge" and by nothing else. "dogwood restore" puts it back, as it does
with a backup. The default database, and those that --namespace names, cannot be dropped.

Examples:

  dogwood databases drop shop-test --secret-file dogwood-data/admin-secret
  dogwood databases drop shop-test --yes --owner`
}

func (c *dropDatabase) Run(e *console.Env) error {
	server, err := wholeServer(c.Flags)
	if err != nil {
		return err
	}
	path, missing := databasesPlace+"/"+c.Name, fmt.Sprintf("there is no database %q on %s", c.Name, server.Server())
	var d database
	if err := ask(e, server, http.MethodGet, path, "", missing, &d); err != nil {
		return err
	}
	if !c.IsSure() {
		question := fmt.Sprintf("This drops the database %s of %s: %s, %s at its root, %s, %s.", c.Name, server.Server(),
			console.FormatBytes(d.Bytes), children(d.Children), console.Count(d.Connections, "connection"), console.Count(d.Listens, "listen"))
		if err := e.Ask(question); err != nil {
			return err
		}
	}
	var gone droppedDatabase
	if err := ask(e, server, http.MethodDelete, path, "", missing, &gone); err != nil {
		return fmt.Errorf("database %s: %w", c.Name, err)
	}
	if gone.File == "" {
		_, err = fmt.Fprintf(e.Stdout, "Dropped %s, which was in memory.\n", c.Name)
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "Dropped %s. Its file is kept as %s (%s).\n", c.Name, gone.File, console.FormatBytes(gone.Bytes))
	return err
}

func children(n int) string {
	if n == 1 {
		return "1 child"
	}
	return fmt.Sprintf("%d children", n)
}

type purgeDatabase struct {
	File string `arg:"" help:"The file, as the list names it."`
	console.Sure
	client.Flags
}

func (purgeDatabase) Help() string {
	return `Deletes the file. The data of the database are lost, unless there is a backup. It asks
first; --yes is required where there is no terminal.

Examples:

  dogwood databases purge shop-test.db.dropped-20261126T175900Z --secret-file dogwood-data/admin-secret`
}

func (c *purgeDatabase) Run(e *console.Env) error {
	server, err := wholeServer(c.Flags)
	if err != nil {
		return err
	}
	if !c.IsSure() {
		if err := e.Ask(fmt.Sprintf("This deletes %s of %s.", c.File, server.Server())); err != nil {
			return err
		}
	}
	var gone struct{ Purged string }
	missing := fmt.Sprintf("there is no dropped database %q on %s; \"dogwood databases list\" names them", c.File, server.Server())
	if err := ask(e, server, http.MethodDelete, droppedPlace+"/"+c.File, "", missing, &gone); err != nil {
		return err
	}
	e.Say("Purged %s.", gone.Purged)
	return nil
}
