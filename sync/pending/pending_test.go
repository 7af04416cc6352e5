package pending

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/tree"
)

// A sparse is the reference: the client's own bookkeeping, a tree in which a
// location either holds a value or has children.
type sparse struct {
	value    *tree.Node
	priority *tree.Node
	children map[string]*sparse
}

// remember records a value at t.
func (s *sparse) remember(t tree.Target, v tree.Node) {
	if s.value != nil && t != (tree.Target{}) {
		n := s.value.WithTarget(t, v)
		s.value = &n
		return
	}
	key, rest, ok := t.Path.Cut()
	switch {
	case ok:
		if s.children == nil {
			s.children = make(map[string]*sparse)
		}
		if s.children[key] == nil {
			s.children[key] = &sparse{}
		}
		s.children[key].remember(tree.Target{Path: rest, Priority: t.Priority}, v)
	case t.Priority:
		s.priority = &v
	default:
		*s = sparse{value: &v}
	}
}

// forget drops what is recorded at and below t.
func (s *sparse) forget(t tree.Target) {
	if t == (tree.Target{}) {
		*s = sparse{}
		return
	}
	if s.value != nil {
		if s.value.IsLeaf() {
			return
		}
		n := *s.value
		s.value = nil
		for key, child := range n.Children() {
			s.remember(tree.Target{Path: tree.Root.Child(key)}, child)
		}
	}
	key, rest, ok := t.Path.Cut()
	switch {
	case !ok:
		s.priority = nil
	case s.children[key] != nil:
		s.children[key].forget(tree.Target{Path: rest, Priority: t.Priority})
	}
}

// list returns the records in path order.
func (s *sparse) list(at tree.Path) (list []string) {
	if s.value != nil {
		return []string{fmt.Sprintf("%s %s", at, s.value.JSON())}
	}
	if s.priority != nil {
		list = append(list, fmt.Sprintf("%s %s", tree.Target{Path: at, Priority: true}, s.priority.JSON()))
	}
	for key, child := range s.children {
		list = append(list, child.list(at.Child(key))...)
	}
	slices.Sort(list)
	return list
}

// TestPendingModel compares random edits with the reference, and what the store
// was told with what is in memory. Every other edit is undone.
func TestPendingModel(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var p Writes
		var reference sparse
		stored := make(map[uint64]string)
		var log []string
		for step := range 300 {
			target := randomTarget(rnd)
			next := p.Snapshot()
			e := next.Edit()
			value := tree.MustParseNode([]string{
				"null", "1", `"s"`, `{"a":1}`, `{"a":{"b":2},"c":3}`, `{".priority":1,"b":{"a":1,"c":2}}`,
			}[rnd.IntN(6)])
			cancel := rnd.IntN(4) == 0
			if target.Priority {
				value = tree.Number(float64(step))
			}
			if cancel {
				e.Cancel(target)
			} else if err := e.Put(Record{Target: target, Value: tree.DraftOf(value), Caller: access.Caller{Admin: true}}); err != nil {
				t.Fatal(err)
			}
			if rnd.IntN(2) == 0 {
				continue // the batch failed
			}
			p = next
			if cancel {
				log = append(log, "cancel "+target.String())
				reference.forget(target)
			} else {
				log = append(log, target.String()+" = "+value.JSON())
				reference.remember(target, value)
			}
			tell(e, stored)
			comparePending(t, seed, log, &p, &reference, stored)
		}
	}
}

func randomTarget(rnd *rand.Rand) tree.Target {
	var target tree.Target
	for range rnd.IntN(4) {
		target.Path = target.Path.Child([]string{"a", "b", "c", "a-b", "ab"}[rnd.IntN(5)])
	}
	target.Priority = rnd.IntN(6) == 0
	return target
}

// tell does to a map what save does to the store.
func tell(e *Edit, stored map[uint64]string) {
	for _, number := range e.removed {
		delete(stored, number)
	}
	for _, w := range e.added {
		if have, _ := e.At.Get(w.Target.String()); have == w {
			stored[w.number] = recordOf(w)
		}
	}
}

func recordOf(w *Record) string {
	return fmt.Sprintf("%s %s", w.Target, tree.FromCanonical(w.Value.Text()).JSON())
}

func comparePending(t *testing.T, seed uint64, log []string, p *Writes, reference *sparse, stored map[uint64]string) {
	t.Helper()
	var got []string
	bytes := 0
	for w := range p.All() {
		got = append(got, recordOf(w))
		bytes += w.size()
	}
	slices.Sort(got)
	want := reference.list(tree.Root)
	inStore := slices.Sorted(maps.Values(stored))
	if !slices.Equal(got, want) || !slices.Equal(inStore, want) || bytes != p.Bytes {
		t.Fatalf("seed %d:\n\t%s\nrecords %v\nstored  %v\nwant    %v\ncounted %d bytes, want %d",
			seed, strings.Join(log[max(0, len(log)-10):], "\n\t"), got, inStore, want, p.Bytes, bytes)
	}
}

// TestPendingCostsWhatChanges: neither a copy nor an edit touches more than a few
// of the records that it leaves as they are.
func TestPendingCostsWhatChanges(t *testing.T) {
	var p Writes
	for i := range MaxRecords {
		target := tree.Target{Path: tree.MustParsePath(fmt.Sprint("/l/k", i))}
		if err := p.Edit().Put(Record{Target: target, Value: tree.DraftOf(tree.Bool(true)), Caller: access.Caller{Admin: true}}); err != nil {
			t.Fatal(err)
		}
	}
	target := tree.Target{Path: tree.MustParsePath("/l/k5")}
	const edits = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range edits {
		next := p.Snapshot()
		e := next.Edit()
		if err := e.Put(Record{Target: target, Value: tree.DraftOf(tree.Bool(false)), Caller: access.Caller{Admin: true}}); err != nil {
			t.Error(err)
		}
		e.Cancel(target)
		if len(e.removed) != 1 || len(e.added) != 1 {
			t.Errorf("an edit of one record tells the store %d removals and %d records", len(e.removed), len(e.added))
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / edits; each > 32<<10 {
		t.Errorf("an edit among %d records allocates %d bytes, want less than 32 KiB", MaxRecords, each)
	}
}
