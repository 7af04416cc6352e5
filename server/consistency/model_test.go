package consistency

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// model is what a server is to be, for a checker that searches: each key has one value at
// any time, and a call takes effect at one moment between its call and its return. The
// search takes too long for large histories. Of small ones it says what linearizable
// should say.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{""} },
		Step: func(state, input, output any) []any {
			return step(state.(string), input.(call), output.(outcome))
		},
	}
	return m.ToModel()
}

// step returns what may be there after a call, nothing if there cannot have been
// such an outcome.
func step(state string, c call, o outcome) []any {
	switch c.Kind {
	case read:
		if state != o.Value {
			return nil
		}
		return []any{state}
	case write:
		if o.Unknown {
			return []any{state, c.Tag}
		}
		return []any{c.Tag}
	}
	switch holds := state == c.Old; {
	case o.Unknown && holds:
		return []any{state, c.Tag}
	case o.Unknown, o.Refused && !holds:
		return []any{state}
	case o.Refused, !holds:
		return nil
	}
	return []any{c.Tag}
}

// searched reports whether a history of one key is linearizable. It tries all orders.
func searched(ops []op) bool {
	var all []porcupine.Operation
	for _, o := range ops {
		all = append(all, porcupine.Operation{Input: o.Input, Output: o.Output, Call: o.Call, Return: o.end()})
		for range o.Output.Resent {
			all = append(all, porcupine.Operation{Input: o.Input, Output: outcome{Unknown: true}, Call: o.Call, Return: never})
		}
	}
	return porcupine.CheckOperations(model(), all)
}

// The checker tells histories that a server may have from others.
func TestModel(t *testing.T) {
	at := func(from, to int64, c call, o outcome) op { return op{Input: c, Output: o, Call: from, Return: to} }
	put := func(tag string) call { return call{Kind: write, Key: "k", Tag: tag} }
	cas := func(old, tag string) call { return call{Kind: swap, Key: "k", Old: old, Tag: tag} }
	get, saw := call{Kind: read, Key: "k"}, func(v string) outcome { return outcome{Value: v} }
	done, lost, refused, twice := outcome{}, outcome{Unknown: true}, outcome{Refused: true}, outcome{Resent: 1}
	for _, c := range []struct {
		name string
		want bool
		ops  []op
	}{
		{"read what was written", true, []op{at(0, 1, put("a"), done), at(2, 3, get, saw("a"))}},
		{"stale read", false, []op{at(0, 1, put("a"), done), at(2, 3, put("b"), done), at(4, 5, get, saw("a"))}},
		{"read during a write", true, []op{at(0, 9, put("a"), done), at(1, 2, get, saw("")), at(3, 4, get, saw("a"))}},
		{"read back in time", false, []op{at(0, 9, put("a"), done), at(1, 2, get, saw("a")), at(3, 4, get, saw(""))}},
		{"read before it was written", false, []op{at(0, 1, get, saw("a")), at(2, 3, put("a"), done)}},
		{"read what no call wrote", false, []op{at(0, 1, get, saw("a"))}},
		{"lost update", false, []op{at(0, 5, cas("", "a"), done), at(1, 5, cas("", "b"), done)}},
		{"swaps in a circle", false, []op{at(0, 5, cas("b", "a"), done), at(1, 5, cas("a", "b"), done)}},
		{"swaps against the clock", false, []op{at(0, 1, cas("a", "b"), done), at(2, 3, put("a"), lost), at(4, 5, get, saw("b"))}},
		{"one of two", true, []op{at(0, 5, cas("", "a"), done), at(1, 5, cas("", "b"), refused), at(6, 7, get, saw("a"))}},
		{"refused without a reason", false, []op{at(0, 1, cas("", "a"), refused)}},
		{"refused while it held", false, []op{at(0, 1, put("a"), done), at(2, 3, cas("a", "b"), refused), at(4, 5, get, saw("a")), at(6, 7, put("c"), done)}},
		{"refused after a write without answer", true, []op{at(0, 1, put("a"), done), at(2, 3, put("c"), lost), at(4, 5, cas("a", "b"), refused)}},
		{"unknown and there", true, []op{at(0, 1, put("a"), lost), at(5, 6, get, saw("a"))}},
		{"unknown and not there", true, []op{at(0, 1, put("a"), lost), at(5, 6, get, saw(""))}},
		{"unknown and late", true, []op{at(0, 1, put("a"), lost), at(1, 2, put("b"), done), at(5, 6, get, saw("b")), at(7, 8, get, saw("a"))}},
		{"unknown and twice", false, []op{
			at(0, 1, put("a"), lost), at(1, 2, get, saw("a")), at(3, 4, put("b"), done), at(5, 6, get, saw("b")), at(7, 8, get, saw("a"))}},
		{"sent again", true, []op{
			at(0, 1, put("a"), twice), at(1, 2, get, saw("a")), at(3, 4, put("b"), done), at(5, 6, get, saw("b")), at(7, 8, get, saw("a"))}},
		{"sent again and stale", false, []op{
			at(0, 1, put("a"), twice), at(3, 4, put("b"), done), at(5, 6, get, saw("a")), at(7, 8, get, saw("b"))}},
		{"unknown swap whose condition never held", false, []op{at(0, 1, cas("x", "a"), lost), at(5, 6, get, saw("a"))}},
		{"unknown swaps that were seen", false, []op{at(0, 1, cas("", "a"), lost), at(2, 3, cas("", "b"), lost), at(5, 6, get, saw("a")), at(7, 8, get, saw("b"))}},
		{"acknowledged and lost", false, []op{at(0, 1, put("a"), done), at(5, 6, get, saw(""))}},
	} {
		if got := searched(c.ops); got != c.want {
			t.Errorf("%s: a search says linearizable = %v, want %v", c.name, got, c.want)
		}
		if err := linearizable(c.ops); (err == nil) != c.want {
			t.Errorf("%s: linearizable: %v, want %v", c.name, err, c.want)
		}
	}
}

