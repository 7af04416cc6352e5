package sync

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

// mapCosts are databases that are compared: what a map adds to a write, and what the same second
// path adds if a client writes it.
var mapCosts = []struct {
	name, define string
	again        bool // the nodes are written over and over
	both         bool // the client writes the place of the map, too
}{
	{name: "none"},
	{name: "elsewhere", define: `"m": {"map": "/other/$c/$k", "to": "/by/$k/$c"}`},
	{name: "map", define: `"m": {"map": "/set/$c/$k", "to": "/by/$k/$c"}`},
	{name: "two-paths", both: true},
	{name: "again-none", again: true},
	{name: "again-map", define: `"m": {"map": "/set/$c/$k", "to": "/by/$k/$c", "value": "= data.child('done').val()"}`, again: true},
}

// BenchmarkMap compares writes with and without a map, in batches as 16 clients make them that have
// 16 writes in flight each. The databases take turns, so that all have the same share of what else
// the machine does.
func BenchmarkMap(b *testing.B) {
	const batches, size = 20, 256
	dbs, took := make([]*Database, len(mapCosts)), make([]time.Duration, len(mapCosts))
	for i, c := range mapCosts {
		dbs[i] = openLogged(b)
		if c.define != "" {
			deploy(b, dbs[i], c.define)
		}
		stopCommitter(b, dbs[i])
	}
	object := fmt.Sprintf(`{"n":1,"done":false,"text":%q}`, strings.Repeat("the quick brown fox ", 8))
	value, member := putOf(b, "/x", object).Update[0].Value, putOf(b, "/x", "true").Update[0].Value
	round := 0
	for b.Loop() {
		for i, c := range mapCosts {
			tasks := make([]task, batches*size)
			for j := range tasks {
				k := (round*len(tasks) + j) / 16
				if c.again {
					k %= 1000
				}
				key, client := fmt.Sprintf("k%010d", k), fmt.Sprint("c", j%16)
				w := Write{Update: tree.Update{{Target: tree.Target{Path: tree.PathOf("set", client, key)}, Value: value}}}
				if w.Base = w.Update[0].Path; c.both {
					w.Update = append(w.Update, tree.Write{Target: tree.Target{Path: tree.PathOf("by", key, client)}, Value: member})
					w.Base, w.Merge = tree.Root, true
				}
				tasks[j] = &asyncWrite{writeTask: writeTask{write: w}, done: func(err error) {
					if err != nil {
						b.Error(err)
					}
				}}
			}
			began := time.Now()
			for ; len(tasks) > 0; tasks = tasks[size:] {
				dbs[i].commit(tasks[:size])
			}
			took[i] += time.Since(began)
		}
		round++
	}
	b.ReportMetric(0, "ns/op")
	for i, c := range mapCosts {
		b.ReportMetric(float64(took[i].Nanoseconds())/float64(round*batches*size), c.name+"-ns/write")
	}
}
