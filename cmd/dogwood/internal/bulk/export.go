package bulk

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Export writes the value at a path to a file. A file that exists is replaced
// only when the export is complete.
type Export struct {
	Path   string `arg:"" help:"Path in the database."`
	File   string `arg:"" optional:"" help:"File to write, compressed if its name ends with .gz; standard output if it is not given. An existing file is replaced when everything has arrived. With --layout firebase, a directory." placeholder:"FILE"`
	Layout string `help:"Layout of what is written: json, or firebase for a directory that \"firebase emulators:start --import\" takes." enum:"json,firebase" default:"json"`
	datadir.OfflineFlags
	client.Flags
}

func (Export) Help() string {
	return `Writes everything at the path as JSON with priorities, as of one moment, in the form
that import reads. It may be of any size. Only administrators may export.

With --data, it reads the data directory, on which no server may be running.

Examples:

  dogwood export / backup.json --secret-file dogwood-data/admin-secret
  dogwood export /rooms | gzip > rooms.json.gz
  dogwood export / backup.json.gz --data /var/lib/dogwood --namespace shop
  dogwood export / ./saved-data --layout firebase --owner`
}

func (c *Export) Run(e *console.Env) error {
	if err := c.write(e); err != nil {
		return err
	}
	switch {
	case c.Layout == "firebase":
		e.Done("Exported the databases to %s", c.File)
	case c.File != "" && c.File != "-":
		e.Done("Exported %s of %s to %s (%s)", c.Path, databaseOf(c.OfflineFlags, c.Flags, c.Namespace), c.File, sizeOf(c.File))
	}
	return nil
}

func (c *Export) write(e *console.Env) error {
	path, err := tree.ParsePath(c.Path)
	if err != nil {
		return err
	}
	if c.Layout == "firebase" {
		return c.exportFirebase(e, path)
	}
	emit := func(w io.Writer) error { return c.export(e.Ctx, path, c.Namespace, w) }
	if c.File == "" || c.File == "-" {
		return console.PrintTo(e.Stdout, emit)
	}
	return datadir.WriteFile(c.File, 0o600, emit)
}

// export writes what a database has at the path, compressed if the name of the
// file says so.
func (c *Export) export(ctx context.Context, path tree.Path, ns string, w io.Writer) error {
	from := c.receive
	if c.Data != "" {
		from = c.exportHere
	}
	if !strings.HasSuffix(c.File, ".gz") {
		return from(ctx, path, ns, w)
	}
	z := gzip.NewWriter(w)
	return errors.Join(from(ctx, path, ns, z), z.Close())
}

// receive writes the export of a server. The file may be larger than memory, so it is
// copied as it arrives.
func (c *Export) receive(ctx context.Context, path tree.Path, ns string, w io.Writer) error {
	db, err := c.Bulk(ns)
	if err != nil {
		return err
	}
	r, err := db.Request(ctx, http.MethodGet, path.String(), url.Values{"format": {"export"}}, nil)
	if err != nil {
		return err
	}
	db.Uncompressed(r)
	return db.Call(r, w)
}

// exportHere writes the value from the file in the data directory, in one snapshot.
func (c *Export) exportHere(_ context.Context, path tree.Path, ns string, w io.Writer) error {
	return c.ReadStore(ns, func(s *store.Store) error {
		return s.View(func(tx *store.Tx) error { return tx.WriteJSON(w, path) })
	})
}
