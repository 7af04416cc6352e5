package declared

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// Changes are what became of the states, for a replica. A state in Anew has a number that the definition
// did not have before: all rows with that number came since.
type changes struct {
	NextID  kept.ID   `json:"nextId"`
	Anew    []state   `json:"anew,omitempty"`
	States  []state   `json:"states,omitempty"`
	Dropped []kept.ID `json:"dropped,omitempty"`
	Marks   []kept.ID `json:"marks,omitempty"`
}

// numberOf returns the number of a definition, 0 if there is none of that name.
func numberOf(d *Data, name string) kept.ID {
	if d == nil || d.byName[name] == nil {
		return 0
	}
	return d.byName[name].ID
}

// Since returns what Follow needs to make the states of after of those of before, which may be nil.
func Since(before, after *Data) (json.RawMessage, error) {
	c := changes{NextID: after.stored.NextID, Dropped: after.stored.Dropped, Marks: after.stored.Marks}
	for _, st := range after.stored.States {
		switch {
		case numberOf(before, st.Name) != st.ID:
			c.Anew = append(c.Anew, st)
		case !reflect.DeepEqual(*before.byName[st.Name], st):
			c.States = append(c.States, st)
		}
	}
	return json.Marshal(c)
}

// Put puts in force what Deploy did to another store with the same history. How far new definitions are
// comes with the states. Without these, as in logs of earlier versions, their rows do not come either.
func (d *Data) Put(tx *store.Tx, v versions.Version, document *derive.Document) (*Data, error) {
	if err := versions.PutData(tx, v, document.Source()); err != nil {
		return nil, err
	}
	next := d.next(document).with(func(s *stored) {
		for i, def := range document.Definitions() {
			if st := &s.States[i]; numberOf(d, st.Name) != st.ID {
				st.again(def)
				st.Unlogged = def.Kind != derive.Index
			}
		}
	})
	return next, next.save(tx)
}

// Follow stores states that have changed in another store with the same history. A definition whose
// rows have not been in the log from its beginning is not taken for one that is built.
func Follow(tx *store.Tx, d *Data, text json.RawMessage) (*Data, error) {
	var c changes
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("states of the data document: %w", err)
	}
	if d == nil {
		return nil, fmt.Errorf("states without a data document: %.100s", text)
	}
	for _, st := range slices.Concat(c.Anew, c.States) {
		if st.At == nil {
			continue
		}
		if _, err := tree.ParsePath(*st.At); err != nil {
			return nil, fmt.Errorf("state of definition %s: %w", st.Name, err)
		}
	}
	next := d.with(func(s *stored) {
		s.NextID, s.Dropped, s.Marks = c.NextID, c.Dropped, c.Marks
		at := make(map[string]*state)
		for i := range s.States {
			at[s.States[i].Name] = &s.States[i]
		}
		for _, st := range c.Anew {
			if mine := at[st.Name]; mine != nil {
				*mine = st
			}
		}
		for _, st := range c.States {
			mine := at[st.Name]
			if mine == nil || mine.Unlogged && st.Phase != Paused && st.Phase != Failed {
				continue
			}
			st.Unlogged = mine.Unlogged
			*mine = st
		}
	})
	return next, next.save(tx)
}
