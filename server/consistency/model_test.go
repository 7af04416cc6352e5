package consistency

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// The checker tells histories that a server may have from others.
func TestModel(t *testing.T) {
	op := func(from, to int64, c call, o outcome) porcupine.Operation {
		return porcupine.Operation{Input: c, Output: o, Call: from, Return: to}
	}
	put := func(tag string) call { return call{kind: write, key: "k", tag: tag} }
	cas := func(old, tag string) call { return call{kind: swap, key: "k", old: old, tag: tag} }
	get, saw := call{kind: read, key: "k"}, func(v string) outcome { return outcome{value: v} }
	done, lost, refused := outcome{}, outcome{unknown: true}, outcome{refused: true}
	for _, c := range []struct {
		name string
		want bool
		ops  []porcupine.Operation
	}{
		{"read what was written", true, []porcupine.Operation{op(0, 1, put("a"), done), op(2, 3, get, saw("a"))}},
		{"stale read", false, []porcupine.Operation{op(0, 1, put("a"), done), op(2, 3, put("b"), done), op(4, 5, get, saw("a"))}},
		{"read during a write", true, []porcupine.Operation{op(0, 9, put("a"), done), op(1, 2, get, saw("")), op(3, 4, get, saw("a"))}},
		{"read back in time", false, []porcupine.Operation{op(0, 9, put("a"), done), op(1, 2, get, saw("a")), op(3, 4, get, saw(""))}},
		{"lost update", false, []porcupine.Operation{op(0, 5, cas("", "a"), done), op(1, 5, cas("", "b"), done)}},
		{"one of two", true, []porcupine.Operation{op(0, 5, cas("", "a"), done), op(1, 5, cas("", "b"), refused), op(6, 7, get, saw("a"))}},
		{"refused without a reason", false, []porcupine.Operation{op(0, 1, cas("", "a"), refused)}},
		{"unknown and there", true, []porcupine.Operation{op(0, never, put("a"), lost), op(5, 6, get, saw("a"))}},
		{"unknown and not there", true, []porcupine.Operation{op(0, never, put("a"), lost), op(5, 6, get, saw(""))}},
		{"unknown and late", true, []porcupine.Operation{op(0, never, put("a"), lost), op(1, 2, put("b"), done), op(5, 6, get, saw("b")), op(7, 8, get, saw("a"))}},
		{"unknown and twice", false, []porcupine.Operation{
			op(0, never, put("a"), lost), op(1, 2, get, saw("a")), op(3, 4, put("b"), done), op(5, 6, get, saw("b")), op(7, 8, get, saw("a"))}},
		{"unknown swap whose condition never held", false, []porcupine.Operation{op(0, never, cas("x", "a"), lost), op(5, 6, get, saw("a"))}},
		{"acknowledged and lost", false, []porcupine.Operation{op(0, 1, put("a"), done), op(5, 6, get, saw(""))}},
	} {
		if got := porcupine.CheckOperations(model(), c.ops); got != c.want {
			t.Errorf("%s: linearizable = %v, want %v", c.name, got, c.want)
		}
		if got, _ := linearizable(c.ops, checking); (got == porcupine.Ok) != c.want {
			t.Errorf("%s: linearizable the quick way: %v, want %v", c.name, got, c.want)
		}
	}
}
