// Package bulk has the commands for whole databases: import, export, backup, restore, compact
// and check. Most work through a server or, with --data, on the files.
package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Import replaces the value at a path by a file.
//
// Through a server, other clients go on meanwhile and see all of it or nothing.
// With --data the command opens the file itself, which needs the server to be
// stopped: the lock of the directory makes sure of that.
type Import struct {
	Path   string `arg:"" help:"Path in the database."`
	File   string `arg:"" help:"File that holds JSON, compressed with gzip or not; - is standard input. With --layout firebase, a directory."`
	DryRun bool   `help:"Read the file, report errors in it, and change nothing." env:"-"`
	console.Sure
	Layout string `help:"Layout of what is imported: json, or firebase for the directory that \"firebase emulators:export\" makes." enum:"json,firebase" default:"json"`
	datadir.OfflineFlags
	client.Flags
}

func (Import) Help() string {
	return `Replaces everything at the path with the file, which may be of any size: neither this
command nor the server has all of it in memory. Readers see all of it or nothing; if
the import fails, nothing changes. Only administrators may import, and rules do not
apply. Server values ({".sv": …}) are refused. Only users at a terminal are asked.

With --data, the file goes into the data directory, on which no server may be running.
The directory and the database are created if they do not exist.

Examples:

  dogwood import / backup.json --secret-file dogwood-data/admin-secret
  dogwood import /rooms rooms.json.gz --dry-run
  gunzip < backup.json.gz | dogwood import / - --yes
  dogwood import / backup.json --data /var/lib/dogwood --namespace shop
  dogwood import / ./saved-data --layout firebase --owner`
}

func (c *Import) Run(e *console.Env) error {
	path, err := tree.ParsePath(c.Path)
	if err != nil {
		if _, missing := os.Stat(c.Path); missing == nil {
			return fmt.Errorf("%s: %w; the path in the database comes before the file: dogwood import %s %s", c.Path, err, c.File, c.Path)
		}
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	sources := []importSource{{file: c.File, ns: c.Namespace}}
	if c.Layout == "firebase" {
		if sources, err = firebaseSources(c.File, c.Namespace); err != nil {
			return err
		}
	}
	if !c.DryRun && !c.IsSure() {
		if err := e.Confirm(fmt.Sprintf("This replaces everything at %s.", path)); err != nil {
			return err
		}
	}
	for _, src := range sources {
		size, err := c.importFile(e, path, src)
		switch {
		case err != nil:
			return err
		case c.DryRun:
			e.Say("%s can be imported.", src.file)
		default:
			e.Done("Imported %s into %s of %s (%s)", src.file, path, databaseOf(c.OfflineFlags, c.Flags, src.ns), console.FormatBytes(size))
		}
	}
	return nil
}

// An importSource is a file and the database that it goes into.
type importSource struct{ file, ns string }

// importFile imports one file, and returns how many bytes it has.
func (c *Import) importFile(e *console.Env, path tree.Path, src importSource) (size int64, err error) {
	r, err := datadir.OpenBulk(e, src.file)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	stop := console.ShowProgress(e, r.Done.Load, r.Size)
	defer stop()
	switch {
	case c.DryRun:
		_, err = store.Validate(e.Ctx, path, r, nil)
	case c.Data != "":
		err = c.importHere(e.Ctx, path, src.ns, r)
	default:
		err = c.send(e, path, src.ns, r)
	}
	stop()
	if err != nil {
		return 0, importError(e, src.file, err)
	}
	return r.Done.Load(), nil
}

// importError names the file if that is what is wrong.
func importError(e *console.Env, file string, err error) error {
	if e.Ctx.Err() != nil {
		return console.ErrInterrupted
	}
	if parse := (*tree.ParseError)(nil); errors.As(err, &parse) {
		return fmt.Errorf("%s:%w", file, parse)
	}
	if damaged := (*datadir.DamagedError)(nil); errors.As(err, &damaged) {
		return damaged
	}
	return err
}

// send has a server import what r holds.
func (c *Import) send(e *console.Env, path tree.Path, ns string, r io.Reader) error {
	db, err := c.Bulk(ns)
	if err != nil {
		return err
	}
	q := url.Values{"writeSizeLimit": {"unlimited"}, "import": {"true"}, "print": {"silent"}}
	req, err := db.Request(e.Ctx, http.MethodPut, path.String(), q, client.StreamPayload(io.NopCloser(r)))
	if err != nil {
		return err
	}
	return db.CallWrite(e, req, io.Discard)
}

// importHere imports what r holds into a file of the data directory.
func (c *Import) importHere(ctx context.Context, path tree.Path, ns string, r io.Reader) (err error) {
	file, err := c.DataFile(ns)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(c.Data, 0o700); err != nil {
		return datadir.ExplainFlag(c.Data, err)
	}
	lock, err := datadir.LockAlone(file, "import")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	s, made, err := datadir.OpenOrMake(file)
	if errors.Is(err, fs.ErrPermission) {
		return datadir.ExplainFlag(c.Data, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), datadir.RemoveIf(made && err != nil, file)) }()
	if err := s.View(func(tx *store.Tx) error {
		data, err := declared.Load(tx)
		return cmp.Or(err, declared.Refuses(data, path))
	}); err != nil {
		return err
	}
	l, err := s.NewLoad(path, store.LoadOptions{})
	if err != nil {
		return err
	}
	if err := l.Read(ctx, r); err != nil {
		return errors.Join(err, l.Abort())
	}
	return link(s, l, path)
}

// link puts what a load has read in its place, or ends the load.
func link(s *store.Store, l *store.Load, path tree.Path) error {
	err := s.Update(func(tx *store.Tx) error {
		data, err := declared.Load(tx)
		if err != nil {
			return err
		}
		// Without a record in the journal: its readers have to read the state.
		tx.SetRevision(tx.Revision() + 1)
		if _, err := l.Link(tx); err != nil {
			return err
		}
		_, err = data.Loaded(tx, path) // a server builds what follows from it
		return err
	})
	if err != nil { // Abort does nothing if the rows are linked after all
		return errors.Join(err, l.Abort())
	}
	return nil
}

// ImportFrom replaces a database of a server by what emit writes, if all of that succeeds.
func ImportFrom(e *console.Env, flags client.Flags, ns string, force bool, emit func(io.Writer) error) error {
	c := &Import{Flags: flags}
	if !force {
		if err := e.Confirm(fmt.Sprintf("This replaces everything in the database %s.", ns)); err != nil {
			return err
		}
	}
	r, w := io.Pipe()
	emitted := make(chan error, 1)
	go func() {
		err := emit(w)
		emitted <- err
		_ = w.CloseWithError(err) // nil ends the body
	}()
	err := c.send(e, tree.Path{}, ns, r)
	_ = r.CloseWithError(errImported) // ends emit
	if from := <-emitted; from != nil && !errors.Is(from, errImported) {
		return from
	}
	return err
}

// errImported stops what feeds an import that has ended.
var errImported = errors.New("the import ended")
