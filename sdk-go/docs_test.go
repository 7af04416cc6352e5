package dogwood_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample says why some functions and methods need no example.
var withoutExample = map[string]string{
	"dogwood.Error.Error":             "fmt calls it: ExampleClient_Close",
	"dogwood.Error.Unwrap":            "errors.Is calls it: ExampleError",
	"dogwood.EventType.String":        "fmt calls it: ExampleQuery_Events",
	"dogwood.Query.String":            "fmt calls it",
	"dogwood.Query.MarshalText":       "log/slog and encoding/json call it",
	"dogwood.Ref.String":              "fmt calls it: ExampleClient_Ref",
	"dogwood.Snapshot.String":         "fmt calls it",
	"dogwood.Snapshot.MarshalJSON":    "encoding/json calls it when a snapshot is written",
	"dogwood.ServerValue.MarshalJSON": "encoding/json calls it: ExampleIncrement",
	"dogwood.Timestamp.MarshalJSON":   "encoding/json calls it: ExampleTimestamp",
	"dogwood.Timestamp.UnmarshalJSON": "encoding/json calls it: ExampleTimestamp",

	// Examples have no *testing.T; the comment of the package is one.
	"servertest.New":             "needs a test: TestServer",
	"servertest.Token":           "needs a server: TestRules",
	"servertest.Server.Get":      "needs a server: TestServer",
	"servertest.Server.Set":      "needs a server: TestServer",
	"servertest.Server.SetRules": "needs a server: TestRules",
}

// Every exported function and method has an example that is run, and everything
// that is exported has a comment.
func TestExamples(t *testing.T) {
	unused := maps.Clone(withoutExample)
	for _, dir := range []string{".", "embed", filepath.Join("..", "server", "servertest")} {
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
		names := exported(t, p)
		if len(names) == 0 {
			t.Errorf("%s: no functions", dir)
		}
		for _, name := range names {
			if _, excused := withoutExample[p.Name+"."+name]; excused {
				delete(unused, p.Name+"."+name)
				continue
			}
			if !have[strings.Replace(name, ".", "_", 1)] {
				t.Errorf("%s: there is no example of %s", dir, name)
			}
		}
	}
	for name := range unused {
		t.Errorf("there is no %s to be excused", name)
	}
}

// exported returns the functions of a package, "Func" and "Type.Method". Of these
// and all else it checks that there is a comment.
func exported(t *testing.T, p *doc.Package) (names []string) {
	t.Helper()
	functions := func(of string, list []*doc.Func) {
		for _, f := range list {
			names = append(names, of+f.Name)
			if f.Doc == "" {
				t.Errorf("%s.%s%s has no comment", p.Name, of, f.Name)
			}
		}
	}
	functions("", p.Funcs)
	for _, typ := range p.Types {
		functions("", typ.Funcs)
		functions(typ.Name+".", typ.Methods)
		if typ.Doc == "" {
			t.Errorf("%s.%s has no comment", p.Name, typ.Name)
		}
	}
	for _, v := range slices.Concat(p.Consts, p.Vars) {
		if v.Doc == "" {
			t.Errorf("%s.%s has no comment", p.Name, v.Names[0])
		}
	}
	return names
}

// Every exported function and method of a data model is called in an example that
// is run.
func TestModelExamples(t *testing.T) {
	for _, dir := range modelDirs(t) {
		fset := token.NewFileSet()
		code, tests := parse(t, fset, dir)
		p, err := doc.NewFromFiles(fset, code, "example.org/p")
		want(t, err)
		called := make(map[string]bool)
		for _, e := range doc.Examples(tests...) {
			if e.Output == "" {
				t.Errorf("%s: Example%s is not run", dir, e.Name)
			}
			ast.Inspect(e.Code, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if f, ok := call.Fun.(*ast.SelectorExpr); ok {
						called[f.Sel.Name] = true
					}
				}
				return true
			})
		}
		for _, name := range exported(t, p) {
			if !called[name[strings.LastIndex(name, ".")+1:]] {
				t.Errorf("%s: no example calls %s", dir, name)
			}
		}
	}
}

// Every field of a struct, every method of an interface and every constant or
// variable of a group says what it is, behind it or above.
func TestMembersAreDocumented(t *testing.T) {
	for _, dir := range append(modelDirs(t), ".", "embed", filepath.Join("..", "server", "servertest")) {
		fset := token.NewFileSet()
		code, _ := parse(t, fset, dir)
		if len(code) == 0 {
			t.Errorf("%s: no files", dir)
		}
		for _, f := range code {
			ast.FileExports(f)
			ast.Inspect(f, func(n ast.Node) bool {
				if names := undocumented(n); len(names) > 0 {
					t.Errorf("%s: %s has no comment", fset.Position(n.Pos()), names[0])
				}
				_, isFunc := n.(*ast.FuncDecl)
				return !isFunc
			})
		}
	}
}

// modelDirs returns the folders of the data models.
func modelDirs(t *testing.T) (dirs []string) {
	t.Helper()
	entries, err := os.ReadDir("models")
	want(t, err)
	for _, e := range entries {
		if e.Name() != "internal" {
			dirs = append(dirs, filepath.Join("models", e.Name()))
		}
	}
	return dirs
}

// undocumented returns the names that a field or a line of a group declares
// without a comment.
func undocumented(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.StructType:
		return firstUndocumented(n.Fields)
	case *ast.InterfaceType:
		return firstUndocumented(n.Methods)
	case *ast.GenDecl:
		for _, s := range n.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && n.Lparen.IsValid() && v.Doc == nil && v.Comment == nil {
				return v.Names
			}
		}
	}
	return nil
}

func firstUndocumented(list *ast.FieldList) []*ast.Ident {
	for _, f := range list.List {
		if f.Doc == nil && f.Comment == nil {
			return f.Names // none if it is embedded
		}
	}
	return nil
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
