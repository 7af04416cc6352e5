package servers

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// sampleZip has the data of samples, samples/NAME.json, and their rules, samples/rules/NAME.json.
// Both are those of testdata/models; the rules of the chat also have paths for presence and
// typing, which the demonstration shows. They are packed from the directory samples to save room in
// the program: go test . -run Samples -rewrite.
//
//go:embed samples.zip
var sampleZip []byte

// sampleFiles are the files in it.
var sampleFiles = sync.OnceValue(func() fs.FS {
	files, err := zip.NewReader(bytes.NewReader(sampleZip), int64(len(sampleZip)))
	if err != nil {
		panic(err) // it is part of the binary
	}
	return files
})

// sampleNames returns the names of the sample trees.
func sampleNames() []string {
	entries, err := fs.ReadDir(sampleFiles(), "samples")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names
}

// sample returns the tree that a database begins with, nil without a name.
func sample(name string) (func() tree.Node, error) {
	if name == "" {
		return nil, nil
	}
	if !slices.Contains(sampleNames(), name) {
		return nil, fmt.Errorf("--sample %s: there is none of that name; there are %s", name, strings.Join(sampleNames(), ", "))
	}
	text, err := fs.ReadFile(sampleFiles(), "samples/"+name+".json")
	if err != nil {
		return nil, err
	}
	n, err := tree.ParseNode(string(text))
	return func() tree.Node { return n }, err
}

// sampleRules returns the rules of a sample.
func sampleRules(name string) (*rules.Ruleset, error) {
	text, err := fs.ReadFile(sampleFiles(), "samples/rules/"+name+".json")
	if err != nil {
		return nil, err
	}
	r, err := rules.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("rules of sample %s: %w", name, err)
	}
	return r, nil
}
