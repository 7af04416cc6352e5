package declared

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// Bounds of one step: keys that are walked, children that are removed of a list, and rows that
// are deleted. They are small, since all writes of the database wait while the committer makes a
// step.
const (
	stepKeys    = 128
	stepRemoved = 1000
	stepRows    = 512
)

// A Step is a part of the work on a definition, which the committer makes a commit of: it makes
// the update of Follows, and then puts Data in force, in the transaction that Step was given. The
// states in it have been stored there already.
type Step struct {
	Data    *Data    // afterwards
	Follows *Follows // the update that belongs to the step; nil: none
	Cost    int      // keys that it walked, with places and rows that it changed
	Failed  string   // the name of the definition, if it cannot be kept
	Waits   bool     // nothing was done: a long list has to have its index first
}

// A stepper makes one step. It works on a copy of the state. Rows and updates of the step have the
// number that the definition has in Data, which is the one before the step.
type stepper struct {
	*Data
	tx    *store.Tx
	now   time.Time
	def   *derive.Definition
	state state // becomes that of the definition
	nodes []tree.Path
	reads int // of the walk
	step  Step

	dropped, unneeded []kept.ID // whose rows, or marks, are to be deleted
}

// Step does the next part of the work: it verifies, clears or builds about a hundred nodes of one
// definition. There must be some work. Where it stopped is stored with it, so after a crash the
// work goes on from there. It is for the committer, in its write transaction.
//
// Rows that are to be deleted come first, but not before a small definition: otherwise a deploy
// would spend the nodes that it may look at on them, and the definition would not be ready at its
// end.
func (d *Data) Step(tx *store.Tx, now time.Time) (Step, error) {
	i := d.working()
	if some := len(d.stored.Dropped) > 0 || len(d.stored.Marks) > 0; some && (i < 0 || !d.stored.States[i].Small) {
		return d.drop(tx)
	}
	s := &stepper{Data: d, tx: tx, now: now, def: d.document.Definitions()[i], state: d.stored.States[i]}
	var err error
	switch {
	case s.state.Unlogged: // rows that follow have the number that the data have before the step
		s.renumber()
		s.state.Unlogged = false
	case s.state.Phase == Verifying:
		err = s.verify()
	case s.state.Phase == Clearing:
		err = s.clear()
	default:
		err = s.build()
	}
	if s.step.Waits || err != nil {
		s.step.Data = d
		return s.step, err
	}
	s.step.Cost += s.reads + 1
	if f := s.step.Follows; f != nil {
		s.step.Cost += max(len(f.Writes), len(f.Derived))
	}
	if s.state.Phase == Failed {
		s.step.Failed = s.def.Name
	}
	s.step.Data = d.with(func(all *stored) {
		all.States[i] = s.state
		all.NextID = max(all.NextID, s.state.ID)
		all.Dropped, all.Marks = append(all.Dropped, s.dropped...), append(all.Marks, s.unneeded...)
	})
	return s.step, s.step.Data.save(tx)
}

// drop deletes rows of definitions that are no more, and marks that are not needed any more. A
// number leaves its list with the step that finds fewer rows than stepRows.
func (d *Data) drop(tx *store.Tx) (Step, error) {
	rows, delete, list := store.Kept(tx), store.Kept(tx).Drop, d.stored.Dropped
	if len(list) == 0 {
		delete, list = rows.Unmark, d.stored.Marks
	}
	deleted, err := delete(list[0], stepRows)
	if err != nil {
		return Step{}, err
	}
	next := d.with(func(s *stored) {
		switch {
		case deleted == stepRows: // there may be more
		case len(s.Dropped) > 0:
			s.Dropped = s.Dropped[1:]
		default:
			s.Marks = s.Marks[1:]
		}
	})
	return Step{Data: next, Cost: deleted + 1}, next.save(tx)
}

// walk collects the next nodes, of the source or of the target, and moves on. It reports whether
// there are more. Writes between two steps need no care: nodes behind the place of the walk are
// met later, and those in front of it are derived from by the writes themselves.
func (s *stepper) walk(places bool) (more bool, err error) {
	walk := s.def.WalkSources
	if places {
		walk = s.def.WalkPlaces
	}
	at, more, err := walk(counted{keyed{s.tx}, &s.reads}, s.state.place(), stepKeys, func(p tree.Path) { s.nodes = append(s.nodes, p) })
	s.state.moveTo(at)
	s.state.Nodes += int64(len(s.nodes))
	return more, err
}

func (s *stepper) before() before {
	w := Write{Tx: s.tx, Now: s.now}
	return before{s.tx, w, s.Data}
}

