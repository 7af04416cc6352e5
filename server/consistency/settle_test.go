package consistency

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Calls without an answer are what makes checking slow: each may take effect at any
// time or not at all. But no two have the same tag, so that most of them are settled
// by what others saw.

// settle returns a history that is linearizable if and only if ops is. Of a call
// without an answer whose tag somebody saw it is known that it took effect, and
// that it did so before.
func settle(ops []porcupine.Operation) (settled []porcupine.Operation) {
	seen := make(map[string]int64) // tags, and when they were there at the latest
	see := func(tag string, at int64) {
		if first, ok := seen[tag]; tag != "" && (!ok || at < first) {
			seen[tag] = at
		}
	}
	writers := make(map[string]int)
	for _, op := range ops {
		c, o := op.Input.(call), op.Output.(outcome)
		switch {
		case c.kind == read:
			see(o.value, op.Return)
		case c.kind == swap && !o.unknown && !o.refused:
			see(c.old, op.Return)
		}
		if c.kind != read {
			writers[c.tag]++
		}
	}
	for _, op := range ops {
		c := op.Input.(call)
		at, ok := seen[c.tag]
		if op.Output.(outcome).unknown && ok && at >= op.Call && writers[c.tag] == 1 {
			op.Output, op.Return = outcome{}, at
		}
		settled = append(settled, op)
	}
	return settled
}

// known returns the calls that have an answer. If they are linearizable, so are
// all: the others need not have taken effect.
func known(ops []porcupine.Operation) (some []porcupine.Operation) {
	for _, op := range ops {
		if !op.Output.(outcome).unknown {
			some = append(some, op)
		}
	}
	return some
}

// linearizable checks a history, the quick way first.
func linearizable(ops []porcupine.Operation, timeout time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	settled := settle(ops)
	if result, info := porcupine.CheckOperationsVerbose(model(), known(settled), timeout); result == porcupine.Ok {
		return result, info
	}
	return porcupine.CheckOperationsVerbose(model(), settled, timeout)
}

func TestSettle(t *testing.T) {
	put := call{kind: write, key: "k", tag: "a"}
	lost := porcupine.Operation{Input: put, Output: outcome{unknown: true}, Call: 1, Return: never}
	saw := porcupine.Operation{Input: call{kind: read, key: "k"}, Output: outcome{value: "a"}, Call: 4, Return: 5}
	late := porcupine.Operation{Input: call{kind: swap, key: "k", old: "a", tag: "b"}, Output: outcome{}, Call: 6, Return: 7}
	if got := settle([]porcupine.Operation{lost, late, saw}); got[0].Return != 5 || got[0].Output.(outcome).unknown {
		t.Errorf("a call whose effect was seen is not settled: %+v", got[0])
	}
	if got := settle([]porcupine.Operation{lost, late}); got[0].Return != 7 {
		t.Errorf("a call on which a swap built is not settled: %+v", got[0])
	}
	if got := settle([]porcupine.Operation{lost}); got[0].Return != never || len(known(got)) != 0 {
		t.Errorf("a call whose effect nobody saw is settled: %+v", got[0])
	}
	acked := porcupine.Operation{Input: put, Output: outcome{}, Call: 1, Return: 2}
	if got := settle([]porcupine.Operation{acked, lost, saw}); got[1].Return != never {
		t.Errorf("which one of two was seen is not known, and is settled: %+v", got[1])
	}
	early := saw
	early.Call, early.Return = 0, 0
	if got := settle([]porcupine.Operation{lost, early}); got[0].Return != never {
		t.Errorf("what was seen before it was asked for is settled: %+v", got[0])
	}
}
