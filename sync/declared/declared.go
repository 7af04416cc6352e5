// Package declared keeps what follows from the data of a database by its data document: it
// stands between package derive, which is pure, and the committer, in whose transactions it
// reads and writes.
//
// Its nouns: a Data is a document in force with the state of each definition. It never
// changes; the committer replaces it. Follows is the update that a write becomes by it.
//
// A definition has three kinds of data, all in one file (storage §5.6): its places are nodes of
// the tree, its rows are in bucket e (package kept), and its state is JSON. Its number in the
// state ties the rows to it.
//
// A method that changes states takes a write transaction, stores the states there and returns
// the next Data. The caller puts that in force for others only when the transaction is durable.
// So a transaction that is rolled back leaves nothing to be undone, and there are no locks here.
package declared

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/sync/watch"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// A Data is a data document in force. A nil Data is none: a database that never got a document
// has that. Once there is a document, only another one replaces it, maybe without definitions.
//
// Any goroutine may read a Data: the committer, reads on snapshots, and large writes that are
// decided outside of the committer. Only the tallies count on, atomically. The lists inside a
// state (Conflicts, Skipped) are shared with the Data before and after it, so code that appends
// to one cuts its capacity first.
type Data struct {
	document *derive.Document              // if it is refused, stored and indexes are those of before
	stored   stored                        // as in the file
	states   map[*derive.Definition]*state // of stored; empty if the document is refused
	byName   map[string]*state             // the same
	tallies  map[string]*tally             // by the names of definitions; the next Data goes on with them
	ready    bool                          // all definitions are; or the document is refused, so none is in force
	indexes  []store.Index                 // that definitions need
}

// Load returns the data document that a file has, nil if there is none. It writes nothing. A state
// that the file lacks gets the next number, which is the same at each Load until it is stored.
func Load(tx *store.Tx) (*Data, error) {
	source, err := versions.Data(tx)
	if err != nil || source == "" {
		return nil, err
	}
	var s stored
	text, err := tx.Meta(metaStates)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s)
	}
	if err == nil {
		err = withoutStrays(tx, &s)
	}
	if err != nil {
		return nil, fmt.Errorf("states of the data document: %w", err)
	}
	document := derive.ParseStored(source)
	if document.Refused() == nil {
		return newData(document, s, nil), nil
	}
	indexes, err := tx.Indexes().All() // they stay as they are, since it is not known which ones are needed
	return &Data{document: document, stored: s, ready: true, indexes: indexes}, err
}

// Refuses returns the error of an import to p that may meet a definition of a document that this version of
// Dogwood refuses. Then no definition is in force, and the states are those of before: nothing that they are about
// changes meanwhile.
func Refuses(d *Data, p tree.Path) error {
	if d.Document().Refused() == nil {
		return nil
	}
	_, err := d.Derive(Write{Writes: []tree.ResolvedWrite{{Target: tree.Target{Path: p}}}})
	return err
}

// newData returns the data of a document. Definitions without a state get one. They are counted on
// under their names. One that replaces another that has kept the same places is built again, since these
// are its own. former is in force before, and may be nil.
//
// A definition keeps its number and state only as long as its text is the same: rows of another
// text mean something else. The number of one that is replaced or taken out goes to Dropped, and
// Step deletes its rows later, since there may be any number of them.
//
// s is not changed, since it may be in force. A preview makes a Data that is thrown away; when
// that shared Dropped with the one in force, rows of definitions were deleted that stayed
// (TestPreviewBesideRebuild).
func newData(document *derive.Document, s stored, former *Data) *Data {
	var tallies map[string]*tally
	if former != nil {
		tallies = former.tallies
	}
	d := &Data{document: document, stored: stored{NextID: s.NextID}, tallies: make(map[string]*tally)}
	d.stored.Dropped, d.stored.Marks = slices.Clone(s.Dropped), slices.Clone(s.Marks) // s may be in force
	known := make(map[string]state)
	for _, st := range s.States {
		known[st.Name] = st
	}
	for _, def := range document.Definitions() {
		d.tallies[def.Name] = cmp.Or(tallies[def.Name], new(tally))
		st, there := known[def.Name]
		if hash := versions.Hash(def.Text()); !there || st.Text != hash {
			d.stored.NextID++
			st = state{Name: def.Name, Text: hash, ID: d.stored.NextID, Phase: firstPhase(def)}
			if former.owns(def) {
				st.again(def)
			}
		} else {
			delete(known, def.Name)
		}
		d.stored.States = append(d.stored.States, st)
	}
	for _, st := range known {
		d.stored.Dropped = append(d.stored.Dropped, st.ID)
	}
	slices.Sort(d.stored.Dropped)
	return d.indexed()
}

