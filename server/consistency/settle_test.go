package consistency

import (
	"cmp"
	"slices"
	"sort"
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

// around returns the calls that have an answer, or were sent again, and for each swap that was refused, up to
// most of those without one that began last before it was: one of them may be why. If
// they are linearizable, so are all.
func around(ops []porcupine.Operation, most int) (some []porcupine.Operation) {
	lost := make(map[string][]int) // calls without an answer by key, in the order in which they began
	for i, op := range ops {
		if key := op.Input.(call).key; op.Output.(outcome).unknown {
			lost[key] = append(lost[key], i)
		}
	}
	for _, list := range lost {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
	}
	answered := make(map[string]bool) // tags of writes; one that was sent again has a second call
	for _, op := range ops {
		answered[op.Input.(call).tag] = answered[op.Input.(call).tag] || !op.Output.(outcome).unknown
	}
	wanted := make(map[int]bool)
	for i, op := range ops {
		o, c := op.Output.(outcome), op.Input.(call)
		wanted[i] = wanted[i] || !o.unknown || c.kind == write && answered[c.tag]
		if !o.refused {
			continue
		}
		list := lost[op.Input.(call).key]
		end := sort.Search(len(list), func(n int) bool { return ops[list[n]].Call >= op.Return })
		for _, i := range list[max(end-most, 0):end] {
			wanted[i] = true
		}
	}
	for i, op := range ops {
		if wanted[i] {
			some = append(some, op)
		}
	}
	return some
}

// linearizable checks a history, the quick ways first.
func linearizable(ops []porcupine.Operation, timeout time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	settled := settle(ops)
	for _, most := range []int{0, 1, 2, 4, 8} {
		if result, info := porcupine.CheckOperationsVerbose(model(), around(settled, most), timeout/6); result == porcupine.Ok {
			return result, info
		}
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
	if got := settle([]porcupine.Operation{lost}); got[0].Return != never || len(around(got, 0)) != 0 {
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
