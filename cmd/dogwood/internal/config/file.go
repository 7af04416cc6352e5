// Package config gives the flags of a command the values of a configuration file. A key of the
// file is the name of a flag. The command line comes first, then the environment, then the
// file, then the default.
package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// maxBytes bounds a configuration file. One with every flag has a few KiB.
const maxBytes = 1 << 20

// An Error says what is wrong in a file, and where.
type Error struct {
	File string
	Line int // 0: it is about the file as a whole
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("--config %s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// A file is a configuration file that was read.
type file struct {
	name    string
	text    []byte
	members []hujson.ObjectMember
}

// read reads a file: a JSON object, in which comments and trailing commas are allowed.
func read(name string) (*file, error) {
	f := &file{name: name}
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxBytes {
		return nil, &Error{File: name, Text: "it is larger than 1 MiB"}
	}
	if err == nil {
		f.text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, &Error{File: name, Text: reason(err)}
	}
	v, err := hujson.Parse(f.text)
	if err != nil {
		return nil, &Error{File: name, Text: strings.TrimPrefix(err.Error(), "hujson: ")}
	}
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, f.fail(v.StartOffset, "a configuration is an object: { \"flag\": value, … }")
	}
	f.members = object.Members
	seen := make(map[string]bool)
	for _, m := range f.members {
		key := keyOf(m)
		if seen[key] {
			return nil, f.fail(m.Name.StartOffset, fmt.Sprintf("%q is there twice", key))
		}
		seen[key] = true
	}
	return f, nil
}

func reason(err error) string {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

func (f *file) fail(offset int, text string) error {
	return &Error{File: f.name, Line: 1 + strings.Count(string(f.text[:offset]), "\n"), Text: text}
}

func keyOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// check returns an error for a key that no flag has.
func (f *file) check(flags []*kong.Flag) error {
	var names []string
	known := make(map[string]bool)
	for _, flag := range flags {
		if !flag.Hidden && !isAbout(flag) {
			names = append(names, flag.Name)
			known[flag.Name] = true
		}
	}
	for _, m := range f.members {
		key := keyOf(m)
		if known[key] {
			continue
		}
		text := fmt.Sprintf("there is no setting %q", key)
		if meant := lang.Nearest(strings.TrimLeft(key, "-"), names); meant != "" {
			text += fmt.Sprintf("; did you mean %q?", meant)
		}
		return f.fail(m.Name.StartOffset, text)
	}
	return nil
}

// isAbout reports whether a flag is about the command line, and no setting.
func isAbout(flag *kong.Flag) bool {
	switch flag.Name {
	case "help", "version", Flag, PrintFlag:
		return true
	}
	return false
}

// value returns what the file has for a flag as kong reads it, nil if it has nothing.
func (f *file) value(flag *kong.Flag) (any, error) {
	for _, m := range f.members {
		if keyOf(m) != flag.Name {
			continue
		}
		if list, ok := m.Value.Value.(*hujson.Array); ok && flag.IsSlice() {
			all := []any{}
			for _, e := range list.Elements {
				text, ok := scalar(e.Value)
				if !ok {
					return nil, f.fail(e.StartOffset, fmt.Sprintf("%q takes a list of texts", flag.Name))
				}
				all = append(all, text)
			}
			return all, nil
		}
		text, ok := scalar(m.Value.Value)
		if !ok {
			return nil, f.fail(m.Value.StartOffset, fmt.Sprintf("%q takes one value: a text, a number, true or false", flag.Name))
		}
		return text, nil
	}
	return nil, nil
}

// scalar returns a value as it would be on the command line.
func scalar(v any) (string, bool) {
	literal, ok := v.(hujson.Literal)
	if !ok || literal.Kind() == 'n' {
		return "", false
	}
	if literal.Kind() == '"' {
		return literal.String(), true
	}
	return string(literal), true
}
