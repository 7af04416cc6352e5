package declared

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A Preview says what a definition would find if its document came in force: what would be
// built, and what contradicts.
type Preview struct {
	Name string `json:"name"`

	Nodes   int64 `json:"nodes"`             // of the source that match; of a list, the lists
	Writes  int64 `json:"writes,omitempty"`  // places that building would write
	Removes int64 `json:"removes,omitempty"` // places that it would remove, and children of lists that are too long
	Bytes   int64 `json:"bytes,omitempty"`   // about: of what it would write, places with their paths, times of expiry and entries of indexes

	Conflicts []string `json:"conflicts,omitempty"` // of all definitions at most MaxConflicts
	Total     int      `json:"conflictsTotal,omitempty"`
	// More is that there are more nodes or places than were looked at.
	More bool `json:"more,omitempty"`

	beyond bool // a sum would be out of its bounds, which building tells
	total  bool // it is known what a count or sum would find
	small  bool // there is little to look at
}

// MaxPreviewed is how many nodes, and how many places, of a definition a preview looks at.
const MaxPreviewed = 100_000

// Preview compares the state of a transaction with what the definitions of a document need that
// are new or changed, but for indexes that are off. It writes nothing, and takes as long as that many nodes take to be read.
func (d *Data) Preview(ctx context.Context, tx *store.Tx, document *derive.Document) ([]Preview, error) {
	list := []Preview{}
	next, left := d.next(document), MaxConflicts
	for _, def := range document.Definitions() {
		if def.Off || d.has(next, def) {
			continue
		}
		p := previewer{checker: checker{Data: next, def: def, tx: tx, ctx: ctx}, found: Preview{Name: def.Name}, left: left}
		if err := p.look(); err != nil {
			return nil, fmt.Errorf("definition %s: %w", def.Name, err)
		}
		list, left = append(list, p.found), p.left
	}
	return list, nil
}

// Totals are what counts and sums would find at their places, by the names of the definitions. Verifying
// cannot know that, as it looks at some nodes at a time. Of all definitions they say which are small.
//
// They are found on a snapshot before the transaction that uses them, since it takes as long as a
// preview. A write in between may make them stale: then a value that it put at a place of a count
// is replaced, or a conflict that it has mended fails the definition, which can be resumed.
type Totals map[string]Preview

// Totals returns what the new counts and sums of a document would find, and which definitions are small.
func (d *Data) Totals(ctx context.Context, tx *store.Tx, document *derive.Document) (Totals, error) {
	next := d.next(document)
	return next.totals(ctx, tx, func(def *derive.Definition) bool { return !d.has(next, def) })
}

// TotalsOf returns what a definition would find if it is a count or sum that is verified again, and whether
// it is small.
func (d *Data) TotalsOf(ctx context.Context, tx *store.Tx, name string) (Totals, error) {
	if d == nil {
		return nil, nil
	}
	return d.totals(ctx, tx, func(def *derive.Definition) bool { return def.Name == name })
}

func (d *Data) totals(ctx context.Context, tx *store.Tx, of func(*derive.Definition) bool) (Totals, error) {
	found := make(Totals)
	for _, def := range d.document.Definitions() {
		if !of(def) {
			continue
		}
		p := previewer{checker: checker{Data: d, def: def, tx: tx, ctx: ctx}, left: MaxConflicts}
		small, err := isSmall(tx, def)
		if total := def.Kind == derive.Count || def.Kind == derive.Sum; err == nil && total && !d.states[def].verified() {
			p.found.total = true
			err = p.look()
		}
		if err != nil {
			return nil, fmt.Errorf("definition %s: %w", def.Name, err)
		}
		p.found.small = small
		found[def.Name] = p.found
	}
	return found, nil
}

// smallKeys is how many keys the walk of a small definition reads, of its sources, of its places
// and of its lists. A deploy asks it of each definition that is new or changed: to find out takes
// no longer.
const smallKeys = 512

