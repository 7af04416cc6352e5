package servers

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// The data of samples are in samples, their rules in samples/rules. Both are those of
// testdata/models; the rules of the chat also have paths for presence and typing, which the
// demonstration shows.
//
//go:embed samples/*.json samples/rules/*.json
var sampleFiles embed.FS

// sampleNames returns the names of the sample trees.
func sampleNames() []string {
	entries, err := sampleFiles.ReadDir("samples")
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
	text, err := sampleFiles.ReadFile("samples/" + name + ".json")
	if err != nil {
		return nil, err
	}
	n, err := tree.ParseNode(string(text))
	return func() tree.Node { return n }, err
}

// sampleRules returns the rules of a sample.
func sampleRules(name string) (*rules.Ruleset, error) {
	text, err := sampleFiles.ReadFile("samples/rules/" + name + ".json")
	if err != nil {
		return nil, err
	}
	r, err := rules.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("rules of sample %s: %w", name, err)
	}
	return r, nil
}
