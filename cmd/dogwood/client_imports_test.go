package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clientImport matches an import or export of client-js from another of its
// files, types included. "#socket" stands for either of two files.
var clientImport = pattern(`(?m)^(?:import|export|\}).* from '(\.[^']+|#socket)'|\bimport\('(\.[^']+)'\)|^import '(\.[^']+)'`)

// TestClientImportsHaveNoCycle is what the build of client-js also checks
// (client-js/scripts/import-cycles.ts), for machines without Node.
func TestClientImportsHaveNoCycle(t *testing.T) {
	for _, c := range importCycles(clientImports(t, os.DirFS("../../client-js"))) {
		t.Errorf("import cycle in client-js: %s", c)
	}
}

func TestImportCycleIsFound(t *testing.T) {
	imports := map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": {"b"}, "e": {"a"}}
	if got, want := importCycles(imports), []string{"b -> d -> b"}; !slices.Equal(got, want) {
		t.Errorf("importCycles = %q, want %q", got, want)
	}
}

// clientImports returns which files of src, models and frameworks each of them imports.
func clientImports(t *testing.T, client fs.FS) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	for _, root := range []string{"src", "models", "frameworks"} {
		err := fs.WalkDir(client, root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".ts" {
				return err
			}
			text, err := fs.ReadFile(client, name)
			for _, m := range clientImport().FindAllStringSubmatch(string(text), -1) {
				imports[name] = append(imports[name], clientFiles(name, m[1]+m[2]+m[3])...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(imports["src/core/connection.ts"], "src/socket/node.ts") {
		t.Fatalf("src/core/connection.ts imports %q: the imports of client-js are not understood", imports["src/core/connection.ts"])
	}
	return imports
}

// clientFiles returns the files that an import in the file name may mean.
func clientFiles(name, imported string) []string {
	if imported == "#socket" {
		return []string{"src/socket/default.ts", "src/socket/node.ts"}
	}
	return []string{path.Join(path.Dir(name), strings.TrimSuffix(imported, ".js")+".ts")}
}

// importCycles returns a cycle for each import that closes one, as "a -> b -> a".
func importCycles(imports map[string][]string) []string {
	var cycles, way []string
	done := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if i := slices.Index(way, name); i >= 0 {
			cycles = append(cycles, strings.Join(append(slices.Clone(way[i:]), name), " -> "))
			return
		}
		if done[name] {
			return
		}
		done[name] = true
		way = append(way, name)
		for _, imported := range imports[name] {
			visit(imported)
		}
		way = way[:len(way)-1]
	}
	names := make([]string, 0, len(imports))
	for name := range imports {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		visit(name)
	}
	return cycles
}
