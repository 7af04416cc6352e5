package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unpromised are the packages outside of internal that are not promised either. No other may come.
var unpromised = []string{
	"bench", "bench/bare", "bench/child", "bench/connect", "bench/connect/connecttest",
	"bench/isolation", "bench/redis", "bench/soak",
	"demo", "limit",
	"rules/explain", "rules/expression", "rules/jsonc", "rules/lang", "rules/rulesdiff",
	"rules/rulesfmt", "rules/rulesgen", "rules/ruleslint", "rules/rulesmutate",
	"server/auth", "server/bookmark", "server/certs", "server/consistency", "server/dropped",
	"server/front", "server/metrics", "server/observe", "server/peer", "server/profiles",
	"server/realtime", "server/realtime/parking", "server/servertest/faultproxy", "server/space",
	"server/telemetry",
	"sync", "sync/access", "sync/audience", "sync/damage", "sync/declared", "sync/echo",
	"sync/explained", "sync/fault", "sync/fingerprint", "sync/histogram", "sync/interval",
	"sync/outbox", "sync/pending", "sync/pieces", "sync/query", "sync/queue", "sync/quota",
	"sync/replay", "sync/resume", "sync/trace", "sync/trie", "sync/versions", "sync/watch",
	"sync/wire",
	"tree/invariant", "tree/jsontext", "tree/piecewise", "tree/store", "tree/store/dedup",
	"tree/store/dirlock", "tree/store/durable", "tree/store/entry", "tree/store/kept",
	"tree/store/kv", "tree/store/logdir", "tree/store/logged", "tree/store/used", "tree/store/wal",
}

// promised returns the packages in the table of CONTRIBUTING.md, with those that a line
// with * at its end stands for.
func promised(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Public packages\n")
	section, _, _ = strings.Cut(section, "\n## ")
	code := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			dirs, err := filepath.Glob("../../" + m[1])
			if err != nil || len(dirs) == 0 {
				t.Fatalf("CONTRIBUTING.md promises %s, which is not there: %v", m[1], err)
			}
			for _, dir := range dirs {
				if name := filepath.ToSlash(strings.TrimPrefix(dir, filepath.Join("..", "..")+string(filepath.Separator))); path.Base(name) != "internal" {
					list = append(list, name)
				}
			}
		}
	}
	if len(list) < 10 {
		t.Fatalf("only %q are promised", list)
	}
	return list
}

// TestPublicPackages: each package that a program of others could import is promised, but for
// those that are known not to be. Each promised one is there.
func TestPublicPackages(t *testing.T) {
	promises, there := promised(t), []string{"client-js"}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		there = append(there, name)
		if p.Name == "main" || slices.Contains(strings.Split(name, "/"), "internal") {
			continue
		}
		if slices.Contains(promises, name) == slices.Contains(unpromised, name) {
			t.Errorf("%s is to be below internal/, or in the table of public packages in CONTRIBUTING.md", name)
		}
	}
	for _, name := range slices.Concat(promises, unpromised) {
		if !slices.Contains(there, name) {
			t.Errorf("there is no package %s", name)
		}
	}
}

// TestPublicTypes: what a promised package exports names no type of a package that is not
// promised, but to give the type a name of its own (type Secret = auth.Secret). Otherwise a
// program could not name it, or would have to import what may change.
func TestPublicTypes(t *testing.T) {
	promises := promised(t)
	aliases := 0
	for _, name := range promises {
		files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			foreign := importsOf(f, promises)
			interfaceOf(f, func(x ast.Node, alias bool) {
				ast.Inspect(x, func(n ast.Node) bool {
					if of, ok := n.(*ast.SelectorExpr); ok {
						if pkg, ok := of.X.(*ast.Ident); ok && foreign[pkg.Name] != "" {
							if alias {
								aliases++
							} else {
								t.Errorf("%s: %s shows %s.%s, which is not promised", fset.Position(of.Pos()), name, foreign[pkg.Name], of.Sel.Name)
							}
						}
					}
					return true
				})
			})
		}
	}
	if aliases < 10 {
		t.Errorf("%d types have another name: are the files read?", aliases)
	}
}

// importsOf returns the packages of this module that a file imports and that are not promised,
// by their names in the file.
func importsOf(f *ast.File, promises []string) map[string]string {
	list := make(map[string]string)
	for _, i := range f.Imports {
		text, _ := strconv.Unquote(i.Path.Value)
		name, ok := strings.CutPrefix(text, module)
		if !ok || slices.Contains(promises, name) {
			continue
		}
		local := path.Base(name)
		if i.Name != nil {
			local = i.Name.Name
		}
		list[local] = name
	}
	return list
}

// interfaceOf calls see with the types of all that a file exports: signatures, exported fields
// and methods, and types. Alias says that it only gives a type another name.
func interfaceOf(f *ast.File, see func(x ast.Node, alias bool)) {
	ast.FileExports(f) // leaves out what is not exported, also in structs
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ofExported(d.Recv.List[0].Type) {
				see(d.Type, false)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					see(s.Type, s.Assign.IsValid())
				case *ast.ValueSpec:
					if s.Type != nil {
						see(s.Type, false)
					}
				}
			}
		}
	}
}

// ofExported reports whether the receiver of a method has an exported type.
func ofExported(x ast.Expr) bool {
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}