// owns reports whether all that is at the places of a definition follows from the one of its name.
// Such places are overwritten without being verified. Otherwise a definition that is changed would
// fail over the values that it has written itself. d may be nil.
func (d *Data) owns(def *derive.Definition) bool {
	if d == nil || d.byName[def.Name] == nil || !d.byName[def.Name].verified() {
		return false
	}
	return slices.ContainsFunc(d.document.Definitions(), func(o *derive.Definition) bool { return o.Name == def.Name && def.SamePlaces(o) })
}

// indexed returns the data with its states by definition. It relies on stored.States being in the
// order of the document, which newData sees to. It must be called after each change of them.
func (d *Data) indexed() *Data {
	d.states, d.byName = make(map[*derive.Definition]*state), make(map[string]*state)
	for i, def := range d.document.Definitions() {
		st := &d.stored.States[i]
		d.states[def], d.byName[def.Name] = st, st
	}
	if d.ready = d.document.Refused() != nil; d.ready {
		return d // with the states and indexes of before
	}
	d.indexes = d.needed()
	d.ready = !slices.ContainsFunc(d.stored.States, func(s state) bool { return s.Phase != Ready })
	return d
}

// with returns the data with other states. change gets lists of its own, and d stays as it is: it
// may be in force, and others read it.
func (d *Data) with(change func(s *stored)) *Data {
	next := &Data{document: d.document, stored: d.stored, tallies: d.tallies, indexes: d.indexes}
	next.stored.States = slices.Clone(d.stored.States)
	next.stored.Dropped, next.stored.Marks = slices.Clone(d.stored.Dropped), slices.Clone(d.stored.Marks)
	change(&next.stored)
	return next.indexed()
}

// save stores the states, all of them as one text. That is a few hundred bytes for each
// definition, up to MaxConflicts texts more for one that has conflicts, and a document has at
// most 256.
func (d *Data) save(tx *store.Tx) error {
	text, err := json.Marshal(d.stored)
	if err != nil {
		return err
	}
	return tx.SetMeta(metaStates, text)
}

// Document returns the document, nil if there is none.
func (d *Data) Document() *derive.Document {
	if d == nil {
		return nil
	}
	return d.document
}

// Hash returns the SHA-256 of the text of the document in hexadecimal, "" if there is none. Deploy
// compares it with the hash that a client says is in force.
func (d *Data) Hash() string {
	if d == nil {
		return ""
	}
	return versions.Hash(d.document.Source())
}

// Meets reports whether a write may touch a definition. Every write asks that, so it does
// not allocate.
func (d *Data) Meets(writes []tree.ResolvedWrite) bool {
	if d == nil {
		return false
	}
	for i := range writes {
		if d.document.Meets(writes[i].Path) {
			return true
		}
	}
	return false
}

// Spreads reports whether an update may touch any number of nodes, have expressions look at much text,
// or have much move. Every write asks that, so it does not allocate. It may say so of a write that
// turns out to be small: that is found out by deriving from it on a snapshot.
func (d *Data) Spreads(u tree.Update) bool {
	if d == nil {
		return false
	}
	for i := range u {
		p := u[i].Path
		if !u[i].Priority && d.document.Spreads(p) || len(u) > fewPaths && d.document.Evaluates(p) || d.document.Moves(p) {
			return true
		}
	}
	return false
}

// fewPaths is how many paths of an update may each have expressions look at text in the committer.
// One path costs a look at texts of at most derive.MaxText each, so this many delay other writes
// little.
const fewPaths = 16

// Indexes returns the indexes that definitions need. The caller must not modify the result.
func (d *Data) Indexes() []store.Index {
	if d == nil {
		return nil
	}
	return d.indexes
}

// needed returns the indexes that definitions need. A list by key needs none: the tree has
// children in that order. A list that is paused keeps its index, which it needs again when it is
// resumed. An index that is paused is none.
func (d *Data) needed() (list []store.Index) {
	for _, def := range d.document.Definitions() {
		switch {
		case def.Kind == derive.Keep && def.OrderBy != tree.ByKey:
			list = append(list, listIndex(def))
		case def.Kind == derive.Index && !def.Off && !d.skips(def):
			list = append(list, indexOf(def))
		}
	}
	return list
}

