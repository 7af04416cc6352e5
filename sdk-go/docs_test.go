package dogwood_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// withoutExample are methods that are called by others than programs.
var withoutExample = map[string]bool{"Error": true, "Unwrap": true, "String": true, "MarshalJSON": true}

// Every exported function and method has an example that is run.
func TestExamples(t *testing.T) {
	for _, dir := range []string{".", "embed"} {
		fset := token.NewFileSet()
		code, tests := parse(t, fset, dir)
		p, err := doc.NewFromFiles(fset, code, "example.org/p")
		want(t, err)
		have := make(map[string]bool)
		for _, e := range doc.Examples(tests...) {
			if have[e.Name] = true; e.Output == "" {
				t.Errorf("%s: Example%s is not run", dir, e.Name)
			}
		}
		functions := p.Funcs
		for _, typ := range p.Types {
			functions = append(functions, typ.Funcs...)
			for _, m := range typ.Methods {
				if !withoutExample[m.Name] && !have[typ.Name+"_"+m.Name] {
					t.Errorf("%s: there is no example of %s.%s", dir, typ.Name, m.Name)
				}
			}
		}
		for _, f := range functions {
			if !have[f.Name] {
				t.Errorf("%s: there is no example of %s", dir, f.Name)
			}
		}
		if len(functions) == 0 {
			t.Errorf("%s: no functions", dir)
		}
	}
}

// parse reads the files of a package and of its tests.
func parse(t *testing.T, fset *token.FileSet, dir string) (code, tests []*ast.File) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	want(t, err)
	for _, name := range files {
		src, err := os.ReadFile(name)
		want(t, err)
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		want(t, err)
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, f)
		} else {
			code = append(code, f)
		}
	}
	return code, tests
}
