package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

//go:embed samples/*.json
var sampleFiles embed.FS

// sampleNames returns the names of the sample trees.
func sampleNames() []string {
	entries, err := sampleFiles.ReadDir("samples")
	if err != nil {
		panic(err) // the directory is part of the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// sample returns the tree that a database begins with, nil without a name.
func sample(name string) (func() tree.Node, error) {
	if name == "" {
		return nil, nil
	}
	if !slices.Contains(sampleNames(), name) {
		return nil, fmt.Errorf("no sample %q; there are %s", name, strings.Join(sampleNames(), ", "))
	}
	text, err := sampleFiles.ReadFile("samples/" + name + ".json")
	if err != nil {
		return nil, err
	}
	n, err := tree.ParseNode(string(text))
	return func() tree.Node { return n }, err
}
