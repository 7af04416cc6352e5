package bulk

import (
	"errors"
	"io"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Backup copies the data file of a database, through a server or, with --data, in this
// process. A file gets its name only when the whole copy has been verified, so an existing
// backup is never replaced by a damaged one. Standard output cannot be taken back and is
// therefore not verified.
type Backup struct {
	File string `arg:"" help:"File to write; - is standard output. An existing file is replaced when the backup is complete and checked." placeholder:"FILE"`
	datadir.OfflineFlags
	client.Flags
}

func (Backup) Help() string {
	return `Copies the data file of a database as of one moment: values, rules, indexes and all
else in it. The server goes on working. The copy is verified before it gets its name:
its pages, rows and indexes, as by dogwood check. A copy on standard output is not verified: check it where it
arrives. The server keeps a second copy in its data directory while it sends it.

A server can also make backups by itself: see dogwood serve --backup-dir.

Examples:

  dogwood backup shop.db --namespace shop --secret-file dogwood-data/admin-secret
  dogwood backup - | ssh vault 'cat > shop.db'
  dogwood backup shop.db --data /var/lib/dogwood --namespace shop
  dogwood restore shop.db --data ./elsewhere --namespace shop`
}

func (c *Backup) Run(e *console.Env) error {
	emit := func(w io.Writer) error { return client.ReceiveBackup(e.Ctx, c.Flags, w) }
	if c.Data != "" {
		emit = c.copyHere
	}
	if c.File == "-" {
		if console.IsTerminal(e.Stdout) {
			return errors.New("a backup is not text for a terminal; name a file, or send it to a program")
		}
		return emit(e.Stdout)
	}
	if err := datadir.PlaceFile(c.File, 0o600, emit, func(part string) error { return checks.Copy(e.Ctx, part) }); err != nil {
		return err
	}
	e.Done("Backed up %s to %s (%s)", databaseOf(c.OfflineFlags, c.Flags, c.Namespace), c.File, sizeOf(c.File))
	return nil
}

// copyHere copies a file of the data directory.
func (c *Backup) copyHere(w io.Writer) error {
	return c.ReadStore(c.Namespace, func(s *store.Store) error {
		_, err := s.Backup(w)
		return err
	})
}
