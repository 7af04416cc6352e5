package main

import (
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/tree/store"
)

type compactCommand struct {
	Data      string   `help:"Directory that holds the data, ./dogwood-data if it is not given." default:"./dogwood-data" type:"path" placeholder:"DIR"`
	Namespace []string `help:"Databases to compact; all if it is not given." env:"-" placeholder:"NAME"`
}

func (compactCommand) Help() string {
	return `Rewrites data files without the room that deleted data has left in them. The
server reuses that room, but does not give it back to the system. It must be
stopped: this works on the files themselves. Each new file is verified before it
replaces the old one, so there must be room for both. A file that would not become
smaller is left as it is.

Examples:

  dogwood compact --data /var/lib/dogwood
  dogwood compact --data /var/lib/dogwood --namespace shop`
}

func (c *compactCommand) Run(e *env) (err error) {
	files, err := c.files()
	if err != nil {
		return err
	}
	lock, err := useAlone(files[0], "compact")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	for _, file := range files {
		if e.ctx.Err() != nil {
			return errInterrupted
		}
		result, err := store.Compact(file, func(part string) error { return checkCopy(e, part) })
		if err != nil {
			return fmt.Errorf("%s: %w", file, explainOpen(err))
		}
		fmt.Fprintf(e.stdout, "%s: %s\n", file, compacted(result))
	}
	return nil
}

// compacted says what became of a file.
func compacted(r store.CompactResult) string {
	if r.After == r.Before {
		return formatBytes(r.Before) + ", is compact already"
	}
	return formatBytes(r.After) + ", was " + formatBytes(r.Before)
}

func (c *compactCommand) files() (files []string, err error) {
	if len(c.Namespace) == 0 {
		return databases(c.Data)
	}
	for _, ns := range c.Namespace {
		file, err := dataFile(c.Data, ns)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
