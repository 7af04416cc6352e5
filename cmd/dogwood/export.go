package main

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

type exportCommand struct {
	Path   string `arg:"" help:"Path in the database."`
	File   string `arg:"" optional:"" help:"File to write, compressed if its name ends with .gz; standard output if it is not given. It is replaced when all has arrived. With --layout firebase, a directory." placeholder:"FILE"`
	Layout string `help:"Layout of what is written: json, or firebase for a directory that \"firebase emulators:start --import\" takes." enum:"json,firebase" default:"json"`
	offlineFlags
	clientFlags
}

func (exportCommand) Help() string {
	return `Writes everything at the path as JSON with priorities, as it was at one moment,
in the form that import takes back. It may be of any size. It is for
administrators.

With --data, it is read from the data directory, and no server may be running on
it.

Examples:

  dogwood export / backup.json --secret-file dogwood-data/admin-secret
  dogwood export /rooms | gzip > rooms.json.gz
  dogwood export / backup.json.gz --data /var/lib/dogwood --namespace shop
  dogwood export / ./saved-data --layout firebase --owner`
}

func (c *exportCommand) Run(e *env) error {
	path, err := tree.ParsePath(c.Path)
	if err != nil {
		return err
	}
	if c.Layout == "firebase" {
		return c.exportFirebase(e, path)
	}
	emit := func(w io.Writer) error { return c.export(e.ctx, path, c.Namespace, w) }
	if c.File == "" || c.File == "-" {
		return printTo(e.stdout, emit)
	}
	return writeBulk(c.File, emit)
}

// export writes what a database has at the path, compressed if the name of the
// file says so.
func (c *exportCommand) export(ctx context.Context, path tree.Path, ns string, w io.Writer) error {
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

func (c *exportCommand) receive(ctx context.Context, path tree.Path, ns string, w io.Writer) error {
	flags := c.clientFlags
	flags.Namespace = ns
	db, err := flags.patient(bulkPatience)
	if err != nil {
		return err
	}
	r, err := db.request(ctx, http.MethodGet, path.String(), url.Values{"format": {"export"}}, nil)
	if err != nil {
		return err
	}
	db.uncompressedHere(r)
	return db.call(r, w)
}

func (c *exportCommand) exportHere(_ context.Context, path tree.Path, ns string, w io.Writer) (err error) {
	file, err := c.file(ns)
	if err != nil {
		return err
	}
	lock, err := useToRead(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	s, err := openThere(file, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	err = s.View(func(tx *store.Tx) error { return tx.WriteJSON(w, path) })
	return errors.Join(err, s.Close())
}