// Calls without an answer do not make the check slow. A search would try whether each of
// these took effect before each read.
func TestManyWithoutAnswer(t *testing.T) {
	ops := []op{{Return: 1, Input: call{Kind: write, Key: "k", Tag: "a"}}}
	for i := range int64(10_000) {
		lost := op{Call: i, Return: i + 1, Input: call{Kind: write, Key: "k", Tag: fmt.Sprint(i)}, Output: outcome{Unknown: true}}
		if i%2 == 0 {
			lost.Input.Kind, lost.Input.Old = swap, fmt.Sprint(i-1)
		}
		ops = append(ops, lost)
	}
	get := func(from int64, value string) op {
		return op{Call: from, Return: from + 1, Input: call{Kind: read, Key: "k"}, Output: outcome{Value: value}}
	}
	ops = append(ops, get(10_000, "a"), get(20_000, "77"))
	if err := linearizable(ops); err != nil {
		t.Error(err)
	}
	if err := linearizable(append(ops, get(30_000, "a"))); err == nil {
		t.Error("a value came back, and that was not noticed")
	}
}

// A small history is linearizable if and only if a search finds an order. Where refused
// swaps and writes that were sent again make linearizable less strict, what it finds is
// still wrong.
func TestAgainstSearch(t *testing.T) {
	histories := tier.Pick(2_000, 5_000, 20_000)
	rnd := rand.New(rand.NewPCG(1, 2))
	figures := make(map[string]int)
	for range histories {
		lenient := rnd.IntN(3) == 0
		ops := randomHistory(rnd, lenient)
		want, err := searched(ops), linearizable(ops)
		if want && err != nil || !want && err == nil && !lenient {
			t.Fatalf("linearizable: %v; a search says %v:\n%v", err, want, ops)
		}
		figures[fmt.Sprintf("lenient %v: %v, found %v", lenient, want, err == nil)]++
	}
	t.Log(figures)
	for _, kind := range []string{"lenient false: true, found true", "lenient false: false, found false", "lenient true: false, found false"} {
		if figures[kind] < histories/20 {
			t.Errorf("too few histories of the kind %q: %v", kind, figures)
		}
	}
}

// randomHistory returns what a server answered to calls at random times, which one call
// in some histories contradicts.
func randomHistory(rnd *rand.Rand, lenient bool) (ops []op) {
	values := []string{""}
	for i := range 2 + rnd.IntN(8) {
		moment := int64(i * 10)
		o := op{Call: moment - rnd.Int64N(25), Return: moment + rnd.Int64N(25), Input: call{Kind: read, Key: "k", Tag: fmt.Sprintf("v%d", i)}}
		now, some := values[len(values)-1], values[rnd.IntN(len(values))]
		if rnd.IntN(4) == 0 {
			now = some // perhaps a fault
		}
		switch rnd.IntN(3) {
		case 0:
			o.Input.Tag, o.Output.Value = "", now
		case 1:
			o.Input.Kind = write
			if lenient && rnd.IntN(4) == 0 {
				o.Output.Resent = 1
				values = append(values, o.Input.Tag, now)
			}
		default:
			o.Input.Kind, o.Input.Old = swap, now
			if lenient && rnd.IntN(2) == 0 {
				o.Input.Old, o.Output.Refused = some, true
			}
		}
		if o.Input.Kind != read && !o.Output.Refused {
			o.Output.Unknown = rnd.IntN(4) == 0
			if !o.Output.Unknown || rnd.IntN(2) == 0 {
				values = append(values, o.Input.Tag)
			}
		}
		ops = append(ops, o)
	}
	rnd.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return slices.Clip(ops)
}
