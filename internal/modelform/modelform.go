// Package modelform has the forms in which the data models of testdata/models are played.
// In the first clients write all copies. In the second a data document says what follows,
// and clients write each fact once.
package modelform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	declared := Form{Name: "declared", Rules: rules, Document: document, Writes: file.Writes, Accepted: file.Accepted}
	all := declared
	all.Name, all.Writes = "declared, all copies written", nil
	return append(forms, declared, all), nil
}
