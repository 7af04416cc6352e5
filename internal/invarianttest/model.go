// Package invarianttest damages the data of the models in testdata/models, one place
// at a time, in every way that their invariants are to report.
//
// Its nouns: a Model is the data of one of them and what must hold of it. A Damage is
// another value at one of its places. Beside the data, places.json says of each leaf
// whether its value is somewhere else, too ("twice"), so that whatever is put there
// must be reported, or not ("once"), and why. A leaf that is not in this table is an
// error, so that none is forgotten.
package invarianttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/invariant"
)

// Names are those of the models, which are also their folders in testdata/models.
var Names = []string{"chat", "org", "msgy", "social", "owner-storage", "im"}

// A Model is the data of a model and what must hold of it.
type Model struct {
	Data       tree.Node // of data.json, with what places.json adds to it
	Invariants []*invariant.Invariant

	places []*place
}

// A table is the file places.json.
type table struct {
	About  string                     `json:"about"`
	More   map[string]json.RawMessage `json:"more"` // values by their paths, of which data.json has none
	Places []*place                   `json:"places"`
}

// A place is a row of the table: where leaves are, and what of them is noticed.
type place struct {
	Place string            `json:"place"` // a path in which * stands for any key
	Twice string            `json:"twice"` // where the value is, too
	Once  string            `json:"once"`  // why it is nowhere else
	Free  map[string]string `json:"free"`  // damages that need not be noticed, and why

	leaves []tree.Path // that are there
}

// Load reads the model in a folder.
func Load(dir string) (*Model, error) {
	m := new(Model)
	for _, read := range []func(dir string) error{m.readData, m.readInvariants, m.readPlaces} {
		if err := read(dir); err != nil {
			return nil, fmt.Errorf("model %s: %w", filepath.Base(dir), err)
		}
	}
	return m, nil
}

func (m *Model) readData(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "data.json"))
	if err != nil {
		return err
	}
	m.Data, err = tree.ParseNode(string(text))
	return err
}

func (m *Model) readInvariants(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "ops.json"))
	if err != nil {
		return err
	}
	m.Invariants, err = invariant.Read(bytes.NewReader(text))
	return err
}

// readPlaces reads the table, and looks whether it has each leaf once.
func (m *Model) readPlaces(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "places.json"))
	if err != nil {
		return err
	}
	var t table
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("places.json: %w", err)
	}
	for path, value := range t.More {
		n, err := tree.ParseNode(string(value))
		if err != nil {
			return fmt.Errorf("places.json: more at %s: %w", path, err)
		}
		m.Data = m.Data.With(tree.MustParsePath(path), n)
	}
	m.places = t.Places
	return m.findLeaves()
}

// findLeaves gives each leaf to its place.
func (m *Model) findLeaves() error {
	for _, p := range Leaves(m.Data) {
		if _, err := m.placeOf(p); err != nil {
			return err
		}
	}
	for _, at := range m.places {
		for _, p := range Leaves(m.Data) {
			if at.fits(p) {
				at.leaves = append(at.leaves, p)
			}
		}
		if err := at.valid(); err != nil {
			return err
		}
	}
	return nil
}

// placeOf returns the only place that a leaf has.
func (m *Model) placeOf(p tree.Path) (found *place, err error) {
	for _, at := range m.places {
		switch {
		case !at.fits(p):
		case found != nil:
			return nil, fmt.Errorf("places.json has %s twice, as %s and %s", p, found.Place, at.Place)
		default:
			found = at
		}
	}
	if found == nil {
		return nil, fmt.Errorf("places.json does not say whether what is at %s is anywhere else", p)
	}
	return found, nil
}

// valid looks whether a row says what it must.
func (at *place) valid() error {
	if len(at.leaves) == 0 {
		return fmt.Errorf("places.json has %s, where no leaf is", at.Place)
	}
	if (at.Twice == "") == (at.Once == "") || at.Once != "" && at.Free != nil {
		return fmt.Errorf(`places.json: %s is either "twice", or "once" and all of it free`, at.Place)
	}
	for name, why := range at.Free {
		if !names[name] || why == "" {
			return fmt.Errorf("places.json: %s is free of %q because of %q", at.Place, name, why)
		}
	}
	return nil
}

// fits reports whether a path is one of the place.
func (at *place) fits(p tree.Path) bool {
	keys := strings.Split(at.Place, "/")
	if p.Len() != len(keys) {
		return false
	}
	i := 0
	for key := range p.Keys() {
		if keys[i] != "*" && keys[i] != key {
			return false
		}
		i++
	}
	return true
}

// Leaves returns the paths of all leaves of a tree.
func Leaves(root tree.Node) []tree.Path { return leaves(nil, root, tree.Root) }

func leaves(list []tree.Path, n tree.Node, at tree.Path) []tree.Path {
	if n.IsLeaf() {
		return append(list, at)
	}
	for key, child := range n.Children() {
		list = leaves(list, child, at.Child(key))
	}
	return list
}
