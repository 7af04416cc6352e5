package sync

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestManyWritesInOrderOfKeys: the store is told of a large update in the order
// of keys, values before removals before priorities.
func TestManyWritesInOrderOfKeys(t *testing.T) {
	var want []tree.ResolvedWrite
	add := func(priority bool, n tree.Node) {
		for i := range 40 {
			p := tree.MustParsePath(fmt.Sprintf("rows/%d/%s%d", i, map[bool]string{true: "v", false: "gone"}[!n.IsEmpty()], i))
			want = append(want, tree.ResolvedWrite{Target: tree.Target{Path: p, Priority: priority}, Node: n})
		}
	}
	add(false, tree.Bool(true))
	add(false, tree.Empty)
	add(true, tree.Number(1))
	shuffled := append([]tree.ResolvedWrite(nil), want...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for i, w := range byKey(shuffled) {
		if w != want[i] {
			t.Fatalf("write %d is of %s, want %s", i, w.Target, want[i].Target)
		}
	}
	few := shuffled[:manyWrites-1]
	for i, w := range byKey(few) {
		if w != few[i] {
			t.Fatalf("write %d of few is of %s, want %s", i, w.Target, few[i].Target)
		}
	}
}

// TestLargeUpdate: an update of many children, in no order, does what it says.
func TestLargeUpdate(t *testing.T) {
	db := openTest(t, Options{})
	set(t, db, "/rows", `{"k0003":{"n":1},"k0004":{"n":2,".priority":1},"other":5}`)
	var update, after strings.Builder
	order := rand.New(rand.NewPCG(3, 4)).Perm(500)
	for i := range order {
		fmt.Fprintf(&after, `"k%04d":{"n":%d},`, i, i*7)
	}
	for _, i := range order {
		fmt.Fprintf(&update, `,"k%04d":{"n":%d}`, i, i*7)
	}
	u, err := tree.ParseUpdate(tree.MustParsePath("rows"), "{"+update.String()[1:]+"}", tree.Strict)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Write(t.Context(), Write{Caller: Admin, Update: u, Merge: true, Base: tree.MustParsePath("rows")}); err != nil {
		t.Fatal(err)
	}
	want(t, db, "/rows", "{"+after.String()+`"other":5}`)
}
