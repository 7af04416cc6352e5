package rulestest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// A loader reads one test file and the files it names.
//
// It keeps the positions of values, since a mistake in a test file is reported
// by its line. Files that a test file names are read by a function that the
// caller gives, so that a suite can come from memory, too.
type loader struct {
	file string
	doc  *jsonc.Doc
	read func(name string) (string, error)
	now  int64 // what server timestamps in data stand for
}

// readFile reads a file as a text.
func readFile(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return string(text), nil
}

// beside returns the path of a file that another one names.
func beside(file, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(file), name)
}

// at returns err with the position of a value, unless it has one. nil is the value of
// a member whose name is written in another case, which decoding takes for the same.
func (l *loader) at(v *hujson.Value, err error) error {
	if e := (*jsonc.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	if v == nil {
		v = &l.doc.Root
	}
	return l.doc.ErrorAt(v.StartOffset, err.Error())
}

// line returns the line of the test file that a value begins in.
func (l *loader) line(v *hujson.Value) int {
	line, _ := l.doc.Pos(v.StartOffset)
	return line
}

// rules reads the property rules: the name of a file, or the document itself. In
// lists of single cases a text is the document.
func (l *loader) rules(v *hujson.Value, o rules.ParseOptions, textIsName bool) (Source, error) {
	src := Source{Options: o}
	name, isText := jsonc.Str(v)
	switch {
	case !isText:
		src.Text = string(jsonc.Strict(*v))
	case !textIsName:
		src.Text = name
	default:
		text, err := l.read(name)
		if err != nil {
			return src, err
		}
		src.File, src.Text = beside(l.file, name), text
	}
	return src, nil
}

// An optionsJSON says which rules language a file is about.
type optionsJSON struct {
	Dialect    string   `json:"dialect"`
	Extensions []string `json:"extensions"`
}

// ParseOptions returns how rules of a dialect with the given extensions are read.
func ParseOptions(dialect string, extensions []string) (rules.ParseOptions, error) {
	var o rules.ParseOptions
	switch dialect {
	case "", "firebase":
	case "wilddog":
		o.Dialect = lang.Wilddog
	default:
		return o, fmt.Errorf("unknown dialect %q; there are firebase and wilddog", dialect)
	}
	var err error
	o.Extensions, err = lang.ParseExtensions(extensions...)
	return o, err
}

// data reads a property data: the name of a file, or the tree itself.
func (l *loader) data(v *hujson.Value) (tree.Node, string, error) {
	name, isName := jsonc.Str(v)
	if !isName {
		n, err := parseData(jsonc.Strict(*v), l.now)
		return n, "", err
	}
	text, err := l.read(name)
	if err != nil {
		return tree.Empty, "", err
	}
	n, err := ParseData(text, l.now)
	if err != nil {
		return tree.Empty, "", fmt.Errorf("%s:%w", name, err)
	}
	return n, beside(l.file, name), nil
}

// document reads a property dataDocument: the name of a file, or the document itself.
func (l *loader) document(v *hujson.Value) (d *derive.Document, file string, err error) {
	name, isName := jsonc.Str(v)
	if !isName {
		d, err = derive.Parse(string(jsonc.Strict(*v)))
		return d, "", err
	}
	text, err := l.read(name)
	if err != nil {
		return nil, "", err
	}
	if d, err = derive.Parse(text); err != nil {
		return nil, "", fmt.Errorf("%s:%w", name, err)
	}
	return d, beside(l.file, name), nil
}

// ParseData reads the text of a data file, which is relaxed JSON. Server
// timestamps in it stand for now.
func ParseData(text string, now int64) (tree.Node, error) {
	doc, err := jsonc.Parse(text)
	if err != nil {
		return tree.Empty, err
	}
	return parseData(jsonc.Strict(doc.Root), now)
}

// elements returns the elements of a list; there are none in what is missing.
func elements(v *hujson.Value) ([]hujson.Value, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, errors.New("must be a list")
	}
	return list.Elements, nil
}
