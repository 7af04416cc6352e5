package dogwood_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// Many clients write, are denied, change their minds about what they follow, go
// offline and come back. In the end what each of them shows is what there is, and
// the events that led there fit together.
func TestClientsAgree(t *testing.T) {
	for seed := range tier.Pick[uint64](4, 8, 15) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			db := open(t)
			want(t, db.SetRules(t.Context(), `{"rules":{".read":true,"list":{".indexOn":"n","$key":{".write":true,".validate":"newData.val() !== 'bad'"}},"sum":{".write":true}}}`))
			want(t, db.Ref("list").Set(t.Context(), raw(`{"k0":{"n":1},"z":{"n":2,"state":"begun"}}`)))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var writers, listeners sync.WaitGroup
			counted := make([]int, 3)
			for i := range counted {
				c, err := db.As(map[string]any{"uid": fmt.Sprint(i)})
				want(t, err)
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				for _, q := range windows(c.Ref("list")) {
					listeners.Go(func() { followToTheEnd(ctx, t, q) })
				}
				writers.Go(func() { counted[i] = randomOperations(ctx, t, c, rnd) })
			}
			writers.Wait()
			want(t, db.Ref("list/z/state").Set(ctx, "done"))
			listeners.Wait()
			if got, err := dogwood.Get[int](ctx, db.Ref("sum")); err != nil || got != counted[0]+counted[1]+counted[2] {
				t.Errorf("sum = %d, %v, want that of %v", got, err, counted)
			}
		})
	}
}

// windows are queries that all show the last child.
func windows(r dogwood.Ref) []dogwood.Query {
	return []dogwood.Query{
		r.Query, r.OrderByKey().LimitToLast(3), r.OrderByKey().StartAt("k2"), r.OrderByChild("n").EndAt(2),
	}
}

// followToTheEnd follows a query until its events have led to what the server
// has in the end.
func followToTheEnd(ctx context.Context, t *testing.T, q dogwood.Query) {
	got := checkEvents(t, q.Events(ctx), "done")
	end, err := q.Snapshot(ctx)
	if err != nil {
		t.Error(err)
	}
	want := make(map[string]string)
	for key, child := range end.Children() {
		want[key] = child.JSON()
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the events lead to %v, the server has %v", got, want)
	}
}

// randomOperations returns how often it has counted.
func randomOperations(ctx context.Context, t *testing.T, c *dogwood.Client, rnd *rand.Rand) (counted int) {
	key := func() string { return fmt.Sprintf("k%d", rnd.IntN(6)) }
	values := []any{1, "text", map[string]any{"n": 1}, map[string]any{"n": 2, "m": true}, "bad", nil, map[string]any{"n": dogwood.Increment(1)}}
	value := func() any { return values[rnd.IntN(len(values))] }
	var background sync.WaitGroup
	defer background.Wait()
	for range 60 {
		switch rnd.IntN(8) {
		case 0:
			_, err := dogwood.Transaction(ctx, c.Ref("sum"), func(n int) (int, error) { return n + 1, nil })
			if err != nil {
				t.Errorf("transaction: %v", err)
			}
			counted++
		case 1:
			follow, leave := context.WithCancel(ctx)
			for range c.Ref("list").LimitToFirst(1 + rnd.IntN(3)).Values(follow) {
				leave()
			}
			leave()
		case 2:
			c.GoOffline()
			path, v := "list/"+key(), value()
			background.Go(func() { _ = c.Ref(path).Set(ctx, v) }) // it may be denied
			c.GoOnline()
		case 3:
			_ = c.Ref("list").Update(ctx, map[string]any{key(): value(), key() + "/n": rnd.IntN(4)})
		default:
			path, v := "list/"+key(), value()
			background.Go(func() { _ = c.Ref(path).Set(ctx, v) })
		}
	}
	return counted
}