// indexOf returns the index that a definition of that kind is.
func indexOf(def *derive.Definition) store.Index {
	return store.Index{Pattern: def.List()[1:], Order: def.ByOrder}
}

// Orders reports whether a definition has the children of the node at p indexed in an order.
func (d *Data) Orders(p tree.Path, order string) bool {
	return slices.ContainsFunc(d.Indexes(), func(ix store.Index) bool { return ix.Order == order && ix.Matches(p) })
}

// A Write is one to derive from. Deriving only reads, so Tx may be a snapshot.
type Write struct {
	Tx     *store.Tx     // before it
	Noted  *watch.Reader // of Tx, that notes the paths that are read; nil: they are not noted
	Writes []tree.ResolvedWrite
	Admin  bool      // corrected where a client is refused, and with wider bounds
	Now    time.Time // times of expiry count from it
	Most   int       // places that may change, if fewer than else; 0: as else
	Bytes  int       // as derive.Change.Bytes
}

// Follows is what a write becomes. It holds no transaction, so it can be derived on a snapshot
// and be made later in another one, if Agrees says so.
type Follows struct {
	*derive.Result
	data *Data         // that it was derived with: its rows get the numbers of these states
	took time.Duration // to derive
}

// Derive returns what a write becomes, nil if nothing can follow from it: then the write is made
// as it is. The caller makes the writes of a result, and calls Store in the same transaction. The
// error is a *derive.Refusal or one of the store.
func (d *Data) Derive(w Write) (*Follows, error) {
	if !d.Meets(w.Writes) {
		return nil, nil
	}
	c := derive.Change{Writes: w.Writes, Admin: w.Admin, Most: w.Most, Bytes: w.Bytes}
	if !d.ready {
		c.Skip = d.skips
	}
	return d.derive(w, c)
}

// derive is Derive for any change, also of the server itself. The fields about building are set
// only while a definition is not ready: package derive has a shorter way for writes without them.
func (d *Data) derive(w Write, c derive.Change) (*Follows, error) {
	x := derivations.Get().(*derivation)
	defer func() { *x = derivation{}; derivations.Put(x) }()
	x.change, x.before = c, before{readerOf(w), w, d}
	x.change.Before, x.change.Now = &x.before, w.Now
	if !d.ready {
		x.change.Behind, x.change.Other, x.change.Held = d.behind, x.before.other, true
	}
	began := time.Now()
	r, err := d.document.Derive(&x.change)
	if r == nil {
		return nil, err
	}
	return &Follows{r, d, time.Since(began)}, err
}

// A derivation is all that deriving from a write needs and the result does not, for the next one.
// It is emptied before it goes back to the pool, which must not hold a transaction.
type derivation struct {
	change derive.Change
	before before
}

var derivations = sync.Pool{New: func() any { return new(derivation) }}

// Agrees reports whether a write that was derived with other data becomes the same by these. It
// is asked of a write that was prepared outside of the committer. Steps of building replace the
// Data all the time, so other data may agree: of the same document, with the same definitions in
// force under the same numbers. A result that depends on how far a building is agrees with no
// other data. f is nil if nothing followed.
func (d *Data) Agrees(o *Data, f *Follows) bool {
	if d == o {
		return true
	}
	if d == nil || o == nil || d.document != o.document || f != nil && f.Progress {
		return false
	}
	for _, def := range d.document.Definitions() {
		if d.skips(def) != o.skips(def) || d.states[def].ID != o.states[def].ID {
			return false
		}
	}
	return true
}

// Store stores the rows that follow. It belongs in the transaction that makes the writes.
//
// Marks are for a map that is being verified or built: they say that a place has a source, so that
// clearing leaves it alone, and of a unique map which one. A map that is ready needs none.
func (f *Follows) Store(tx *store.Tx) error {
	for _, s := range f.Shared {
		if err := store.Kept(tx).SetSources(f.data.states[s.Definition].ID, s.Place, s.Sources); err != nil {
			return err
		}
	}
	if _, err := f.StoreTimers(tx); err != nil {
		return err
	}
	for _, h := range f.Held {
		if st := f.data.states[h.Definition]; st.Phase != Ready {
			if err := store.Kept(tx).Mark(st.ID, h.Place, markedBy(h.Definition, h.Node)); err != nil {
				return err
			}
		}
	}
	return nil
}

