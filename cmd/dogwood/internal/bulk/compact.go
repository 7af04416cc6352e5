package bulk

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Compact rewrites data files without the space of deleted data. It needs room
// for a second copy of each file, one after the other, and that no server has
// the directory.
type Compact struct {
	datadir.Flag
	Namespace []string `help:"Databases to compact; all if it is not given." env:"-" placeholder:"NAME"`
}

func (Compact) Help() string {
	return `Rewrites data files without the free space that deleted data left in them. A server
reuses that space, but does not return it to the system. The server must be stopped.
Each new file is verified before it replaces the old one, so the disk must have space
for both. A file that would not become smaller stays as it is.

Examples:

  dogwood compact --data /var/lib/dogwood
  dogwood compact --data /var/lib/dogwood --namespace shop`
}

func (c *Compact) Run(e *console.Env) (err error) {
	files, err := c.files()
	if err != nil {
		return err
	}
	// All files are in one directory, so the lock of the first one covers them.
	lock, err := datadir.LockAlone(files[0], "compact")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	for _, file := range files {
		if e.Ctx.Err() != nil {
			return console.ErrInterrupted
		}
		result, err := store.Compact(file, func(part string) error { return checks.Copy(e.Ctx, part) })
		if err != nil {
			return fmt.Errorf("%s: %w", file, datadir.ExplainOpen(err))
		}
		fmt.Fprintf(e.Stdout, "%s: %s\n", file, compacted(result))
	}
	return nil
}

// compacted says what became of a file.
func compacted(r store.CompactResult) string {
	if r.After == r.Before {
		return console.FormatBytes(r.Before) + ", is compact already"
	}
	return console.FormatBytes(r.After) + ", was " + console.FormatBytes(r.Before)
}

// files returns the files of the named databases, without names those of all.
func (c *Compact) files() (files []string, err error) {
	if len(c.Namespace) == 0 {
		files, err := checks.Databases(c.Data)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no directory %s; name the data directory of a server with --data DIR", c.Data)
		}
		return files, err
	}
	for _, ns := range c.Namespace {
		file, err := datadir.DataFile(c.Data, ns)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
