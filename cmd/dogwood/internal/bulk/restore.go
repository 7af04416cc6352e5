package bulk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
	"github.com/dogwooddb/dogwood/tree/store/logdir"
)

// Restore puts a backup into a data directory.
type Restore struct {
	File string `arg:"" help:"File that backup made, compressed with gzip or not; - is standard input."`
	datadir.Flag
	Namespace string `help:"Database to restore it as, \"default\" if it is not given." aliases:"ns,instance" placeholder:"NAME"`
	console.Sure
}

func (Restore) Help() string {
	return `Puts a backup into a data directory, on which no server may be running. The backup is
verified first. An existing database is replaced only with --yes, and its file stays
in the directory under another name.

Examples:

  dogwood restore shop.db --data /var/lib/dogwood --namespace shop
  dogwood restore backups/shop-20260301T020000Z.db --namespace shop --yes
  ssh vault 'cat shop.db.gz' | dogwood restore - --namespace shop`
}

func (c *Restore) Run(e *console.Env) (err error) {
	file, err := datadir.DataFile(c.Data, c.Namespace)
	if err != nil {
		return err
	}
	src, err := datadir.OpenBulk(e, c.File) // first, since what is misspelt leaves no directory
	if err != nil {
		return err
	}
	defer src.Close()
	if err := durable.MkdirAll(c.Data, 0o700); err != nil {
		return datadir.ExplainFlag(c.Data, err)
	}
	lock, err := datadir.LockAlone(file, "restore")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	release, err := c.claim(e.Stdout, file)
	if err != nil {
		return err
	}
	defer release()
	kept, err := replaceKept(e.Ctx, file, src)
	if errors.Is(err, fs.ErrPermission) {
		return datadir.ExplainFlag(c.Data, err)
	}
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintf(e.Stdout, "The previous database is now %s\n", kept)
	}
	e.Done("Restored the database %s in %s (%s)", strings.TrimSuffix(filepath.Base(file), ".db"), file, sizeOf(file))
	return nil
}

// replaceKept replaces a file by a checked copy of src. It returns the name under which the
// file that was there is kept.
func replaceKept(ctx context.Context, file string, src io.Reader) (kept string, err error) {
	err = datadir.PlaceFile(file, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, src)
		return err
	}, func(part string) error {
		if err := checks.Copy(ctx, part); err != nil {
			return err
		}
		if err := store.LeaveLog(part); err != nil {
			return err
		}
		kept, err = keepAside(file)
		return err
	})
	if err != nil {
		return "", errors.Join(err, dropKept(kept, file))
	}
	return kept, nil
}

// claim makes sure that the file may be replaced and that no program writes to it
// until release is called: not even an older one, that does not lock the directory.
func (c *Restore) claim(w io.Writer, file string) (release func(), err error) {
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	if !c.IsSure() {
		return nil, fmt.Errorf("%s exists; --yes replaces it and keeps the old file under another name", file)
	}
	if err := complete(w, file); err != nil {
		return nil, err
	}
	s, err := store.Open(file, store.Options{ReadOnly: true})
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil, fmt.Errorf("%s: %w", file, datadir.ExplainOpen(err))
	case err != nil: // damaged, which is why there is a backup
		return func() {}, nil
	}
	return func() { _ = s.Close() }, nil // it was only read
}

// complete puts the last commits from the log into a file, which is kept under another name. If they
// are lost, or the file is damaged, that may be why there is a restore: it says so and goes on.
func complete(w io.Writer, file string) error {
	if _, needs, err := store.InLog(file); err != nil || !needs {
		return nil
	}
	s, err := store.Open(file, store.Options{})
	if err == nil && s.ReadOnly() {
		err = errors.New("it can only be read, or the disk has no room")
	}
	if s != nil {
		err = errors.Join(err, s.Close())
	}
	switch {
	case logdir.Lost(err), errors.Is(err, store.ErrDamaged):
		fmt.Fprintf(w, "The previous database stays without its last commits: %v\n", err)
	case err != nil:
		return fmt.Errorf("put the last commits from the log into %s: %w", file, datadir.ExplainOpen(err))
	}
	return nil
}

// keepAside gives a file, if it exists, a second name with the time of the replacement, and
// returns that name. The file keeps its own name until another one takes it, so there is a
// database at any moment.
func keepAside(file string) (string, error) {
	kept := file + store.KeptSuffix + time.Now().UTC().Format("20060102T150405Z")
	err := durable.Link(file, kept)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case errors.Is(err, os.ErrExist):
		return "", fmt.Errorf("%s exists already", filepath.Base(kept))
	case err != nil:
		return "", fmt.Errorf("the existing database cannot be kept: %w; move it away and restore without --yes", err)
	}
	return kept, nil
}

// dropKept removes the second name again, if the file still has its own name.
func dropKept(kept, file string) error {
	if kept == "" {
		return nil
	}
	old, err := os.Stat(kept)
	if err != nil {
		return err
	}
	now, err := os.Stat(file)
	if err != nil || !os.SameFile(old, now) {
		return err
	}
	return os.Remove(kept)
}
