package invariant

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// The tests in this file damage the data of the models in testdata/models, one
// place at a time.

// A model is the data of one of them in a store, and what must hold of it.
type model struct {
	*store.Tx
	invariants []*Invariant
	root       tree.Node
}

func loadModel(t *testing.T, name string) *model {
	t.Helper()
	dir := filepath.Join("..", "..", "testdata", "models", name)
	data, err := os.ReadFile(filepath.Join(dir, "data.json"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "ops.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := &model{Tx: stored(t, string(data)), root: tree.MustParseNode(string(data))}
	if m.invariants, err = Read(f); err != nil {
		t.Fatal(err)
	}
	return m
}

// leaves returns the paths of all leaves of a node.
func leaves(n tree.Node, at tree.Path) []tree.Path {
	if n.IsLeaf() {
		return []tree.Path{at}
	}
	var list []tree.Path
	for key, child := range n.Children() {
		list = append(list, leaves(child, at.Child(key))...)
	}
	return list
}

// damaged calls f while the node at p is n.
func (m *model) damaged(t *testing.T, p tree.Path, n tree.Node, f func()) {
	t.Helper()
	m.put(t, p, n)
	f()
	m.put(t, p, m.root.Get(p))
}

func (m *model) put(t *testing.T, p tree.Path, n tree.Node) {
	t.Helper()
	if _, err := m.Put(p, n); err != nil {
		t.Fatal(err)
	}
}

// noticed reports whether any invariant does not hold.
func (m *model) noticed(t *testing.T) bool {
	t.Helper()
	return slices.ContainsFunc(m.invariants, func(v *Invariant) bool { return len(check(t, v, m)) > 0 })
}

// altered is a leaf of the same kind with another value.
func altered(n tree.Node) tree.Node {
	if f, ok := n.NumberValue(); ok {
		return tree.Number(f + 1)
	}
	if s, ok := n.StringValue(); ok {
		return tree.String(s + "-")
	}
	b, _ := n.BoolValue()
	return tree.Bool(!b)
}

// Of all that can be taken from a model's data, one leaf at a time, the invariants
// miss what is optional; of what can be altered, what is nowhere a second time.
func TestModelsDamaged(t *testing.T) {
	for _, c := range []struct {
		model                    string
		leaves, removed, altered int
	}{
		{"chat", 48, 48, 3}, {"org", 22, 21, 0}, {"msgy", 157, 155, 121}, {"social", 80, 64, 53},
		{"owner-storage", 10, 2, 0}, {"im", 80, 58, 20},
	} {
		t.Run(c.model, func(t *testing.T) {
			m := loadModel(t, c.model)
			if m.noticed(t) {
				t.Fatal("something does not hold of the sound data")
			}
			paths := leaves(m.root, tree.Root)
			removed, changed := 0, 0
			for _, p := range paths {
				m.damaged(t, p, tree.Empty, func() {
					if m.noticed(t) {
						removed++
					}
				})
				m.damaged(t, p, altered(m.root.Get(p)), func() {
					if m.noticed(t) {
						changed++
					}
				})
			}
			if len(paths) != c.leaves || removed != c.removed || changed != c.altered {
				t.Errorf("of %d leaves %d removed and %d altered ones were noticed, want %d, %d and %d",
					len(paths), removed, changed, c.leaves, c.removed, c.altered)
			}
			if m.noticed(t) {
				t.Error("the data was not put back")
			}
		})
	}
}

// Each side of a pair that is removed, each copy and each counter that is altered
// is reported by the invariant itself, with its path.
func TestModelsReportPaths(t *testing.T) {
	seen := make(map[string]int)
	for _, name := range []string{"chat", "org", "msgy", "social", "owner-storage", "im"} {
		m := loadModel(t, name)
		for _, v := range m.invariants {
			for _, p := range sides(t, m, v) {
				damage := tree.Empty
				if v.Kind != "inverse" {
					damage = altered(m.root.Get(p))
				}
				m.damaged(t, p, damage, func() {
					if got := check(t, v, m); !strings.Contains(strings.Join(got, "\n")+" ", p.String()+" ") {
						t.Errorf("%s: %s with another %s: %q", name, v.ID, p, got)
					}
				})
				seen[v.Kind]++
			}
		}
	}
	if seen["inverse"] != 40 || seen["equal"]+seen["copy"] != 162 || seen["count"] != 20 {
		t.Errorf("damaged %v, want 40 sides, 162 copies and 20 counters", seen)
	}
}

// sides returns where there is a side of a pair, a copy or a counter.
func sides(t *testing.T, m *model, v *Invariant) (paths []tree.Path) {
	t.Helper()
	list := map[string][]pattern{"inverse": {v.A, v.B}, "equal": {v.A}, "copy": {v.Each}, "count": {v.Counter}}[v.Kind]
	s := &scan{ctx: t.Context(), r: m}
	for _, p := range list {
		err := s.each(p, nil, func(found match) error {
			paths = append(paths, found.path.Join(v.Field.Path))
			if v.Kind != "equal" {
				return nil
			}
			other, _, _, err := found.fill(v.B, asIs)
			if !m.root.Get(other).IsEmpty() { // the other copy
				paths = append(paths, other)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// twice has the places at which each model, by its page in docs/models and its rules,
// has things twice: sides of pairs, which come and go together, and copies and
// counters, whose value is elsewhere, too. What is missing here is said there: an entry
// of a home may go when it is trimmed, a group of msgy has no index.
var twice = map[string]struct{ pairs, values []string }{
	"chat": {
		pairs: []string{"users/*/rooms/*", "members/*/*"},
	},
	"org": {
		pairs: []string{"users/*/groups/*", "groups/*/members/*"},
	},
	"msgy": {
		pairs:  []string{"timelines/*/*/*/*", "recent/*/*/*", "msgs/*", "uids/*", "users/*/uid"},
		values: []string{"timelines/*/*/*/*", "recent/*/*/*", "msgs/*/created", "msgs/*/sender", "msgs/*/recipient", "msgs/*/day", "uids/*", "users/*/uid", "users/*/user_name"},
	},
	"social": {
		pairs:  []string{"following/*/*", "followers/*/*", "profile/*/*", "statuses/*", "logins/*", "users/*/login"},
		values: []string{"following/*/*", "followers/*/*", "profile/*/*", "home/*/*", "statuses/*/posted", "statuses/*/login", "statuses/*/uid", "logins/*", "users/*/login", "users/*/posts", "users/*/followers", "users/*/following"},
	},
	"im": {
		pairs:  []string{"userGroups/*/*", "groupMembers/*/*", "ownedGroups/*/*", "groups/*", "stats/*/ownedGroups"},
		values: []string{"userGroups/*/*", "groupMembers/*/*/joined", "ownedGroups/*/*", "groups/*/created", "groups/*/owner", "conversations/*/group", "stats/*/ownedGroups"},
	},
}

// Whatever a model has twice is noticed if one of the two goes, or is altered. Unlike
// TestModelsReportPaths this does not ask the invariants what they are about.
func TestModelsNoticeWhatIsTwice(t *testing.T) {
	for name, has := range twice {
		m := loadModel(t, name)
		try := func(what string, patterns []string, damage func(tree.Node) tree.Node) {
			for _, text := range patterns {
				for _, p := range places(t, m, text) {
					m.damaged(t, p, damage(m.root.Get(p)), func() {
						if !m.noticed(t) {
							t.Errorf("%s: nothing is noticed of %s %s", name, p, what)
						}
					})
				}
			}
		}
		try("removed", has.pairs, func(tree.Node) tree.Node { return tree.Empty })
		try("altered", has.values, altered)
	}
}

// places returns the paths that a pattern fits. There must be some.
func places(t *testing.T, m *model, text string) (paths []tree.Path) {
	t.Helper()
	p, err := parsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	s := &scan{ctx: t.Context(), r: m}
	err = s.each(p, nil, func(found match) error {
		paths = append(paths, found.path)
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d places fit %s, %v", len(paths), text, err)
	}
	return paths
}

// What is no invariant of the data is in the files, too, and is skipped.
func TestReadModels(t *testing.T) {
	for _, name := range []string{"chat", "org", "msgy", "social", "owner-storage", "im"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "models", name, "ops.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Invariants []json.RawMessage }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		list, err := Read(strings.NewReader(string(text)))
		if err != nil || len(list) != len(file.Invariants) {
			t.Errorf("%s: %d of %d invariants, %v", name, len(list), len(file.Invariants), err)
		}
	}
}