// verify compares the places of some nodes with the values that follow. Of counts and sums that
// would need all nodes, so anything at their places is a conflict, unless it is known what they hold
// (Totals). So is the place of a map without a source, for which the places are walked, too.
func (s *stepper) verify() error {
	if s.state.Known {
		s.state.contradicted()
		return nil
	}
	isMap := s.def.Kind == derive.Map
	more, err := s.walk(!isMap || s.state.Places)
	switch {
	case err != nil:
	case !isMap:
		for _, p := range s.nodes {
			s.conflict(p.String() + " holds a value already")
		}
	case s.state.Places:
		err = s.unmarked(func(p tree.Path) { s.conflict(p.String() + " holds a value that follows from nothing") })
	default:
		err = s.verifyMap()
	}
	switch {
	case err != nil || more:
	case isMap && !s.state.Places:
		s.state.enter(Verifying)
		s.state.Places = true
	case s.state.Total > 0 && (s.state.Taken || !s.def.Replace):
		s.state.contradicted()
	case s.state.Total > 0:
		s.renumber()
		s.state.again(s.def)
	default:
		s.renumber()
		s.state.enter(Building)
		s.state.Clear = s.def.Shared() // nodes that go before building has come to them leave their places
	}
	return err
}

// renumber gives the definition another number: marks of before mean nothing from then on. Marks
// of verifying may be of sources that have gone since. A step that renumbers must not derive,
// since rows that follow would get the former number.
func (s *stepper) renumber() {
	s.dropped = append(s.dropped, s.state.ID)
	s.state.ID = s.stored.NextID + 1
}

// unmarked calls f for the places that have no source.
func (s *stepper) unmarked(f func(p tree.Path)) error {
	for _, p := range s.nodes {
		_, marked, err := store.Kept(s.tx).Marked(s.state.ID, p)
		if err != nil {
			return err
		}
		if !marked {
			f(p)
		}
	}
	return nil
}

// verifyMap compares the places of some source nodes with their values, and marks the places.
// When all nodes have been looked at, a place without a mark follows from nothing. It reads
// little more of a place than the value has bytes: what clients have put there may be large.
func (s *stepper) verifyMap() error {
	outcomes, err := s.def.Outcomes(s.before(), s.nodes)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if taken, err := s.taken(o.Place, o.Node); err != nil {
			return err
		} else if taken {
			continue
		}
		if err := store.Kept(s.tx).Mark(s.state.ID, o.Place, markedBy(s.def, o.Node)); err != nil {
			return err
		}
		n, err := s.tx.GetLimit(o.Place, int64(len(o.Value.Text()))+1)
		switch {
		case errors.Is(err, store.ErrTooBig):
		case err != nil:
			return err
		case n.IsEmpty() || n == o.Value:
			continue
		}
		s.conflict(fmt.Sprintf("%s holds something else than follows from %s", o.Place, o.Node))
	}
	return nil
}

// taken notes a place of a unique map that belongs to another source already. A mark may be of a source
// that has gone or changed since.
func (s *stepper) taken(place, node tree.Path) (bool, error) {
	if !s.def.Unique {
		return false, nil
	}
	other, _, err := store.Kept(s.tx).Marked(s.state.ID, place)
	if err != nil || other.IsRoot() || other == node {
		return false, err
	}
	list, err := s.def.Outcomes(s.before(), []tree.Path{other})
	if err != nil || len(list) != 1 || list[0].Place != place {
		return false, err
	}
	s.state.Taken = true
	s.conflict(fmt.Sprintf("%s would have several sources: %s, %s", place, other, node))
	return true, nil
}

// conflict notes a conflict. The list may be shared with the Data in force, so append must copy
// it.
func (s *stepper) conflict(text string) {
	if s.state.Total++; len(s.state.Conflicts) < MaxConflicts {
		s.state.Conflicts = append(s.state.Conflicts[:len(s.state.Conflicts):len(s.state.Conflicts)], text)
	}
}

// clear removes some places, of a map those that have no source. The definition itself is left out
// when this is derived, or it would put its places back. Others derive from the removals as usual.
func (s *stepper) clear() error {
	more, err := s.walk(true)
	if err != nil {
		return err
	}
	var writes []tree.ResolvedWrite
	remove := func(p tree.Path) { writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: p}}) }
	if s.def.Kind != derive.Map {
		for _, p := range s.nodes {
			remove(p)
		}
	} else if err := s.unmarked(remove); err != nil {
		return err
	}
	if len(writes) > 0 {
		skip := func(d *derive.Definition) bool { return d == s.def || s.skips(d) }
		follows, err := s.derive(Write{Tx: s.tx, Now: s.now}, derive.Change{Writes: writes, Admin: true, Skip: skip})
		if err != nil {
			return s.fail(err)
		}
		s.step.Follows = follows
	}
	switch {
	case more:
	case s.def.Kind == derive.Map:
		s.finish()
	default:
		s.state.enter(Building)
	}
	return nil
}

