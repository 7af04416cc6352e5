package invarianttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// load makes a model of three files.
func load(t *testing.T, data, places string) (*Model, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"data.json": data, "places.json": places,
		"ops.json": `{"invariants": [{"id": "1", "kind": "ref", "from": "a", "to": "b"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Load(dir)
}

// A table that forgets a leaf, or says nothing of use about it, is refused.
func TestTablesWithMistakes(t *testing.T) {
	for _, c := range []struct{ places, want string }{
		{`[{"place": "a/*", "once": "x"}]`, "model m: places.json does not say whether what is at /b/c/d is anywhere else"},
		{`[{"place": "a/*", "once": "x"}, {"place": "b/c/*", "once": "x"}, {"place": "b/*/d", "once": "x"}]`, "model m: places.json has /b/c/d twice, as b/c/* and b/*/d"},
		{`[{"place": "a/*", "once": "x"}, {"place": "b/*/*", "once": "x"}, {"place": "c/*", "once": "x"}]`, "model m: places.json has c/*, where no leaf is"},
		{`[{"place": "a/*"}, {"place": "b/*/*", "once": "x"}]`, `model m: places.json: a/* is either "twice"`},
		{`[{"place": "a/*", "once": "x", "twice": "y"}, {"place": "b/*/*", "once": "x"}]`, `model m: places.json: a/* is either "twice"`},
		{`[{"place": "a/*", "once": "x", "free": {"removed": "y"}}, {"place": "b/*/*", "once": "x"}]`, `model m: places.json: a/* is either "twice"`},
		{`[{"place": "a/*", "twice": "x", "free": {"gone": "y"}}, {"place": "b/*/*", "once": "x"}]`, `model m: places.json: a/* is free of "gone" because of "y"`},
		{`[{"place": "a/*", "twice": "x", "free": {"removed": ""}}, {"place": "b/*/*", "once": "x"}]`, `model m: places.json: a/* is free of "removed" because of ""`},
		{`[{"place": "a/*", "twise": "x"}]`, `model m: places.json: json: unknown field "twise"`},
	} {
		if _, err := load(t, `{"a": {"x": 1}, "b": {"c": {"d": "e"}}}`, `{"places": `+c.places+`}`); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.places, err, c.want)
		}
	}
}

// Each leaf is removed, changed and replaced by others of its place; what is below
// may be missed if all of it may.
func TestDamages(t *testing.T) {
	m, err := load(t, `{"a": {"x": 1, "y": 3, "z": "1"}, "b": {"c": {"d": true}}}`, `{
		"more": {"b/e/f": "g"},
		"places": [{"place": "a/*", "twice": "b", "free": {"raised": "why"}}, {"place": "b/*/*", "once": "why"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range m.Damages() {
		line := d.Path.String() + " " + d.String()
		if d.Noticed {
			line += "!"
		}
		got = append(got, line)
	}
	want := []string{
		`/a/x removed!`, `/a/x raised to 2`, `/a/x lowered to 0!`, `/a/x retyped to "1"!`, `/a/x raised to 3`, `/a/x swapped to "1"!`,
		`/a/y removed!`, `/a/y raised to 4`, `/a/y lowered to 2!`, `/a/y retyped to "3"!`, `/a/y swapped to "1"!`, `/a/y lowered to 1!`,
		`/a/z removed!`, `/a/z changed to "1-"!`, `/a/z swapped to 1!`, `/a/z swapped to 3!`,
		`/b/c/d removed`, `/b/c/d changed to false`, `/b/c/d swapped to "g"`,
		`/b/e/f removed`, `/b/e/f changed to "g-"`, `/b/e/f swapped to true`,
		`/a removed!`, `/b removed`, `/b/c removed`, `/b/e removed`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A line is about a place if it has just its path.
func TestIn(t *testing.T) {
	removed := Damage{Path: tree.MustParsePath("a/b")}
	changed := Damage{Path: tree.MustParsePath("a/b"), To: tree.Number(1)}
	for line, want := range map[string]struct{ removed, changed bool }{
		"/x exists and /a/b does not":     {true, true},
		"/a/b is 1":                       {true, true},
		"/x is not named y: /a/b is 1":    {true, true},
		"/a/b":                            {true, true},
		"/a/bc is 1 and /a/b/c exists":    {true, false},
		"/a/bc is 1 and /a/b, /x are not": {true, true},
		"/a has no b":                     {true, false},
		"/a has no bc":                    {false, false},
		"/a/bc is 1 and /c/a/b is a node": {false, false},
	} {
		if removed.In(line) != want.removed || changed.In(line) != want.changed {
			t.Errorf("%q: removed %v, changed %v, want %+v", line, removed.In(line), changed.In(line), want)
		}
	}
}