// StoreTimers stores when nodes expire from now on, and reports whether that is at another time.
// It is the part of Store for a write that changes nothing in the tree: a client that writes the
// same value again still renews the time of its node.
func (f *Follows) StoreTimers(tx *store.Tx) (changed bool, err error) {
	for _, t := range f.Timers {
		is, err := store.Kept(tx).SetTimer(kept.Timer{ID: f.data.states[t.Definition].ID, Path: t.Path.Clone(), Due: t.Due})
		if err != nil {
			return changed, err
		}
		changed = changed || is
	}
	return changed, nil
}

// markedBy returns the source that marks of a definition note. Those of places that nodes may share,
// or that one node alone may have, need none.
func markedBy(def *derive.Definition, source tree.Path) tree.Path {
	if def.Unique {
		return source
	}
	return tree.Root
}

// SharedPlaces returns the places whose number of sources changes, or that have another source,
// which may be all that changes there. Writes that are prepared have read it: the caller has to
// tell their watches of these places, since no write of the update does.
func (f *Follows) SharedPlaces() (list []tree.ResolvedWrite) {
	for _, s := range f.Shared {
		list = append(list, tree.ResolvedWrite{Target: tree.Target{Path: s.Place}})
	}
	for _, h := range f.Held {
		if h.Definition.Unique {
			list = append(list, tree.ResolvedWrite{Target: tree.Target{Path: h.Place}})
		}
	}
	return list
}

// Due returns the earliest time at which a node expires that the update has touched, in
// milliseconds since 1970; 0: none does.
func (f *Follows) Due() (due int64) {
	for _, t := range f.Timers {
		if t.Due != 0 && (due == 0 || t.Due < due) {
			due = t.Due
		}
	}
	return due
}

// before is the state before a write, as package derive reads it: a derive.Tree and a
// derive.Sized. All that is read is noted in Write.Noted, rows of bucket e under the path of
// their place. So a write that was prepared is decided again when any of it changes.
type before struct {
	tree.Reader // of write: Noted, or else Tx
	write       Write
	data        *Data // whose numbers the rows have
}

func readerOf(w Write) tree.Reader {
	if w.Noted != nil {
		return w.Noted
	}
	return w.Tx
}

func (b before) note(p tree.Path) {
	if b.write.Noted != nil {
		b.write.Noted.Note(p)
	}
}

// Count is that of a derive.Tree.
func (b before) Count(p tree.Path, q tree.Query) (int, error) {
	b.note(p)
	return b.write.Tx.Count(p, q)
}

// GetUpTo is that of a derive.Sized.
func (b before) GetUpTo(p tree.Path, bytes int) (n tree.Node, ok bool, err error) {
	b.note(p)
	n, err = b.write.Tx.GetLimit(p, int64(bytes))
	if errors.Is(err, store.ErrTooBig) {
		return tree.Empty, false, nil
	}
	return n, err == nil, err
}

// PeekUpTo is that of store.Tx. Expressions look at no text that is longer than they may.
func (b before) PeekUpTo(p tree.Path, bytes int) (leaf tree.Node, isObject, ok bool, err error) {
	b.note(p)
	return b.write.Tx.PeekUpTo(p, bytes)
}

// Query is that of a derive.Tree.
func (b before) Query(p tree.Path, q tree.Query) ([]tree.Entry, error) {
	b.note(p)
	return b.write.Tx.Query(p, q)
}

// other is derive.Change.Other. While a unique map is built, a node that building has not reached
// may have the place of another: the value at the place does not say whose it is, and the mark
// does.
func (b before) other(def *derive.Definition, place, p tree.Path) (other, asked bool, err error) {
	st := b.data.states[def]
	if st.Phase == Ready {
		return false, false, nil
	}
	b.note(place)
	source, _, err := store.Kept(b.write.Tx).Marked(st.ID, place)
	return !source.IsRoot() && source != p, true, err
}

// Sources is that of a derive.Tree.
func (b before) Sources(definition string, place tree.Path) (int, error) {
	b.note(place)
	return store.Kept(b.write.Tx).Sources(b.data.byName[definition].ID, place)
}
