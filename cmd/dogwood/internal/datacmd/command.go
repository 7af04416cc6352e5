// Package datacmd has the commands of dogwood data, for documents that declare data.
package datacmd

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/versioned"
)

// Command is the tools for documents that declare data. Check needs no server.
type Command struct {
	Check    checkCommand    `cmd:"" help:"Check a document that declares data, and print what it costs."`
	Deploy   deployCommand   `cmd:"" help:"Have a server check a document that declares data, and put it in force."`
	History  historyCommand  `cmd:"" help:"List the versions of a server's data document, or print one."`
	Rollback rollbackCommand `cmd:"" help:"Put an earlier version of a server's data document in force again."`
	Status   statusCommand   `cmd:"" help:"Show how far a server is with each definition."`
	Pause    pauseCommand    `cmd:"" help:"Stop applying a definition."`
	Resume   resumeCommand   `cmd:"" help:"Apply a definition again that is paused or has failed."`
	Rebuild  rebuildCommand  `cmd:"" help:"Build anew what a definition keeps."`
	Convert  convertCommand  `cmd:"" help:"Propose a document from a file of invariants."`
	Explain  explainCommand  `cmd:"" help:"Show what follows from a write by declared data. Nothing is written."`
}

func (Command) Help() string {
	return `A data document declares inverse indexes, counters, sums and bounded lists, which the
server then keeps in the commit of each write.

Examples:

  dogwood data check database.data.json
  dogwood data deploy database.data.json --secret-file dogwood-data/admin-secret
  dogwood data explain /groups/g1/members/ana true --owner`
}

// historyCommand lists the versions of the data document that a server has kept, or prints one.
type historyCommand struct{ versioned.HistoryFlags }

func (historyCommand) Help() string {
	return `A server keeps the last 100 versions of the data document, of at most 16 MiB in all.
The first of the list is in force.

Examples:

  dogwood data history --secret-file dogwood-data/admin-secret
  dogwood data history 7 > database.data.json`
}

func (c *historyCommand) Run(e *console.Env) error { return c.List(e, versioned.Data) }

// rollbackCommand puts an earlier version of the data document in force.
type rollbackCommand struct {
	versioned.RollbackFlags
	DryRun bool `help:"Only print what it changes, and what it finds."`
	console.Sure
}

func (rollbackCommand) Help() string {
	return `The document of an earlier version becomes a new version, so nothing is lost. A second
rollback undoes the first. What is kept by definitions that end becomes ordinary data.

It first prints what changes and what is found in the database, as dogwood data deploy does, and
asks; it needs --yes where there is no terminal. Definitions that come back find what writes have
left in their places meanwhile, and fail if that is not what follows.

Examples:

  dogwood data rollback --secret-file dogwood-data/admin-secret
  dogwood data rollback 7 --dry-run`
}

func (c *rollbackCommand) Run(e *console.Env) error {
	db, to, err := c.Find(e, versioned.Data)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := versioned.Data.Print(e, db, to, &text); err != nil {
		return err
	}
	what := fmt.Sprintf("version %d", to)
	tag, err := plan(e, db, url.Values{}, what, text.String())
	if err != nil || c.DryRun {
		return err
	}
	if !c.IsSure() {
		if err := e.Ask(fmt.Sprintf("This puts the data document of %s in force again%s.", what, versioned.InDatabase(db))); err != nil {
			return err
		}
	}
	if err := c.Restore(e, db, versioned.Data, to, tag); err != nil {
		return meanwhile(err)
	}
	return printUnfinished(e, db)
}
