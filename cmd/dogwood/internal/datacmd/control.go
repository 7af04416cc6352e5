package datacmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/versioned"
)

// nameFlags name a definition.
type nameFlags struct {
	Name string `arg:"" help:"Name of the definition."`
	client.Flags
}

// build has the server build the definition, and prints how far it has come after a while.
func (c *nameFlags) build(e *console.Env, verb, done string) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	if err := c.call(e, db, verb, done); err != nil {
		return err
	}
	list, err := c.await(e, db)
	if err != nil {
		return err
	}
	if err := printStatus(e.Stdout, list); err != nil {
		return err
	}
	return failures(list)
}

// A definition is looked at every lookEvery until it is built, but not for longer than buildTime.
const (
	buildTime = 10 * time.Second
	lookEvery = 100 * time.Millisecond
)

// await returns the status of the definition, once it is built or the time is over.
func (c *nameFlags) await(e *console.Env, db *client.Client) (list []status, err error) {
	for end := time.Now().Add(buildTime); ; {
		if list, err = statusOf(e, db); err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(s status) bool { return s.Name != c.Name })
		if time.Now().After(end) || !slices.ContainsFunc(list, status.isWorkedOn) {
			return list, nil
		}
		select {
		case <-time.After(lookEvery):
		case <-e.Ctx.Done():
			return nil, e.Ctx.Err()
		}
	}
}

// isWorkedOn reports whether the state will change by itself.
func (s status) isWorkedOn() bool {
	return s.State == "verifying" || s.State == "clearing" || s.State == "building"
}

// call has the server do something with the definition, and says that it does.
func (c *nameFlags) call(e *console.Env, db *client.Client, verb, done string) error {
	r, err := db.Request(e.Ctx, http.MethodPost, fmt.Sprintf("%s/%s/%s", versioned.Data.Place, c.Name, verb), nil, nil)
	if err != nil {
		return err
	}
	if err := db.Call(r, io.Discard); err != nil {
		return c.missing(e, db, err)
	}
	_, err = fmt.Fprintf(e.Stdout, "%s %s%s.\n", c.Name, done, versioned.InDatabase(db))
	return err
}

// maxNamed is how many definitions an error names.
const maxNamed = 20

// missing adds to the answer that there is no such thing which definitions there are.
func (c *nameFlags) missing(e *console.Env, db *client.Client, err error) error {
	answer := (*client.ServerError)(nil)
	if !errors.As(err, &answer) || answer.Status != http.StatusNotFound {
		return err
	}
	list, listErr := statusOf(e, db)
	if listErr != nil { // it is the database that is missing
		return err
	}
	var names []string
	for _, s := range list {
		names = append(names, console.Printable(s.Name))
	}
	return fmt.Errorf("there is no definition %q%s; there are: %s", c.Name, versioned.InDatabase(db), cmp.Or(console.List(names, maxNamed, ", "), "none"))
}

type pauseCommand struct{ nameFlags }

func (pauseCommand) Help() string {
	return `What the definition keeps stays as it is, and may be written like other data, until it
is resumed.

Examples:

  dogwood data pause members --secret-file dogwood-data/admin-secret`
}

func (c *pauseCommand) Run(e *console.Env) error {
	db, err := c.Client()
	if err != nil {
		return err
	}
	return c.call(e, db, "pause", "is paused")
}

type resumeCommand struct{ nameFlags }

func (resumeCommand) Help() string {
	return `The definition is built again, since writes have passed it by. The other definitions go
on meanwhile. The command waits for up to 10 seconds and prints the state of the definition; the
exit code is 1 if it has failed. Later, dogwood data status shows how far it is.

Examples:

  dogwood data resume members --secret-file dogwood-data/admin-secret`
}

func (c *resumeCommand) Run(e *console.Env) error { return c.build(e, "resume", "is resumed") }

type rebuildCommand struct{ nameFlags }

func (rebuildCommand) Help() string {
	return `The server compares what the definition keeps with what follows from the data, and mends
it, in the background. It is for what dogwood check finds. The command waits for up to 10
seconds and prints the state of the definition; the exit code is 1 if it has failed. Later,
dogwood data status shows how far it is.

Examples:

  dogwood data rebuild members --secret-file dogwood-data/admin-secret`
}

func (c *rebuildCommand) Run(e *console.Env) error { return c.build(e, "rebuild", "is being rebuilt") }