// isSmall reports whether a definition has little to look at.
func isSmall(tx *store.Tx, def *derive.Definition) (bool, error) {
	var lists []tree.Path
	_, more, err := def.WalkSources(keyed{tx}, derive.Place{}, smallKeys, func(p tree.Path) { lists = append(lists, p) })
	if err == nil && !more {
		_, more, err = def.WalkPlaces(keyed{tx}, derive.Place{}, smallKeys, func(tree.Path) {})
	}
	children := 0
	for i := 0; i < len(lists) && def.Kind == derive.Keep && err == nil && !more; i++ {
		var l store.Listing
		l, err = tx.Shallow(lists[i], "", smallKeys)
		children += l.Keys.Len()
		more = children >= smallKeys
	}
	return err == nil && !more, err
}

// settle notes what verifying will find, if that is known: places that hold already what follows,
// as those that clients have kept until then, are no conflicts. If more nodes or places were
// found than a preview looks at, the definition is verified as if nothing were known.
func (s *state) settle(def *derive.Definition, found Totals) {
	p, known := found[def.Name]
	if known {
		s.Small = p.small
	}
	switch {
	case s.Phase != Verifying || !p.total || p.More || p.beyond:
	case p.Total == 0:
		s.again(def)
	case !def.Replace:
		s.Known, s.Conflicts, s.Total = true, p.Conflicts, p.Total
	}
}

// has reports whether a definition of the data that come next is in force already, or was when the document
// was accepted that is refused now.
func (d *Data) has(next *Data, def *derive.Definition) bool {
	return stateOf(d, def.Name).Text == next.byName[def.Name].Text
}

// A previewer looks at what one definition would find. Its Data is that of the new document, and
// is thrown away. Of a checker it uses the walks, and reports nothing.
type previewer struct {
	checker
	found Preview
	left  int // conflicts that may be told
}

func (p *previewer) look() error {
	switch p.def.Kind {
	case derive.Map:
		return p.lookAtMap()
	case derive.Count, derive.Sum:
		return p.lookAtTotals()
	case derive.Keep:
		return p.lookAtLists()
	case derive.Expire:
		return p.some(false, func(nodes []tree.Path) error {
			p.found.Nodes += int64(len(nodes))
			for _, node := range nodes {
				p.found.Bytes += 2 * (timerBytes + int64(len(node.Clean()))) // by time, and by node
			}
			return nil
		})
	case derive.Index:
		return p.lookAtIndex()
	}
	return nil
}

// Bytes of a row without the paths and values that it has, about.
const (
	timerBytes = 12
	entryBytes = 14
)

// lookAtIndex takes the first children for an example of the others.
func (p *previewer) lookAtIndex() error {
	examples := 0
	err := p.some(false, func(nodes []tree.Path) error {
		p.found.Nodes += int64(len(nodes))
		if examples > 0 {
			return nil
		}
		examples = len(nodes)
		for _, node := range nodes {
			_, key := node.Parent()
			p.found.Bytes += entryBytes + int64(len(key))
			for _, by := range p.def.By {
				at, err := tree.ParsePath(by)
				if err != nil {
					return err
				}
				n, isObject, _, err := p.tx.PeekUpTo(node.Join(at), walkSteps)
				if err != nil {
					return err
				}
				if !isObject {
					p.found.Bytes += int64(len(n.Text()))
				}
			}
		}
		return nil
	})
	if examples > 0 {
		p.found.Bytes = p.found.Bytes * p.found.Nodes / int64(examples)
	}
	return err
}

// errEnough ends a walk. It does not leave this file.
var errEnough = errors.New("as many as a preview looks at")

