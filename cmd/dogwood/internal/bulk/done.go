package bulk

import (
	"cmp"
	"fmt"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
)

// This file says what a command has done.

// databaseOf names a database that a command has worked on.
func databaseOf(o datadir.OfflineFlags, f client.Flags, ns string) string {
	if o.Data != "" {
		return fmt.Sprintf("the database %s in %s", cmp.Or(ns, "default"), o.Data)
	}
	db, err := f.Bulk(ns)
	switch {
	case err != nil: // the command has used it
		return "the database"
	case db.Namespace == "":
		return "the default database of " + db.Server()
	}
	return fmt.Sprintf("the database %s of %s", db.Namespace, db.Server())
}

// sizeOf returns the size of a file that was written.
func sizeOf(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "size unknown"
	}
	return console.FormatBytes(info.Size())
}
