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

// Changes are what became of the states, for a replica. A state in Anew has a number that the
// definition did not have before: all rows with that number came since. One in States has the
// number of before. The other members replace those of the replica. It is the JSON of
// entry.States in the log.
type changes struct {
	NextID  kept.ID   `json:"nextId"`
	Anew    []state   `json:"anew,omitempty"`
	States  []state   `json:"states,omitempty"`
	Dropped []kept.ID `json:"dropped,omitempty"`
	Marks   []kept.ID `json:"marks,omitempty"`
}

// stateOf returns the stored state of a definition, one without a number if there is none of that name. Those of a
// document that is refused are stored, too.
func stateOf(d *Data, name string) (s state) {
	if d == nil {
		return s
	}
	if i := slices.IndexFunc(d.stored.States, func(s state) bool { return s.Name == name }); i >= 0 {
		s = d.stored.States[i]
	}
	return s
}

// withoutStrays has the rows deleted that are of no definition, and gives none of their numbers again. A replica
// has such rows of definitions that are Unlogged, if the log has none of their states.
func withoutStrays(tx *store.Tx, s *stored) error {
	if !slices.ContainsFunc(s.States, func(st state) bool { return st.Unlogged }) {
		return nil
	}
	ids, err := store.Kept(tx).IDs()
	for _, id := range ids {
		s.NextID = max(s.NextID, id)
		if !slices.Contains(s.Dropped, id) && !slices.ContainsFunc(s.States, func(st state) bool { return st.ID == id }) {
			s.Dropped = append(s.Dropped, id)
		}
	}
	return err
}

// Since returns what Follow needs to make the states of after of those of before, which may be
// nil. Only states that differ are in it: a step of building changes one, and each step has an
// entry in the log.
func Since(before, after *Data) (json.RawMessage, error) {
	c := changes{NextID: after.stored.NextID, Dropped: after.stored.Dropped, Marks: after.stored.Marks}
	for _, st := range after.stored.States {
		switch was := stateOf(before, st.Name); {
		case was.ID != st.ID:
			c.Anew = append(c.Anew, st)
		case !reflect.DeepEqual(was, st):
			c.States = append(c.States, st)
		}
	}
	return json.Marshal(c)
}

// Put puts in force what Deploy did to another store with the same history. It verifies nothing:
// that store has. Places that change come as writes. How far new definitions are comes with the
// states. Without these, as in logs of earlier versions, their rows do not come either.
// Of a document that this version refuses it is not known which definitions go: all states and indexes stay.
func (d *Data) Put(tx *store.Tx, v versions.Version, document *derive.Document) (*Data, error) {
	if err := versions.PutData(tx, v, document.Source()); err != nil {
		return nil, err
	}
	if document.Refused() != nil {
		next := &Data{document: document, ready: true}
		if d != nil {
			next.stored, next.indexes = d.stored, d.indexes
		}
		return next, next.save(tx)
	}
	next := d.next(document).with(func(s *stored) {
		for i, def := range document.Definitions() {
			if st := &s.States[i]; stateOf(d, st.Name).ID != st.ID {
				st.again(def)
				st.Unlogged = def.Kind != derive.Index
			}
		}
	})
	return next, next.save(tx)
}

// Follow stores states that have changed in another store with the same history. A definition
// whose rows have not been in the log from its beginning is not taken for one that is built. Only
// that it is failed or paused is believed, since then it keeps nothing. Definitions that the
// replica does not know are left out, unless it refuses the document: then it stores their states
// for a later version.
//
// d is what Load returns for tx. An error that is not of the store means that text is damaged, or
// that the log is not of this history.
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
		var others []state
		for _, st := range c.Anew {
			if mine := at[st.Name]; mine != nil {
				*mine = st
			} else if d.document.Refused() != nil {
				others = append(others, st)
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
		s.States = append(s.States, others...)
	})
	return next, next.save(tx)
}
