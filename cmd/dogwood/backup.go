package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/dogwooddb/dogwood/tree/store"
)

type backupCommand struct {
	File string `arg:"" help:"File to write; - is standard output. It is replaced when the backup is complete and was checked." placeholder:"FILE"`
	offlineFlags
	clientFlags
}

func (backupCommand) Help() string {
	return `Copies the data file of a database as it is at one moment, while the server goes
on working: values, rules, indexes and all else that is in it. The copy is
verified as check does before it gets its name; one that goes to standard output
is not, so check it where it arrives. The server keeps a second copy in its data
directory while it sends it.

A server can also make backups by itself: see dogwood serve --backup-dir.

Examples:

  dogwood backup shop.db --namespace shop --secret-file dogwood-data/admin-secret
  dogwood backup - | ssh vault 'cat > shop.db'
  dogwood backup shop.db --data /var/lib/dogwood --namespace shop
  dogwood restore shop.db --data ./elsewhere --namespace shop`
}

func (c *backupCommand) Run(e *env) error {
	emit := func(w io.Writer) error { return c.receive(e.ctx, w) }
	if c.Data != "" {
		emit = c.copyHere
	}
	if c.File == "-" {
		if isTerminal(e.stdout) {
			return errors.New("a backup is nothing to look at; name a file, or send it to a program")
		}
		return emit(e.stdout)
	}
	if err := placeFile(c.File, emit, func(part string) error { return checkCopy(e, part) }); err != nil {
		return err
	}
	e.say("Backed up to %s.", c.File)
	return nil
}

// receive writes what a server sends.
func (c *backupCommand) receive(ctx context.Context, w io.Writer) error {
	db, err := c.patient(bulkPatience)
	if err != nil {
		return err
	}
	r, err := db.request(ctx, http.MethodGet, "/.settings/backup", nil, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", typeBinary)
	db.uncompressedHere(r)
	return db.call(r, w)
}

// copyHere copies a file of the data directory.
func (c *backupCommand) copyHere(w io.Writer) (err error) {
	file, err := c.file(c.Namespace)
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
	_, err = s.Backup(w)
	return errors.Join(err, s.Close())
}

// checkCopy verifies a data file that nobody uses.
func checkCopy(e *env, file string) error {
	findings, err := checkApart(e, file)
	if err != nil || len(findings) == 0 {
		return err
	}
	return fmt.Errorf("the copy did not pass the check: %s", findings[0])
}
