package derive_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// touching are definitions with a write that touches one node of each.
var touching = map[string]string{
	"map":           `"m": {"map": "/set/$c/$k", "to": "/by/$k/$c"}`,
	"map value":     `"m": {"map": "/set/$c/$k", "to": "/by/$k/$c", "value": "= data.child('n').val()"}`,
	"map place":     `"m": {"map": "/set/$c/$k", "to": "/by/{data.child('n').val()}/$c/$k", "where": "data.child('done').val() == false"}`,
	"unique":        `"m": {"map": "/set/$c/$k", "to": "/by/{data.child('n').val()}", "unique": true}`,
	"count of some": `"m": {"count": "/set/$c/$k", "to": "/sizes/$c", "where": "data.exists()"}`,
	"count":         `"m": {"count": "/set/$c/$k", "to": "/sizes/$c"}`,
}

func touchingChange(n int) *derive.Change {
	return &derive.Change{Before: state{}, Writes: []tree.ResolvedWrite{
		put(fmt.Sprintf("set/c1/k%010d", n), `{"n":7,"done":false,"text":"`+strings.Repeat("the quick brown fox ", 8)+`"}`)}}
}

// BenchmarkTouch is a write that touches one node.
func BenchmarkTouch(b *testing.B) {
	for name, define := range touching {
		b.Run(name, func(b *testing.B) {
			doc, change := parse(b, define), touchingChange(1)
			b.ReportAllocs()
			for b.Loop() {
				if r, err := doc.Derive(change); err != nil || len(r.Derived) != 1 {
					b.Fatal(r, err)
				}
			}
		})
	}
}

// A write that touches one node allocates what it becomes, the path of its place, and little that
// grows with what the expressions yield.
func TestTouchAllocations(t *testing.T) {
	tier.Unraced(t)
	for name, most := range map[string]float64{"map": 2, "map value": 6, "map place": 9, "unique": 7, "count": 3, "count of some": 4} {
		doc, change := parse(t, touching[name]), touchingChange(1)
		if n := testing.AllocsPerRun(200, func() {
			if _, err := doc.Derive(change); err != nil {
				t.Error(err)
			}
		}); n > most+1 { // the collector may empty the pool
			t.Errorf("%s: %v allocations, at most %v expected", name, n, most)
		}
	}
}

// An indexed tree finds a node without a search: that of a state would take longer than what is
// measured.
type indexed struct {
	state
	nodes map[tree.Path]tree.Node
	keys  map[tree.Path][]string
}

func newIndexed(writes []tree.ResolvedWrite) indexed {
	x := indexed{nodes: make(map[tree.Path]tree.Node), keys: make(map[tree.Path][]string)}
	var add func(p tree.Path, n tree.Node)
	add = func(p tree.Path, n tree.Node) {
		x.nodes[p] = n
		for key, child := range n.Children() {
			x.keys[p] = append(x.keys[p], key)
			add(p.Child(key), child)
		}
	}
	for _, w := range writes {
		add(w.Path, w.Node)
	}
	return x
}

func (x indexed) Get(p tree.Path) (tree.Node, error) { return x.nodes[p], nil }
func (x indexed) Has(p tree.Path) (bool, error)      { return x.nodes[p] != tree.Empty, nil }
func (x indexed) Peek(p tree.Path) (tree.Node, bool, error) {
	if n := x.nodes[p]; !n.IsObject() {
		return n, false, nil
	}
	return tree.Empty, true, nil
}
func (x indexed) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, key := range x.keys[p] {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// BenchmarkWide is a write above many nodes that come or go, with a target for each or one for
// all of them.
func BenchmarkWide(b *testing.B) {
	for _, n := range []int{1000, 9900} {
		var members strings.Builder
		for i := range n {
			fmt.Fprintf(&members, `,"k%010d":true`, i)
		}
		all := put("set/c1", "{"+members.String()[1:]+"}")
		none := put("set/c1", "null")
		for _, kind := range []string{"map", "count of some"} {
			doc := parse(b, touching[kind])
			coming := &derive.Change{Before: state{}, Writes: []tree.ResolvedWrite{all}}
			r, err := doc.Derive(coming)
			if err != nil {
				b.Fatal(err)
			}
			going := &derive.Change{Before: newIndexed(r.Writes), Writes: []tree.ResolvedWrite{none}}
			for _, c := range []struct {
				what   string
				change *derive.Change
			}{{"put", coming}, {"delete", going}} {
				b.Run(fmt.Sprintf("%s/%s/nodes=%d", kind, c.what, n), func(b *testing.B) {
					for b.Loop() {
						if _, err := doc.Derive(c.change); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
				})
			}
		}
	}
}