// some is all for at most MaxPreviewed nodes or places.
func (p *previewer) some(places bool, f func([]tree.Path) error) error {
	seen := 0
	err := p.all(places, func(nodes []tree.Path) error {
		if seen += len(nodes); seen > MaxPreviewed {
			p.found.More = true
			return errEnough
		}
		return f(nodes)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// contradicts notes a place that holds something else than follows: a conflict, or a place that
// building would replace without asking.
func (p *previewer) contradicts(format string, args ...any) {
	if p.def.Replace || p.states[p.def].verified() {
		p.found.Removes++
		return
	}
	p.conflict(format, args...)
}

// conflict notes what makes the definition fail.
func (p *previewer) conflict(format string, args ...any) {
	if p.found.Total++; p.left > 0 {
		p.left--
		p.found.Conflicts = append(p.found.Conflicts, fmt.Sprintf(format, args...))
	}
}

func (p *previewer) lookAtMap() error {
	seed := maphash.MakeSeed()
	sources := make(map[uint64]uint64) // hash of the value by that of the place
	err := p.some(false, func(nodes []tree.Path) error {
		outcomes, err := p.def.Outcomes(p.before(), nodes)
		for _, o := range outcomes {
			if err == nil {
				err = p.lookAtPlace(sources, seed, o)
			}
		}
		return err
	})
	if err != nil || p.found.More {
		return err
	}
	return p.some(true, func(places []tree.Path) error {
		for _, place := range places {
			if _, ok := sources[maphash.String(seed, place.Clean())]; !ok {
				p.contradicts("%s holds a value that follows from nothing", place)
			}
		}
		return nil
	})
}

// lookAtPlace looks at what one source node says. sources has the places of the nodes before it:
// one that several have is written once, or is a conflict.
func (p *previewer) lookAtPlace(sources map[uint64]uint64, seed maphash.Seed, o derive.Outcome) error {
	p.found.Nodes++
	place, value := maphash.String(seed, o.Place.Clean()), maphash.String(seed, o.Value.Text())
	if other, ok := sources[place]; ok {
		if p.def.Unique || other != value {
			p.conflict("%s would have several sources, one of them %s", o.Place, o.Node)
		}
		return nil
	}
	sources[place] = value
	n, err := p.tx.GetLimit(o.Place, int64(len(o.Value.Text()))+1)
	switch {
	case errors.Is(err, store.ErrTooBig):
	case err != nil:
		return err
	case n == o.Value:
		return nil
	case n.IsEmpty():
		p.found.Writes++
		p.found.Bytes += int64(len(o.Place.Clean()) + len(o.Value.Text()))
		return nil
	}
	p.contradicts("%s holds something else than follows from %s", o.Place, o.Node)
	return nil
}

func (p *previewer) lookAtTotals() error {
	totals := make(map[tree.Path]float64)
	err := p.some(false, func(nodes []tree.Path) error {
		outcomes, err := p.def.Outcomes(p.before(), nodes)
		for _, o := range outcomes {
			n, _ := o.Value.NumberValue()
			p.found.Nodes++
			if totals[o.Place] += n; max(math.Abs(n), math.Abs(totals[o.Place])) > derive.MaxSum {
				p.found.beyond = true
				p.conflict("%s would be beyond %.0f with %s", o.Place, derive.MaxSum, o.Node)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	p.found.Writes = int64(len(totals))
	for place := range totals {
		p.found.Bytes += totalBytes(place)
	}
	return p.some(true, func(places []tree.Path) error {
		for _, place := range places {
			n, err := p.tx.GetLimit(place, 64)
			if err != nil && !errors.Is(err, store.ErrTooBig) {
				return err
			}
			if got, ok := n.NumberValue(); ok && !p.found.More && near(got, totals[place]) {
				p.found.Writes--
				p.found.Bytes -= totalBytes(place)
				continue
			}
			p.contradicts("%s holds something else than follows", place)
		}
		return nil
	})
}

// totalBytes is about what a count or sum takes: its path, and a number of two digits.
func totalBytes(place tree.Path) int64 { return int64(len(place.Clean())) + 2 }

func (p *previewer) lookAtLists() error {
	return p.some(false, func(lists []tree.Path) error {
		for _, list := range lists {
			n, err := p.tx.Count(list, tree.Query{OrderBy: tree.ByKey})
			if err != nil {
				return err
			}
			p.found.Nodes++
			p.found.Removes += int64(max(0, n-p.def.N))
		}
		return nil
	})
}
