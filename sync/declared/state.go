package declared

import (
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// A Phase is how far a definition is.
type Phase string

// The phases. A definition is verified and built. Places that hold something else are cleared, if
// it says that they are to be replaced, or is built once more: of a map behind building, of
// counts and sums before. From the beginning it is in force for what is
// written, but counts, sums, lists and shared places only for the nodes that building has
// come to: so each node counts once.
//
//	map          verifying, building, clearing (to be replaced, built once more, or shared), ready
//	count, sum   verifying, clearing (to be replaced, or built once more), building, ready
//	keep, expire building, ready
//	index        ready: the store builds it, and its status asks the store
//
// Work that finds a contradiction ends as failed. An administrator can pause a definition in any
// phase. Both are left by beginning again with another number, never by going on.
const (
	Verifying Phase = "verifying" // its places are compared with those that follow
	Clearing  Phase = "clearing"  // its places are removed, of a map those without a source
	Building  Phase = "building"  // it is derived from the nodes that are there
	Ready     Phase = "ready"
	Failed    Phase = "failed"  // it is not in force: see its conflicts
	Paused    Phase = "paused"  // it is not in force, by an administrator
	Off       Phase = "off"     // of an index, in its status: the document has no entries of it kept
	Refused   Phase = "refused" // in the status: this version of Dogwood refuses the document
)

// A state is that of one definition. Its JSON is in the file and in the log (changes), so a
// member may be added and must not be renamed.
type state struct {
	Name  string  `json:"name"`
	Text  string  `json:"text"` // hash of the definition that the state is of
	ID    kept.ID `json:"id"`   // of its rows; another one each time that it is built anew
	Phase Phase   `json:"phase"`

	Places bool `json:"places,omitempty"` // verifying has come to places that may have no source
	Clear  bool `json:"clear,omitempty"`  // of a map: clearing comes behind building
	Unsure bool `json:"unsure,omitempty"` // it was paused before it was verified
	Known  bool `json:"known,omitempty"`  // the conflicts are those that verifying will find
	Small  bool `json:"small,omitempty"`  // it had little to look at when work on it began

	// Unlogged is that of a replica: the log has not had all rows of the definition. It is built again,
	// with another number.
	Unlogged bool `json:"unlogged,omitempty"`

	At        *string  `json:"at,omitempty"`             // where the walk of the phase is; nil: at its beginning
	Nodes     int64    `json:"nodes,omitempty"`          // that the walk has come to; while clearing, places
	Built     int64    `json:"built,omitempty"`          // nodes that building had come to, while it is clearing
	Conflicts []string `json:"conflicts,omitempty"`      // the first MaxConflicts: "/sizes/g1 holds a value already"
	Total     int      `json:"conflictsTotal,omitempty"` // with those that are not listed
	Taken     bool     `json:"taken,omitempty"`          // of a unique map: a place of several sources was found
	Skipped   []string `json:"skipped,omitempty"`        // the first MaxSkipped that did not match: "/a/b: why"
	Error     string   `json:"error,omitempty"`          // why it is failed, with advice
}

// stored are the states as the file has them.
type stored struct {
	NextID  kept.ID   `json:"nextId"`            // the last number that was given; 0: none was
	States  []state   `json:"states"`            // in the order of the document
	Dropped []kept.ID `json:"dropped,omitempty"` // whose rows are to be deleted
	Marks   []kept.ID `json:"marks,omitempty"`   // whose marks are to be deleted
}

// metaStates is the name of the value that has the states.
const metaStates = "data-states"

// Bounds of what is told about a definition.
const (
	MaxConflicts = 100
	MaxSkipped   = 20
)

// firstPhase is where a definition begins whose places may hold something that is not its own. A
// list and expiry have no places: the nodes that they work on belong to clients, so there is
// nothing to compare.
func firstPhase(def *derive.Definition) Phase {
	switch def.Kind {
	case derive.Map, derive.Count, derive.Sum:
		return Verifying
	case derive.Index: // the store builds it
		return Ready
	}
	return Building
}

// again has a definition built anew over places that are its own, or that may be replaced. A
// count has to begin at 0, so its places are cleared first. A map clears behind building, and
// only places that got no source: so readers never miss one that stays.
func (s *state) again(def *derive.Definition) {
	switch def.Kind {
	case derive.Count, derive.Sum:
		s.enter(Clearing)
	case derive.Index:
		s.enter(Ready)
	default:
		s.enter(Building)
		s.Clear = def.Kind == derive.Map
	}
}

// place returns where the walk of the phase is. The zero Place is its beginning. At is a clean
// path that was written by moveTo or checked by Follow, so it parses.
func (s *state) place() derive.Place {
	if s.At == nil {
		return derive.Place{}
	}
	return derive.Place{Begun: true, Path: tree.MustParsePath(*s.At)}
}

func (s *state) moveTo(at derive.Place) {
	if at.Begun {
		text := at.Path.Clean()
		s.At = &text
	}
}

// enter begins a phase.
func (s *state) enter(p Phase) { s.Phase, s.At, s.Nodes, s.Places = p, nil, 0, false }

// contradicted ends the work on a definition that has conflicts. Building has written nothing
// yet: all conflicts that end here are found while it is verified. Advice to replace would be
// wrong if two nodes have one place, since that stays so.
func (s *state) contradicted() {
	s.enter(Failed)
	if s.Taken {
		s.Error = "several nodes would have one place; change all but one of each, and resume"
		return
	}
	s.Known, s.Error = false, `places hold something else; mend them and resume, or deploy the definition with "onConflict": "replace"`
}

// verified reports whether what is at the places of a definition is its own. Pausing hides the
// phase in which it was, so Unsure remembers the answer.
func (s *state) verified() bool { return s.Phase != Failed && s.Phase != Verifying && !s.Unsure }

// skips reports whether a definition is not in force.
func (d *Data) skips(def *derive.Definition) bool {
	p := d.states[def].Phase
	return p == Failed || p == Paused
}

// behind is derive.Change.Behind: whether building comes to a node later. Until it does, an
// incremental definition leaves the node out, or it would count twice. A map that is clearing has
// been built, and a count that is clearing has not. asked is false where the answer is final.
func (d *Data) behind(def *derive.Definition, p tree.Path) (behind, asked bool) {
	switch st := d.states[def]; st.Phase {
	case Verifying:
		return true, true
	case Clearing:
		return def.Kind != derive.Map, true
	case Building:
		return !st.place().Passed(p), true
	}
	return false, false
}

// Working reports whether there is something to be verified or built, or rows to be deleted:
// whether Step may be called.
func (d *Data) Working() bool {
	if d == nil || d.document.Refused() != nil {
		return false
	}
	return len(d.stored.Dropped) > 0 || len(d.stored.Marks) > 0 || d.working() >= 0
}

// working returns the position of the definition to be worked on, -1 for none: of the first small one
// that does not follow from others that are worked on, or else of the first one.
func (d *Data) working() int {
	first := -1
	for i := range d.stored.States {
		switch s := &d.stored.States[i]; {
		case !s.working():
		case s.Small && !awaits(d, i):
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

func (s *state) working() bool {
	return s.Phase == Verifying || s.Phase == Clearing || s.Phase == Building
}

// awaits reports whether a definition may follow from another one that is worked on. It would be compared
// with what that has not written yet.
func awaits(d *Data, i int) bool {
	list := d.document.Definitions()
	for j, o := range list {
		if j != i && d.stored.States[j].working() && o.Feeds(list[i]) {
			return true
		}
	}
	return false
}

// A Status says how far a definition is. It is the JSON that administrators get (REST §12.7).
type Status struct {
	Name  string      `json:"name"`
	Kind  derive.Kind `json:"kind"`
	State Phase       `json:"state"`

	Nodes     int64    `json:"nodes"`        // that the phase has come to
	At        string   `json:"at,omitempty"` // the last of them
	Conflicts []string `json:"conflicts,omitempty"`
	Total     int      `json:"conflictsTotal,omitempty"`
	Skipped   []string `json:"skipped,omitempty"` // nodes that do not match because an expression failed when it was built
	Error     string   `json:"error,omitempty"`

	Activity Activity `json:"activity"`

	// Of an index. Not more than MaxEntries are counted.
	Entries     int   `json:"entries,omitempty"`
	EntryBytes  int64 `json:"entryBytes,omitempty"` // of those that are counted
	MoreEntries bool  `json:"moreEntries,omitempty"`
	LastUse
}

// MaxEntries is how many entries of an index are counted for its status.
const MaxEntries = 100_000

// Status returns those of all definitions, in the order of the document. It counts entries of
// indexes in tx, up to MaxEntries of each, and all else is in memory.
func (d *Data) Status(tx *store.Tx, now time.Time) (list []Status, err error) {
	list = []Status{}
	if d == nil {
		return list, nil
	}
	if errs, ok := d.document.Refused().(derive.Errors); ok {
		return refusedStatus(d.stored.States, errs), nil
	}
	for _, def := range d.document.Definitions() {
		s := d.states[def]
		st := Status{Name: s.Name, Kind: def.Kind, State: s.Phase, Nodes: s.Nodes, Conflicts: s.Conflicts, Total: s.Total, Skipped: s.Skipped, Error: s.Error, Activity: d.tallies[s.Name].activity()}
		if s.At != nil {
			st.At = "/" + *s.At
		}
		if def.Kind == derive.Index {
			if err := st.ofIndex(tx, def); err != nil {
				return nil, err
			}
			if st.State == Ready {
				st.LastUse = lastUseOf(d, tx, indexOf(def), now)
			}
		}
		list = append(list, st)
	}
	return list, nil
}

// refusedStatus returns what is known of the definitions of a document that is refused: their names, and for
// each an error of its own, or else the first one. There is at least one status, maybe without a name.
func refusedStatus(all []state, errs derive.Errors) (list []Status) {
	if len(all) == 0 {
		all = []state{{}}
	}
	for _, s := range all {
		err := errs[max(0, slices.IndexFunc(errs, func(e *derive.Error) bool { return e.Definition == s.Name }))]
		list = append(list, Status{Name: s.Name, State: Refused, Error: err.Error()})
	}
	return list
}

// ofIndex says how far an index is.
func (s *Status) ofIndex(tx *store.Tx, def *derive.Definition) error {
	switch {
	case def.Off:
		s.State = Off
	case s.State == Ready:
		u, ok, err := tx.Indexes().Usage(indexOf(def), MaxEntries)
		if err != nil {
			return err
		}
		if s.Entries, s.EntryBytes, s.MoreEntries = u.Entries, u.Bytes, u.More; !ok || !u.Ready {
			s.State = Building
		}
		if !u.At.IsRoot() {
			s.At = u.At.String()
		}
	}
	return nil
}

// WithoutIndex returns the indexes that definitions need, without that which a definition is. One
// that a bounded list needs, too, stays: without it, each write to the list would have to sort
// it. To rebuild an index, the caller declares these and then all of them, and the store begins a
// new one.
func (d *Data) WithoutIndex(name string) (list []store.Index) {
	for _, def := range d.document.Definitions() {
		if def.Name == name && def.Kind == derive.Index && !d.bounds(indexOf(def)) {
			return slices.DeleteFunc(slices.Clone(d.Indexes()), func(ix store.Index) bool { return ix == indexOf(def) })
		}
	}
	return d.Indexes()
}

// bounds reports whether a bounded list needs an index.
func (d *Data) bounds(ix store.Index) bool {
	return slices.ContainsFunc(d.Document().Definitions(), func(def *derive.Definition) bool {
		return def.Kind == derive.Keep && listIndex(def) == ix
	})
}

// Unfinished returns the names of definitions whose places may lack something, and that may be
// at, above or below p. Those that are failed or paused are among them. An index is not: queries
// do not use it before it is complete.
func (d *Data) Unfinished(p tree.Path) (names []string) {
	if d == nil || d.ready {
		return nil
	}
	for _, def := range d.document.Definitions() {
		if def.Kind != derive.Index && d.states[def].Phase != Ready && def.MayMeet(p) {
			names = append(names, def.Name)
		}
	}
	return names
}

// anew has a definition built again. Its rows get another number, so the old ones mean nothing. To
// delete them here instead would take as long as there are rows, in one transaction.
func (s *stored) anew(i int, def *derive.Definition) {
	st := &s.States[i]
	s.Dropped = append(s.Dropped, st.ID)
	s.NextID++
	verified := st.verified()
	*st = state{Name: st.Name, Text: st.Text, ID: s.NextID, Phase: firstPhase(def)}
	if verified {
		st.again(def)
	}
}

// Loaded returns the data after an import to p: what definitions there keep is built again. It
// returns d if there is none. An import puts any number of nodes in place in one commit, too many
// to derive from. Definitions that are not in force stay so: they are built anew when they are
// resumed.
func (d *Data) Loaded(tx *store.Tx, p tree.Path) (*Data, error) {
	if !d.Meets([]tree.ResolvedWrite{{Target: tree.Target{Path: p}}}) {
		return d, nil
	}
	next := d.with(func(s *stored) {
		for i, def := range d.document.Definitions() {
			if def.Kind != derive.Index && def.MayMeet(p) && !d.skips(def) {
				s.anew(i, def)
			}
		}
	})
	return next, next.save(tx)
}

// Verbs of Control.
const (
	Pause   = "pause"
	Resume  = "resume"
	Rebuild = "rebuild"
)

// Control pauses a definition, puts it in force again, or builds it anew. ok is false if there is
// no such definition or verb. A definition that was paused is built anew, since writes have
// passed it by. found are its TotalsOf. To resume a definition that is in force changes nothing,
// and ok is true.
func (d *Data) Control(tx *store.Tx, name, verb string, found Totals) (next *Data, ok bool, err error) {
	if d == nil || d.byName[name] == nil {
		return d, false, nil
	}
	next = d.with(func(s *stored) {
		for i, def := range d.document.Definitions() {
			st := &s.States[i]
			switch {
			case def.Name != name:
			case verb == Pause:
				ok, st.Unsure = true, !st.verified()
				st.enter(Paused)
				st.Known, st.Taken, st.Conflicts, st.Total, st.Error = false, false, nil, 0, ""
			case verb == Resume:
				if ok = true; st.Phase == Paused || st.Phase == Failed {
					s.anew(i, def)
					st.settle(def, found)
				}
			case verb == Rebuild:
				ok = true
				s.anew(i, def)
				st.settle(def, found)
			}
		}
	})
	if !ok {
		return d, false, nil
	}
	return next, true, next.save(tx)
}
