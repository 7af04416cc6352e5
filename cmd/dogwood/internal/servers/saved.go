package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/bulk"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/client"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/server"
)

// savedFlags say what a development server begins with, and what it leaves.
type savedFlags struct {
	Import       string     `help:"Begin with the data of a file for the default database, or of a directory that --export-on-exit or \"firebase emulators:export\" made. A mistake in it stops the start." type:"path" placeholder:"PATH"`
	ExportOnExit savedPlace `help:"When the server stops, write all data to a directory, or the default database to a file whose name ends with .json or .gz. The path follows after a blank or =; without one, it is that of --import."`

	started bool // from here on there is something to export
}

// A savedPlace is the value of --export-on-exit, which may lack its path.
type savedPlace struct {
	given bool
	path  string
}

// IsBool is called by kong: the flag may stand alone.
func (*savedPlace) IsBool() bool { return true }

// Decode is called by kong. The path may also be the next word, as it may for the official
// emulator.
func (p *savedPlace) Decode(ctx *kong.DecodeContext) error {
	p.given = true
	switch t := ctx.Scan.Peek(); {
	case t.Type == kong.FlagValueToken && fmt.Sprint(t.Value) == "":
		return errors.New("the path is empty")
	case t.Type == kong.FlagValueToken,
		t.Type == kong.UntypedToken && !strings.HasPrefix(t.String(), "-"):
		p.path = kong.ExpandPath(fmt.Sprint(ctx.Scan.Pop().Value))
	}
	return nil
}

// check refuses what would fail when the server has started, or when it ends.
func (f *savedFlags) check(data, ns string) error {
	if f.ExportOnExit.given && f.ExportOnExit.path == "" {
		if f.ExportOnExit.path = f.Import; f.Import == "" {
			return errors.New("--export-on-exit: say where to, as in --export-on-exit=DIR")
		}
	}
	if f.ExportOnExit.given {
		if err := datadir.NeedDirectory(f.ExportOnExit.path); err != nil {
			return fmt.Errorf("--export-on-exit: %w", err)
		}
	}
	if f.Import == "" || data == "" {
		return nil
	}
	names, err := bulk.Saved(f.Import).Databases(ns)
	if err != nil {
		return nil // load tells
	}
	for _, name := range names {
		file, err := datadir.DataFile(data, name)
		if err != nil {
			return fmt.Errorf("--import %s: %w", f.Import, err)
		}
		if _, err := os.Stat(file); err == nil {
			return fmt.Errorf("--import: the database %s is in %s already, and would be replaced; leave out --import, or use dogwood import", name, filepath.Dir(file))
		}
	}
	return nil
}

// load fills the databases of a server that does not listen yet.
func (f *savedFlags) load(e *console.Env, s *server.Server, ns string) error {
	if f.Import == "" {
		f.started = true
		return nil
	}
	quiet := &console.Env{Ctx: e.Ctx, Stdin: e.Stdin, Stdout: io.Discard, Stderr: e.Stderr}
	err := bulk.Saved(f.Import).Load(quiet, client.Within(s, ns))
	first := errors.Is(err, fs.ErrNotExist) && f.ExportOnExit.path == f.Import
	if first || errors.Is(err, bulk.ErrNothing) {
		fmt.Fprintf(e.Stderr, "There is nothing to import yet in %s.\n", f.Import)
		err = nil
	}
	f.started = err == nil
	if err != nil && !errors.Is(err, console.ErrInterrupted) {
		return fmt.Errorf("--import: %w", err)
	}
	return err
}

// save writes the data when clients are gone.
func (f *savedFlags) save(e *console.Env, s *server.Server, ns string) error {
	if !f.ExportOnExit.given || !f.started {
		return nil
	}
	to := f.ExportOnExit.path
	// The signal that ended the server does not end the export. A second one does.
	quiet := &console.Env{Ctx: context.WithoutCancel(e.Ctx), Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: e.Stderr}
	if err := bulk.Saved(to).Save(quiet, client.Within(s, ns)); err != nil {
		return fmt.Errorf("--export-on-exit: %w; %s is as it was", err, to)
	}
	fmt.Fprintf(e.Stderr, "Exported the data to %s.\n", to)
	if others := s.Namespaces(); bulk.Saved(to).IsFile() && len(others) > 1 {
		others = slices.DeleteFunc(others, func(name string) bool { return name == ns })
		fmt.Fprintf(e.Stderr, "The file has the database %s only, and not %s: a directory has all.\n", ns, strings.Join(others, ", "))
	}
	return nil
}
