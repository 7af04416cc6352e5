package packaging

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template/parse"
)

const chart = "packaging/helm/dogwood/"

// TestChart reads the templates of the chart, whose values exist and are in the schema, and
// whose command line "dogwood serve" has. The long tier renders them.
func TestChart(t *testing.T) {
	var values map[string]any
	readYAML(t, chart+"values.yaml", &values)
	var schema map[string]any
	if err := json.Unmarshal([]byte(read(t, chart+"values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	wantSchema(t, "", values, schema)
	files, err := filepath.Glob(filepath.Join(root, chart, "templates/*"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	value := regexp.MustCompile(`\.Values((?:\.\w+)+)`)
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree := parse.New(filepath.Base(file))
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(string(text), "", "", map[string]*parse.Tree{}); err != nil {
			t.Error(err)
		}
		for _, m := range value.FindAllStringSubmatch(string(text), -1) {
			path := strings.Split(m[1], ".")[1:]
			if used[path[0]] = true; !has(values, path) {
				t.Errorf("%s uses .Values%s, which values.yaml does not have", filepath.Base(file), m[1])
			}
		}
	}
	for name := range values {
		if !used[name] {
			t.Errorf("no template uses %s of values.yaml", name)
		}
	}
	wantFlags(t, read(t, chart+"templates/statefulset.yaml"))
}

func has(values map[string]any, path []string) bool {
	v, ok := values[path[0]]
	if !ok || len(path) == 1 {
		return ok
	}
	m, ok := v.(map[string]any)
	return ok && has(m, path[1:])
}

// wantSchema: the schema describes each value.
func wantSchema(t *testing.T, at string, values map[string]any, schema map[string]any) {
	t.Helper()
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return // any
	}
	for name, v := range values {
		p, ok := properties[name].(map[string]any)
		if !ok {
			t.Errorf("the schema does not have %s%s", at, name)
			continue
		}
		if m, ok := v.(map[string]any); ok {
			wantSchema(t, at+name+".", m, p)
		}
	}
}

// wantFlags: the flags of a text are flags of "dogwood serve".
func wantFlags(t *testing.T, text string) {
	t.Helper()
	help := serveHelp(t)
	flags := regexp.MustCompile(`- (--[a-z-]+)=`).FindAllStringSubmatch(text, -1)
	if len(flags) == 0 {
		t.Error("there are no flags")
	}
	known := regexp.MustCompile(`--[a-z-]+`).FindAllString(help, -1)
	for _, f := range flags {
		if !slices.Contains(known, f[1]) {
			t.Errorf("serve has no flag %s", f[1])
		}
	}
}
