// Package pull has the command that copies a database of another server by its REST
// interface, such as one of Firebase.
package pull

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/bulk"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
)

// Command copies a database.
type Command struct {
	Source   string `arg:"" help:"Address of the database, such as https://my-project-default-rtdb.firebaseio.com. A path behind it is copied alone."`
	File     string `arg:"" optional:"" help:"File to write, compressed if its name ends with .gz. An existing file is replaced when everything has arrived." placeholder:"FILE"`
	Into     string `help:"Replace this database of a Dogwood server, and write no file." env:"-" placeholder:"DATABASE"`
	AuthFile string `help:"File that holds a credential of an administrator for the source: a database secret, or an access token of Google." type:"path" env:"-" placeholder:"FILE"`
	PartSize int64  `help:"Most bytes of one answer. A larger value is read in parts." default:"268435456" env:"-" placeholder:"BYTES"`
	console.Sure
	client.Flags
}

func (Command) Help() string {
	return `Reads everything, with priorities, and writes it in the form that import reads. What the
source refuses to send at once, as Firebase does above 256 MB, is read in parts: the keys
first, then children. Then the result is not a snapshot, and the command says so: what is
written meanwhile may be in it in part. Stop writes at the source for an exact copy.
Requests that fail for the moment are tried again, six times at most.

Rules, users and indexes are not copied; /.settings/rules has the rules.

Examples:

  dogwood pull https://my-project-default-rtdb.firebaseio.com data.json.gz --auth-file secret.txt
  gcloud auth print-access-token > token.txt && dogwood pull https://my-project-default-rtdb.firebaseio.com/rooms rooms.json --auth-file token.txt
  dogwood pull https://my-project-default-rtdb.firebaseio.com --into shop --profile shop --auth-file secret.txt`
}

func (c *Command) Run(e *console.Env) error {
	switch {
	case (c.File == "") == (c.Into == ""):
		return errors.New("say where the data go: a FILE after the address (- is standard output), or --into DATABASE")
	case c.PartSize < 1<<10:
		return fmt.Errorf("--part-size %d: at least 1024", c.PartSize)
	}
	credential := ""
	if c.AuthFile != "" {
		var err error
		if credential, err = client.ReadSecretFile(c.AuthFile); err != nil {
			return errors.New(strings.Replace(err.Error(), "--secret-file", "--auth-file", 1))
		}
	}
	from, err := client.NewSource(e, c.Source, credential)
	if err != nil {
		return err
	}
	line := e.StatusLine()
	defer line.Clear()
	r := &reader{env: e, from: from, most: c.PartSize, pause: pauseOf(e)}
	r.show = func(path string) {
		line.Show("%s in %s, reading %s", console.FormatBytes(r.bytes), console.Count(r.parts, "part"), console.Printable(shown(path)))
	}
	if err := c.pull(e, r); err != nil {
		if errors.Is(err, console.ErrInterrupted) || e.Ctx.Err() != nil {
			return console.ErrInterrupted
		}
		return err
	}
	line.Clear()
	fmt.Fprintf(e.Stderr, "Read %s from %s.\n", console.FormatBytes(r.bytes), from.Name(""))
	if r.parts > 1 {
		fmt.Fprintf(e.Stderr, "It was read in %d parts, one after the other, so it is not a snapshot: of what was written meanwhile, some may be in it and some not.\n", r.parts)
	}
	return nil
}

// pull writes what r reads to where it is to go.
func (c *Command) pull(e *console.Env, r *reader) error {
	emit := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 256<<10)
		written, err := r.copy(b, "", "")
		if err == nil && !written {
			_, err = b.WriteString("null")
		}
		if err != nil {
			return err
		}
		return b.Flush()
	}
	switch {
	case c.Into != "":
		return bulk.ImportFrom(e, c.Flags, c.Into, c.IsSure(), emit)
	case c.File == "-":
		return console.PrintTo(e.Stdout, emit)
	case strings.HasSuffix(c.File, ".gz"):
		return datadir.WriteFile(c.File, 0o600, func(w io.Writer) error {
			z := gzip.NewWriter(w)
			return errors.Join(emit(z), z.Close())
		})
	}
	return datadir.WriteFile(c.File, 0o600, emit)
}

// pauseOf waits, unless the command is interrupted.
func pauseOf(e *console.Env) func(time.Duration) error {
	return func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-e.Ctx.Done():
			return console.ErrInterrupted
		}
	}
}
