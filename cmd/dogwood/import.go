package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

type importCommand struct {
	Path   string `arg:"" help:"Path in the database."`
	File   string `arg:"" help:"File that holds JSON, compressed with gzip or not; - is standard input. With --layout firebase, a directory."`
	DryRun bool   `help:"Read the file, say what is wrong with it, and change nothing." env:"-"`
	Force  bool   `short:"f" help:"Do not ask. Only who is at a terminal is asked." env:"-"`
	Layout string `help:"Layout of what is imported: json, or firebase for the directory that \"firebase emulators:export\" makes." enum:"json,firebase" default:"json"`
	offlineFlags
	clientFlags
}

func (importCommand) Help() string {
	return `Everything at the path is replaced by the file, which may be of any size: it is
never in memory as a whole, here or on the server. Readers see all of it or
nothing; if the import does not come to its end, nothing has changed. It is for
administrators: no rules are asked. Server values ({".sv": …}) are refused.

With --data, the file goes into the data directory, and no server may be running
on it. The directory and the database are made if they are not there.

Examples:

  dogwood import / backup.json --secret-file dogwood-data/admin-secret
  dogwood import /rooms rooms.json.gz --dry-run
  gunzip < backup.json.gz | dogwood import / - --force
  dogwood import / backup.json --data /var/lib/dogwood --namespace shop
  dogwood import / ./saved-data --layout firebase --owner`
}

func (c *importCommand) Run(e *env) error {
	path, err := tree.ParsePath(c.Path)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	sources := []importSource{{file: c.File, ns: c.Namespace}}
	if c.Layout == "firebase" {
		if sources, err = firebaseSources(c.File, c.Namespace); err != nil {
			return err
		}
	}
	if !c.DryRun && !c.Force {
		if err := e.confirm(fmt.Sprintf("This replaces everything at %s.", path)); err != nil {
			return err
		}
	}
	for _, src := range sources {
		if err := c.importFile(e, path, src); err != nil {
			return err
		}
	}
	return nil
}

// An importSource is a file and the database that it goes into.
type importSource struct{ file, ns string }

func (c *importCommand) importFile(e *env, path tree.Path, src importSource) error {
	r, err := openBulk(e, src.file)
	if err != nil {
		return err
	}
	defer r.Close()
	p := newReadProgress(e, r)
	defer p.stop()
	switch {
	case c.DryRun:
		_, err = store.Validate(e.ctx, path, r, nil)
	case c.Data != "":
		err = c.importHere(e.ctx, path, src.ns, r)
	default:
		err = c.send(e.ctx, path, src.ns, r)
	}
	p.stop()
	if err != nil {
		return importError(e, src.file, err)
	}
	if c.DryRun {
		e.say("%s can be imported.", src.file)
	} else {
		e.say("Imported %s.", formatBytes(r.read.Load()))
	}
	return nil
}

// importError names the file if that is what is wrong.
func importError(e *env, file string, err error) error {
	if e.ctx.Err() != nil {
		return errInterrupted
	}
	if parse := (*tree.ParseError)(nil); errors.As(err, &parse) {
		return fmt.Errorf("%s:%w", file, parse)
	}
	if damaged := (*damagedError)(nil); errors.As(err, &damaged) {
		return damaged
	}
	return err
}

// send has a server import what r holds.
func (c *importCommand) send(ctx context.Context, path tree.Path, ns string, r io.Reader) error {
	flags := c.clientFlags
	flags.Namespace = ns
	db, err := flags.patient(bulkPatience)
	if err != nil {
		return err
	}
	q := url.Values{"writeSizeLimit": {"unlimited"}, "import": {"true"}, "print": {"silent"}}
	req, err := db.request(ctx, http.MethodPut, path.String(), q, &payload{ReadCloser: io.NopCloser(r), size: -1})
	if err != nil {
		return err
	}
	return db.call(req, io.Discard)
}

// importHere imports what r holds into a file of the data directory.
func (c *importCommand) importHere(ctx context.Context, path tree.Path, ns string, r io.Reader) (err error) {
	file, err := c.file(ns)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(c.Data, 0o700); err != nil {
		return err
	}
	lock, err := useAlone(file, "import")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	s, made, err := openOrMake(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), undo(made && err != nil, file)) }()
	l, err := s.NewLoad(path, store.LoadOptions{})
	if err != nil {
		return err
	}
	if err := l.Read(ctx, r); err != nil {
		return errors.Join(err, l.Abort())
	}
	return s.Update(func(tx *store.Tx) error {
		// Without a record in the journal: who follows it has to read the state.
		tx.SetRevision(tx.Revision() + 1)
		_, err := l.Link(tx)
		return err
	})
}
