package bulk

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Log prints the entries of a database's log, through a server or, with --data, in this
// process.
type Log struct {
	From   uint64 `help:"First revision to print; 0: the oldest that the log has." default:"0" placeholder:"REVISION"`
	Follow bool   `help:"Go on with new entries, until Ctrl-C."`
	datadir.OfflineFlags
	client.Flags
}

func (Log) Help() string {
	return `Prints what was committed, as JSON lines. Each entry is a header with the revision,
the time and the number of lines that follow, and then the operations:

  {"v":1,"db":"5f0a…","run":"a1c3…","rev":812,"at":1764002345678,"n":1,"sum":"9bd366ae"}
  {"w":{"/rooms/r1/name":"Lobby"},"uid":"ana","door":"socket","cause":"set"}

docs/storage.md describes the lines. A database in memory has no log. If the log does not
reach back to --from, the command fails: what it lacks is in the database
only. With --data it reads the files of a data directory on which no server is running.

Examples:

  dogwood log --namespace shop --secret-file dogwood-data/admin-secret
  dogwood log --from 812 --follow | jq -c 'select(.w)'
  dogwood log --data /var/lib/dogwood --namespace shop`
}

func (c *Log) Run(e *console.Env) error {
	if c.Data == "" {
		return c.receive(e.Ctx, e.Stdout)
	}
	if c.Follow {
		return errors.New("--follow needs a server: without --data")
	}
	return c.ReadLog(c.Namespace, func(s *store.Store) error { return printLog(e.Stdout, s, c.From) })
}

// receive prints what a server sends.
func (c *Log) receive(ctx context.Context, w io.Writer) error {
	db, err := c.Bulk(c.Namespace)
	if err != nil {
		return err
	}
	query := url.Values{"from": {strconv.FormatUint(c.From, 10)}}
	if c.Follow {
		query.Set("follow", "true")
	}
	r, err := db.Request(ctx, http.MethodGet, "/.settings/log", query, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", client.TypeLines)
	return db.Call(r, w)
}

// printLog prints what a file and its log have.
func printLog(w io.Writer, s *store.Store, from uint64) error {
	tail, err := s.Tail(from)
	if err != nil {
		return err
	}
	defer tail.Close()
	for {
		e, ok, err := tail.Ready()
		if err != nil || !ok {
			return err
		}
		if _, err := w.Write(e.Text); err != nil {
			return err
		}
	}
}
