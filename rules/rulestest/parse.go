package rulestest

import (
	"fmt"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/tailscale/hujson"
)

// Load reads a test file in any of the formats, and the rules and data it names,
// which are looked for beside it.
func Load(file string) (*Suite, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, text, func(name string) (string, error) {
		return readFile(beside(file, name))
	})
}

// Parse is Load of a text. read reads the files that it names.
func Parse(file, text string, read func(name string) (string, error)) (*Suite, error) {
	doc, err := jsonc.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	l := &loader{file: file, doc: doc, read: read, now: DefaultNow}
	s := &Suite{File: file, Actors: map[string]Actor{}}
	switch top := doc.Root.Value.(type) {
	case *hujson.Array:
		err = l.vectors(s, top)
	case *hujson.Object:
		if doc.Root.Find("/format") != nil {
			err = l.operations(s)
		} else {
			err = l.tests(s)
		}
	default:
		err = doc.ErrorAt(doc.Root.StartOffset, "a test file must be an object or a list of cases")
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return s, nil
}
