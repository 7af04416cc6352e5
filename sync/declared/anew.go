package declared

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Check derives everything anew from the state of a transaction and reports what differs:
// for each definition that is ready, in the order of the document. Without a name it reports that
// this version refuses the document. Before now nodes may have expired. It takes memory for each
// place, so it is for tests and for the command.
func Check(ctx context.Context, tx *store.Tx, now time.Time, report func(definition, text string)) error {
	d, err := Load(tx)
	if err != nil || d == nil {
		return err
	}
	if err := d.document.Refused(); err != nil {
		report("", "this version of Dogwood refuses the data document, so nothing was compared: "+strings.TrimSpace(err.Error()))
	}
	for _, def := range d.document.Definitions() {
		if d.states[def].Phase != Ready {
			continue
		}
		c := checker{Data: d, def: def, tx: tx, ctx: ctx, report: func(format string, args ...any) {
			report(def.Name, fmt.Sprintf(format, args...))
		}}
		switch def.Kind {
		case derive.Map:
			err = c.checkMap()
		case derive.Count, derive.Sum:
			err = c.checkTotals()
		case derive.Keep:
			err = c.checkKeep()
		case derive.Expire:
			err = c.checkExpire(now)
		}
		if err != nil {
			return fmt.Errorf("definition %s: %w", def.Name, err)
		}
	}
	return nil
}

// A checker compares one definition with what is derived from its source nodes. It reads all of
// them, without the bounds that a write has.
type checker struct {
	*Data
	def    *derive.Definition
	tx     *store.Tx
	ctx    context.Context
	report func(format string, args ...any)
}

func (c *checker) before() before { return before{c.tx, Write{Tx: c.tx}, c.Data} }

// all calls f with the nodes of the source or the places of the target, some at a time.
func (c *checker) all(places bool, f func([]tree.Path) error) error {
	walk := c.def.WalkSources
	if places {
		walk = c.def.WalkPlaces
	}
	for at, more := (derive.Place{}), true; more; {
		var nodes []tree.Path
		var err error
		if at, more, err = walk(keyed{c.tx}, at, walkSteps, func(p tree.Path) { nodes = append(nodes, p) }); err != nil {
			return err
		}
		if err := f(nodes); err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// outcomes calls f with what each source node says that matches. It is for maps, counts and sums.
func (c *checker) outcomes(f func(derive.Outcome) error) error {
	return c.all(false, func(nodes []tree.Path) error {
		list, err := c.def.Outcomes(c.before(), nodes)
		for _, o := range list {
			if err == nil {
				err = f(o)
			}
		}
		return err
	})
}

// checkMap compares in two walks: each source has its value at its place, and each place has a
// source. In between it remembers a hash of each place, which takes a few bytes where the path
// could take hundreds. The seed is random, so clients cannot choose paths whose hashes are equal.
func (c *checker) checkMap() error {
	seed := maphash.MakeSeed()
	sources := make(map[uint64]int32) // by place
	err := c.outcomes(func(o derive.Outcome) error {
		hash := maphash.String(seed, o.Place.Clean())
		if sources[hash]++; sources[hash] > 1 && c.def.Unique {
			c.report("%s has several sources, one of them %s", o.Place, o.Node)
		}
		n, err := c.tx.Get(o.Place)
		if err == nil && n != o.Value {
			c.report("%s is not %s, which follows from %s", o.Place, o.Value.JSON(), o.Node)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.all(true, func(places []tree.Path) error {
		for _, p := range places {
			n := sources[maphash.String(seed, p.Clean())]
			if n == 0 {
				c.report("%s follows from nothing", p)
			}
			if !c.def.Shared() {
				continue
			}
			stored, err := c.before().Sources(c.def.Name, p)
			if err != nil {
				return err
			}
			if stored != int(n) {
				c.report("%s has %d sources, and %d are on record", p, n, stored)
			}
		}
		return nil
	})
}

// checkTotals adds all numbers anew and compares each place with its sum. It remembers whole
// paths, to name those that are missing.
func (c *checker) checkTotals() error {
	totals := make(map[tree.Path]float64)
	err := c.outcomes(func(o derive.Outcome) error {
		n, _ := o.Value.NumberValue()
		totals[o.Place] += n
		return nil
	})
	if err != nil {
		return err
	}
	err = c.all(true, func(places []tree.Path) error {
		for _, p := range places {
			n, err := c.tx.Get(p)
			if err != nil {
				return err
			}
			if got, ok := n.NumberValue(); !ok || !near(got, totals[p]) {
				c.report("%s is %.100s, and %v follows", p, n.JSON(), totals[p])
			}
			delete(totals, p)
		}
		return nil
	})
	if err != nil {
		return err // what was not looked at is not missing
	}
	for p, total := range totals {
		if !near(total, 0) {
			c.report("%s is missing, and %v follows", p, total)
		}
	}
	return nil
}

// near reports whether two sums of the same numbers may differ by their order alone. Numbers with
// fractions are rounded at each addition, and here they are added in the order of paths.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1) }

// checkKeep compares the lengths of lists. Which children went cannot be known: they are gone.
func (c *checker) checkKeep() error {
	return c.all(false, func(lists []tree.Path) error {
		for _, p := range lists {
			n, err := c.tx.Count(p, tree.Query{OrderBy: tree.ByKey})
			if err != nil {
				return err
			}
			if n > c.def.N {
				c.report("%s has %d children, more than %d", p, n, c.def.N)
			}
		}
		return nil
	})
}
