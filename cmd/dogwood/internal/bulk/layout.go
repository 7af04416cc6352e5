package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/build"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/datadir"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// The directory that "firebase emulators:export" makes holds a description and,
// in a directory of its own, a file for each database.
const (
	exportMetadata = "firebase-export-metadata.json"
	exportDir      = "database_export"
	exportVersion  = "4.11.2" // of the database emulator whose files these are like
)

// exportDescription is the part of the description that is about databases.
type exportDescription struct {
	Version  string        `json:"version"`
	Database *exportedPart `json:"database,omitempty"`
}

type exportedPart struct {
	Version string `json:"version"`
	Path    string `json:"path"`
}

// ErrNothing says that an exported directory is empty.
var ErrNothing = errors.New("the directory has no database file (NAME.json) to import")

// firebaseSources returns the files of an exported directory: of one database,
// or of all if ns is "".
func firebaseSources(dir, ns string) ([]importSource, error) {
	text, err := os.ReadFile(filepath.Join(dir, exportMetadata))
	if err != nil {
		return nil, fmt.Errorf("not an exported directory: %w", err)
	}
	var d exportDescription
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", exportMetadata, err)
	}
	if d.Database == nil || !filepath.IsLocal(d.Database.Path) {
		return nil, fmt.Errorf("%s: no databases were exported", exportMetadata)
	}
	files, err := filepath.Glob(filepath.Join(dir, d.Database.Path, "*.json"))
	if err != nil {
		return nil, err
	}
	var list []importSource
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if ns == "" || name == ns {
			list = append(list, importSource{file, name})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNothing)
	}
	return list, nil
}

// exportFirebase writes the directory. One database that was named is added to an earlier
// export. All databases replace it.
func (c *Export) exportFirebase(e *console.Env, path tree.Path) error {
	switch {
	case !path.IsRoot() || c.File == "" || c.File == "-":
		return errors.New("--layout firebase exports whole databases into a directory: dogwood export / DIR")
	case c.Namespace == "":
		return c.replaceAll(e)
	}
	if err := c.exportAll(e, []string{c.Namespace}, filepath.Join(c.File, exportDir)); err != nil {
		return err
	}
	return c.describe()
}

// replaceAll writes the directory of all databases. It replaces an earlier export in one step,
// when everything is on the disk, so databases that are gone do not stay in it.
func (c *Export) replaceAll(e *console.Env) error {
	names, err := c.namespaces(e.Ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(c.File, exportDir)
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	err = c.exportAll(e, names, part)
	if err == nil {
		err = replaceDirectory(part, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return c.describe()
}

// exportAll writes a file for each database into a directory. Databases without data are left out.
func (c *Export) exportAll(e *console.Env, names []string, dir string) error {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, ns := range names {
		file := filepath.Join(dir, ns+".json")
		err := datadir.PlaceFile(file, 0o600, func(w io.Writer) error { return c.export(e.Ctx, tree.Path{}, ns, w) }, func(string) error { return nil })
		if err != nil {
			return fmt.Errorf("%s: %w", ns, err)
		}
		if err := dropEmpty(file); err != nil {
			return err
		}
	}
	return nil
}

// dropEmpty removes the file of a database without data.
func dropEmpty(file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Size() != int64(len("null")) {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "null" {
		return err
	}
	return os.Remove(file)
}

// describe writes the description. It keeps the members of an earlier one that are about
// the exports of other emulators.
func (c *Export) describe() error {
	file := filepath.Join(c.File, exportMetadata)
	parts := map[string]any{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", file, err)
	}
	if parts["version"] == nil {
		parts["version"] = build.Version
	}
	parts["database"] = exportedPart{exportVersion, exportDir}
	if text, err = json.MarshalIndent(parts, "", "  "); err != nil {
		return err
	}
	return datadir.WriteFile(file, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// namespaces returns the databases that there are.
func (c *Export) namespaces(ctx context.Context) (names []string, err error) {
	if c.Data != "" {
		files, err := checks.Databases(c.Data)
		for _, file := range files {
			names = append(names, strings.TrimSuffix(filepath.Base(file), ".db"))
		}
		return names, err
	}
	db, err := c.Client()
	if err != nil {
		return nil, err
	}
	r, err := db.Request(ctx, http.MethodGet, "/.inspect/databases", nil, nil)
	if err != nil {
		return nil, err
	}
	var list []struct{ Name string }
	if err := db.Read(r, "list of databases", &list); err != nil {
		return nil, err
	}
	for _, d := range list {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names, nil
}
