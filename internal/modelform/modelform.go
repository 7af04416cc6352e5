// Package modelform has the forms in which the data models of testdata/models are played.
// In the first clients write all copies. In the second a data document says what follows,
// and clients write each fact once.
package modelform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A Form is one in which the operations of a model are played.
type Form struct {
	Name     string
	Rules    string
	Document string // of the data; empty: clients write all copies

	// Writes are the operations of one side that stand for others, by the ids of these.
	Writes map[string]Write

	// Accepted are the ids of operations that are refused where clients write all
	// copies, since one is missing. Each has the update that it becomes.
	Accepted map[string]json.RawMessage

	// Taken are the ids of operations that are refused since a place of a unique map is taken.
	// Clients that write that place, too, are refused as by a rule.
	Taken []string

	// Apart are places that are not as clients of all copies leave them: "users/$u/lastStatus".
	// Invariants say what they hold.
	Apart []string

	invariants []json.RawMessage // of this form
}

// A Write is the operation of a client.
type Write struct {
	Op, Path, Key string
	Value         json.RawMessage
}

// Load returns the forms of a model by its directory: the first one alone, if there is no
// second. That is played with writes of one side and with those of all copies, as
// clients send them that know nothing of the document.
func Load(dir string) ([]Form, error) {
	read := func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		return string(text), err
	}
	rules, err := read("rules.json")
	if err != nil {
		return nil, err
	}
	forms := []Form{{Name: "fan-out", Rules: rules}}
	text, err := read("declared.json")
	if os.IsNotExist(err) {
		return forms, nil
	}
	if err != nil {
		return nil, err
	}
	var file struct {
		Format, About string
		Writes        map[string]Write
		Accepted      map[string]json.RawMessage
		Taken, Apart  []string
		Invariants    []json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil || file.Format != "dogwood-model-declared/1" {
		return nil, fmt.Errorf("%s/declared.json: format %q: %w", dir, file.Format, err)
	}
	document, err := read("database.data.json")
	if err != nil {
		return nil, err
	}
	if rules, err = read("rules.declared.json"); err != nil {
		return nil, err
	}
	declared := Form{Name: "declared", Rules: rules, Document: document, Writes: file.Writes, Accepted: file.Accepted,
		Taken: file.Taken, Apart: file.Apart, invariants: file.Invariants}
	all := declared
	all.Name, all.Writes, all.Taken = "declared, all copies written", nil, nil
	return append(forms, declared, all), nil
}

// Invariants returns the invariants of the form by those of the model: it has some of its own,
// and others in place of those with the same id.
func (f Form) Invariants(model []json.RawMessage) ([]json.RawMessage, error) {
	list := slices.Clone(model)
	for _, own := range f.invariants {
		id, err := idOf(own)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, func(other json.RawMessage) bool {
			same, err := idOf(other)
			return err == nil && same == id
		})
		if i < 0 {
			list = append(list, own)
		} else {
			list[i] = own
		}
	}
	return list, nil
}

func idOf(invariant json.RawMessage) (string, error) {
	var v struct{ ID string }
	err := json.Unmarshal(invariant, &v)
	if err == nil && v.ID == "" {
		err = fmt.Errorf("an invariant has no id: %s", invariant)
	}
	return v.ID, err
}

// Compared returns what of a tree is to be as clients of all copies leave it: not the places
// that are apart.
func (f Form) Compared(root tree.Node) tree.Node {
	for _, pattern := range f.Apart {
		root = without(root, strings.Split(pattern, "/"))
	}
	return root
}

// without returns a node without the places that a pattern matches.
func without(n tree.Node, pattern []string) tree.Node {
	if len(pattern) == 0 {
		return tree.Empty
	}
	for key, child := range n.Children() {
		if pattern[0] == key || strings.HasPrefix(pattern[0], "$") {
			n = n.With(tree.Root.Child(key), without(child, pattern[1:]))
		}
	}
	return n
}
