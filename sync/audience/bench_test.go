package audience

import (
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/tree"
)

// BenchmarkHub is to find those who can see a write among many who can't.
func BenchmarkHub(b *testing.B) {
	h := manyGroups(100_000)
	p := tree.MustParsePath("/rooms/r5/messages/m1")
	b.ReportAllocs()
	for b.Loop() {
		for range h.Above(p) {
		}
		for range h.Below(p) {
		}
	}
}

// BenchmarkDeliver is an event on its way to many listeners: into their outboxes
// and out of them.
func BenchmarkDeliver(b *testing.B) {
	for _, listeners := range []int{1, 25, 1000} {
		b.Run(fmt.Sprint("listeners=", listeners), func(b *testing.B) {
			h := newHouse(b, nil)
			var outboxes []*outbox.Outbox
			for range listeners {
				l := h.listener("/rooms/r1", "")
				l.read.Query = tree.Query{OrderBy: tree.ByKey, Limit: 5, FromLast: true}
				if err := l.Attach(b.Context()); err != nil {
					b.Fatal(err)
				}
				v, err := l.join()
				if err != nil {
					b.Fatal(err)
				}
				v.tx.Rollback()
				outboxes = append(outboxes, l.out)
			}
			all := h.hub.all()
			var msgs [][]byte
			b.ReportAllocs()
			for b.Loop() {
				e := benchEvent()
				for _, l := range all {
					l.out.PushEvent(&l.shown, e)
				}
				for _, o := range outboxes {
					msgs, _ = o.TakeReady(msgs[:0], 1<<20)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*listeners), "ns/listener")
		})
	}
}

func benchEvent() *outbox.Event {
	n := tree.MustParseNode(`{"text":"hello","from":"ana","at":1700000000000}`)
	e := outbox.Put(tree.Target{Path: tree.MustParsePath("/rooms/r1/m1")}, n)
	e.Measure()
	return e
}

// BenchmarkEventEncoding is what the first listener of an event does, and all
// those with a tag.
func BenchmarkEventEncoding(b *testing.B) {
	n := tree.MustParseNode(`{"text":"hello","from":"ana","at":1700000000000}`)
	target := tree.Target{Path: tree.MustParsePath("/rooms/r1/m1")}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e := outbox.Put(target, n)
			e.Measure()
			e.Push(0)
		}
	})
	b.Run("tag", func(b *testing.B) {
		b.ReportAllocs()
		e := outbox.Put(target, n)
		e.Measure()
		for b.Loop() {
			e.Push(7)
		}
	})
}
