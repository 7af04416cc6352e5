package consistency

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A conflict says why no server can have had a history.
type conflict struct {
	why string
	ops []op // the calls that contradict each other
}

func (c *conflict) Error() string {
	lines := []string{c.why}
	for _, o := range c.ops {
		lines = append(lines, o.String())
	}
	return strings.Join(lines, "\n\t")
}

// linearizable returns a *conflict unless each key can have had one value at any time,
// with each call taking effect at one moment between its call and its return.
//
// No two calls write the same value, so nothing has to be searched: a read names the
// write that it saw, a swap the one that it follows. Values that swaps join are a chain,
// which is the only one there from its first write to its last read. The zone of a chain
// lies between its earliest return and its latest call. If the return comes first, the
// chain is certainly there in between (a forward zone); else one moment of the zone is
// enough for all of it (a backward zone). A history is linearizable if and only if every
// chain agrees with the clock, no forward zones overlap, and no backward zone lies inside
// a forward one (P. B. Gibbons and E. Korach, Testing Shared Memories, 1997).
//
// Two things are checked less strictly, because they would need a search. A write that a
// client perhaps sent again counts as if it could take effect any number of times: each of
// its reads has a zone of its own. And a refused swap has to have a reason, but the reasons
// of several do not have to fit together.
func linearizable(ops []op) error {
	byKey := make(map[string][]op)
	for _, o := range ops {
		byKey[o.Input.Key] = append(byKey[o.Input.Key], o)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if c := newRegister(byKey[key]).check(); c != nil {
			c.why = key + ": " + c.why
			return c
		}
	}
	return nil
}

// A register is what is known of one key.
type register struct {
	ops     []op
	writers map[string]op   // by value: the call that writes it, and was not refused
	reads   map[string][]op // by value
	next    map[string]op   // by value: the swap that replaced it
	chains  []*chain
	chainOf map[string]*chain // by value, unless its write was sent again
}

func newRegister(ops []op) *register {
	r := &register{
		ops:     ops,
		writers: map[string]op{"": {Call: math.MinInt64, Return: math.MinInt64, Input: call{Kind: write}}},
		reads:   make(map[string][]op),
		next:    make(map[string]op),
		chainOf: make(map[string]*chain),
	}
	return r
}

// check returns what contradicts the history, nil if nothing does.
func (r *register) check() *conflict {
	for _, step := range []func() *conflict{r.index, r.link, r.chain, r.order, r.overlap, r.refusals} {
		if c := step(); c != nil {
			return c
		}
	}
	return nil
}

// index finds the reads and the writer of each value.
func (r *register) index() *conflict {
	for _, o := range r.ops {
		switch {
		case o.Input.Kind == read:
			r.reads[o.Output.Value] = append(r.reads[o.Output.Value], o)
		case o.Output.Refused:
		default:
			if other, ok := r.writers[o.Input.Tag]; ok {
				return &conflict{"two calls write one value", []op{other, o}}
			}
			r.writers[o.Input.Tag] = o
		}
	}
	return nil
}

// link finds what followed what. A call without an answer has taken effect if its value
// was seen. If it was not, it need not have, and says nothing.
func (r *register) link() *conflict {
	var seen []op // calls that saw a value and have not been followed up
	for _, o := range r.ops {
		if o.Input.Kind == read || o.Input.Kind == swap && !o.Output.Unknown && !o.Output.Refused {
			seen = append(seen, o)
		}
	}
	linked := make(map[string]bool)
	for len(seen) > 0 {
		o := seen[len(seen)-1]
		seen = seen[:len(seen)-1]
		saw := o.Output.Value
		if o.Input.Kind == swap {
			if saw = o.Input.Old; linked[o.Input.Tag] {
				continue
			}
			linked[o.Input.Tag] = true
			if other, ok := r.next[saw]; ok && !r.resent(saw) {
				return &conflict{"two swaps replaced one value", []op{other, o}}
			}
			r.next[saw] = o
		}
		w, ok := r.writers[saw]
		switch {
		case !ok:
			return &conflict{fmt.Sprintf("%q was seen, and no call wrote it", saw), []op{o}}
		case o.end() < w.Call:
			return &conflict{"a value was seen before it was written", []op{o, w}}
		case w.Input.Kind == swap && w.Output.Unknown:
			seen = append(seen, w)
		}
	}
	return nil
}

// resent reports whether a value may have been written more than once.
func (r *register) resent(value string) bool { return r.writers[value].Output.Resent > 0 }

