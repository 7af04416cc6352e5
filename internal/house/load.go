package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A module is what one run of go list found.
type module struct {
	packages []*pkg
}

// A pkg is a parsed and checked package without its tests.
type pkg struct {
	name  string // import path within the module; "." is the module itself
	fset  *token.FileSet
	files []*file
	info  *types.Info
	tests []string // paths of test files
}

// A file is a file of a pkg.
type file struct {
	path string
	text string
	tree *ast.File
}

// listed is what go list prints of a package.
type listed struct {
	ImportPath   string
	Dir          string
	Export       string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Module       *struct{ Path, Dir string }
	DepOnly      bool
}

// load parses and checks all packages of the module that dir is in. Imports are read from
// the export data of the compiler, so it builds what is not in the build cache.
func load(dir string) (*module, error) {
	list, err := goList(dir, "-deps", "-export")
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for _, l := range list {
		exports[l.ImportPath] = l.Export
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", lookup) // one for all: it reads each package once
	return each(fset, list, func(l listed, p *pkg) error { return p.check(l, imports) })
}

// parse parses all packages of the module that dir is in, and builds nothing.
func parse(dir string) (*module, error) {
	list, err := goList(dir)
	if err != nil {
		return nil, err
	}
	return each(token.NewFileSet(), list, func(listed, *pkg) error { return nil })
}

// each parses the packages of the module and calls f with each of them.
func each(fset *token.FileSet, list []listed, f func(l listed, p *pkg) error) (*module, error) {
	m := new(module)
	for _, l := range list {
		if l.DepOnly || len(l.GoFiles) == 0 {
			continue
		}
		p, err := parsePackage(fset, l)
		if err == nil {
			err = f(l, p)
		}
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", l.ImportPath, err)
		}
		m.packages = append(m.packages, p)
	}
	return m, nil
}

// goList returns the packages of the module, and what the flags add.
func goList(dir string, flags ...string) ([]listed, error) {
	root := exec.Command("go", "list", "-m", "-f", "{{.Dir}}")
	root.Dir = dir
	top, err := root.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	args := append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,Module,DepOnly"}, flags...)
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = strings.TrimSpace(string(top))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, l)
	}
}

// parsePackage parses the files of a package.
func parsePackage(fset *token.FileSet, l listed) (*pkg, error) {
	p := &pkg{
		name: strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, l.Module.Path), "/"),
		fset: fset,
		info: &types.Info{
			Uses:       make(map[*ast.Ident]types.Object),
			Defs:       make(map[*ast.Ident]types.Object),
			Selections: make(map[*ast.SelectorExpr]*types.Selection),
		},
	}
	if p.name == "" {
		p.name = "."
	}
	for _, name := range l.GoFiles {
		path := filepath.Join(l.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(p.fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, &file{path, string(text), tree})
	}
	for _, name := range append(l.TestGoFiles, l.XTestGoFiles...) {
		p.tests = append(p.tests, filepath.Join(l.Dir, name))
	}
	return p, nil
}

// check resolves the identifiers of a package.
func (p *pkg) check(l listed, imports types.Importer) error {
	var trees []*ast.File
	for _, f := range p.files {
		trees = append(trees, f.tree)
	}
	conf := types.Config{Importer: imports}
	_, err := conf.Check(l.ImportPath, p.fset, trees, p.info)
	return err
}