// finish makes the definition ready.
func (s *stepper) finish() {
	nodes := s.state.Nodes
	if s.state.Phase == Clearing { // these were places
		nodes = s.state.Built
	}
	s.state.enter(Ready)
	s.state.Nodes, s.state.Built, s.state.Conflicts, s.state.Total, s.state.Clear, s.state.Small = nodes, 0, nil, 0, false, false
	if s.def.Kind == derive.Map {
		s.unneeded = append(s.unneeded, s.state.ID)
	}
}

// build derives from some nodes as if they came now. So building and writes share their code, and
// places that are right already cost no write. Of lists, it works on one at a time: At stays at
// the list before until this one has lost all its excess.
func (s *stepper) build() error {
	from, counted := s.state.At, s.state.Nodes
	more, err := s.walk(false)
	if err != nil {
		return err
	}
	if len(s.nodes) > 0 {
		b := &derive.Build{Definition: s.def, Nodes: s.nodes, Most: stepRemoved}
		if s.def.Kind == derive.Keep {
			b.Nodes = s.nodes[:1] // each may have much to be removed
			if err := s.order(s.nodes[0]); err != nil || s.step.Waits {
				return err
			}
		}
		s.step.Follows, err = s.derive(Write{Tx: s.tx, Now: s.now}, derive.Change{Admin: true, Skip: s.skips, Build: b})
		if err != nil {
			return s.fail(err)
		}
		for _, x := range s.step.Follows.Skipped {
			if x.Definition == s.def && len(s.state.Skipped) < MaxSkipped {
				s.state.Skipped = append(s.state.Skipped[:len(s.state.Skipped):len(s.state.Skipped)], x.Path.String()+": "+x.Why)
			}
		}
	}
	if s.def.Kind == derive.Keep && len(s.nodes) > 0 {
		s.state.Nodes, more = counted, true
		if s.step.Follows.Partly {
			s.state.At = from
		} else {
			s.state.Nodes++
			s.state.moveTo(derive.Place{Begun: true, Path: s.nodes[0]})
		}
	}
	switch {
	case more:
	case s.state.Clear:
		built := s.state.Nodes
		s.state.enter(Clearing)
		s.state.Built = built
	default:
		s.finish()
	}
	return nil
}

// order counts the children of a list that are read to order it. While the index for that is not
// complete, these are all of them, so a long list waits. The background begins when indexes are complete,
// and a deploy does not.
func (s *stepper) order(list tree.Path) error {
	if s.def.OrderBy == tree.ByKey {
		return nil
	}
	u, declared, err := s.tx.Indexes().Usage(listIndex(s.def), 0)
	if err != nil || u.Ready || !declared {
		return err
	}
	n, err := s.tx.Count(list, tree.Query{OrderBy: tree.ByKey})
	if s.step.Waits = n > stepRemoved; n > s.def.N {
		s.step.Cost += n
	}
	return err
}

// clash says which sources a place would have: one that is marked, and those of this step.
func (s *stepper) clash(place tree.Path) (string, error) {
	text := place.String() + " would have several sources or values"
	other, _, err := store.Kept(s.tx).Marked(s.state.ID, place)
	if err != nil {
		return "", err
	}
	outcomes, err := s.def.Outcomes(s.before(), s.nodes)
	if err != nil {
		return "", err
	}
	var nodes []string
	if !other.IsRoot() {
		nodes = append(nodes, other.String())
	}
	for _, o := range outcomes {
		if o.Place == place && o.Node != other {
			nodes = append(nodes, o.Node.String())
		}
	}
	if len(nodes) > 0 {
		text += ": " + strings.Join(nodes[:min(len(nodes), 3)], ", ")
	}
	return text, nil
}

// fail ends the work on a definition that cannot be kept, as when two nodes have one place. It
// returns errors that are no refusal, such as those of the store: then nothing is wrong with the
// definition, and the step is tried again later. Places that building has written stay.
func (s *stepper) fail(err error) error {
	refusal := (*derive.Refusal)(nil)
	if !errors.As(err, &refusal) {
		return err
	}
	s.state.enter(Failed)
	s.state.Error = refusal.Error()
	if refusal.Reason == derive.Taken {
		text, err := s.clash(refusal.Path)
		if err != nil {
			return err
		}
		s.conflict(text)
	} else {
		s.conflict(refusal.Error())
	}
	s.step.Follows = nil
	return nil
}