// chain makes the chains.
func (r *register) chain() *conflict {
	for _, value := range slices.Sorted(maps.Keys(r.writers)) {
		w := r.writers[value]
		switch {
		case r.resent(value):
			r.separate(value)
		case w.Output.Unknown && !r.saw(value):
			// It need not have taken effect.
		case w.Input.Kind != swap || r.resent(w.Input.Old):
			r.follow(value)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(r.next)) {
		if r.chainOf[value] == nil && !r.resent(value) {
			return &conflict{"swaps follow each other in a circle", []op{r.next[value]}}
		}
	}
	return nil
}

// saw reports whether a call saw a value.
func (r *register) saw(value string) bool {
	_, replaced := r.next[value]
	return replaced || len(r.reads[value]) > 0
}

// separate makes a chain of each call that concerns a value that may have been written
// more than once. Swaps that replaced it begin chains of their own.
func (r *register) separate(value string) {
	alone := r.reads[value]
	if w := r.writers[value]; !w.Output.Unknown {
		alone = append(slices.Clone(alone), w)
	}
	for _, o := range alone {
		c := &chain{}
		c.add(0, o)
		r.chains = append(r.chains, c)
	}
}

// follow makes the chain that begins with a value.
func (r *register) follow(value string) {
	c := &chain{}
	r.chains = append(r.chains, c)
	for i := 0; ; i += 2 {
		r.chainOf[value] = c
		c.add(i, r.writers[value])
		for _, o := range r.reads[value] {
			c.add(i+1, o)
		}
		next, ok := r.next[value]
		if !ok {
			return
		}
		value = next.Input.Tag
	}
}

// order wants each chain to agree with the clock.
func (r *register) order() *conflict {
	for _, c := range r.chains {
		latest := c.links[0].op // the latest call among those before
		for i, before := 0, 0; i < len(c.links); i++ {
			for ; c.links[before].at < c.links[i].at; before++ {
				if o := c.links[before].op; o.Call > latest.Call {
					latest = o
				}
			}
			if o := c.links[i].op; c.links[i].at > 0 && o.end() < latest.Call {
				return &conflict{"the values say that the first call took effect before the second, but the second returned before the first was called", []op{latest, o}}
			}
		}
	}
	return nil
}

// overlap wants forward zones one after the other, and no backward zone inside of one.
func (r *register) overlap() *conflict {
	var forward, backward []*chain
	for _, c := range r.chains {
		if c.isForward() {
			forward = append(forward, c)
		} else {
			backward = append(backward, c)
		}
	}
	slices.SortFunc(forward, func(a, b *chain) int { return cmp.Compare(a.first.end(), b.first.end()) })
	for i := 1; i < len(forward); i++ {
		if a, b := forward[i-1], forward[i]; b.first.end() < a.last.Call {
			return &conflict{"the value of the first two calls and that of the others were both there at one time", []op{a.first, a.last, b.first, b.last}}
		}
	}
	for _, c := range backward {
		begin, end := c.last.Call, c.first.end()
		i, _ := slices.BinarySearchFunc(forward, begin, func(f *chain, t int64) int { return cmp.Compare(f.first.end(), t) })
		if i > 0 && end < forward[i-1].last.Call { // the last one that begins before
			f := forward[i-1]
			return &conflict{"the value of the last calls can only have been there while that of the first two was", append([]op{f.first, f.last}, c.few()...)}
		}
	}
	return nil
}

// refusals wants a reason for each refused swap: a moment, between its call and its
// return, at which its condition may not have held.
func (r *register) refusals() *conflict {
	for _, o := range r.ops {
		c := r.chainOf[o.Input.Old]
		if !o.Output.Refused || c == nil {
			continue // the value may never have been there, or have come and gone again
		}
		if first, last := c.stay(o.Input.Old); o.Call > first.end() && !r.replaced(o, last) {
			return &conflict{"the last call was refused, and its condition held all the time", []op{first, last, o}}
		}
	}
	return nil
}

// replaced reports whether a call may have replaced the condition of a refused swap
// before that returned. Last is the last call that certainly found it.
func (r *register) replaced(refused, last op) bool {
	if refused.end() < last.Call {
		return false
	}
	for value, w := range r.writers {
		if value != refused.Input.Old && w.Call <= refused.end() && (w.end() >= last.Call || r.resent(value)) {
			return true
		}
	}
	return false
}

// A chain is values of which each was replaced by a swap to the next one.
type chain struct {
	links []link
	first op // the earliest return
	last  op // the latest call
}

// A link is a call of a chain. Those with a smaller number took effect before.
type link struct {
	at int
	op op
}

func (c *chain) add(at int, o op) {
	if len(c.links) == 0 || o.end() < c.first.end() {
		c.first = o
	}
	if len(c.links) == 0 || o.Call > c.last.Call {
		c.last = o
	}
	c.links = append(c.links, link{at, o})
}

func (c *chain) isForward() bool { return c.first.end() < c.last.Call }

// few returns some of the calls, to be shown.
func (c *chain) few() (ops []op) {
	for _, l := range c.links[:min(len(c.links), 3)] {
		ops = append(ops, l.op)
	}
	return ops
}

// stay returns the call before whose return a value of the chain must have been there,
// and the one before whose call it cannot have gone.
func (c *chain) stay(value string) (first, last op) {
	from := slices.IndexFunc(c.links, func(l link) bool { return l.op.Input.Kind != read && l.op.Input.Tag == value })
	at := c.links[from].at
	first, last = c.links[from].op, c.links[0].op
	for _, l := range c.links {
		if l.at >= at && l.op.end() < first.end() {
			first = l.op
		}
		if l.at <= at+2 && l.op.Call > last.Call { // the swap that replaces it saw it
			last = l.op
		}
	}
	return first, last
}
