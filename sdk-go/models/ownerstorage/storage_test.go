package ownerstorage_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/ownerstorage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func want(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A removed value can be removed again, and comes back when it is set.
func TestRemoveAndSet(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	for _, remove := range []bool{true, true, false, true} {
		if remove {
			want(t, game.RemoveKeys(ctx, "player", "p1001", "gold"))
		} else {
			want(t, game.Update(ctx, "player", "p1001", map[string]any{"gold": 7}))
		}
		v, err := game.Get(ctx, "player", "p1001", "gold")
		want(t, err)
		if v != nil == remove {
			t.Errorf("gold = %v, removed = %v", v, remove)
		}
	}
	last, err := dogwood.Get[float64](ctx, db.Ref("deleted/game1/s1/player/p1001/gold/value"))
	if err != nil || last != 7 {
		t.Errorf("the tombstone has %v, %v", last, err)
	}
}

// A write without permission is denied, and an update of a field while it is landed leaves
// its mark.
func TestLandAndDeny(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	elsewhere := ownerstorage.New(db.As("svc-game", service), "game1", "s2")
	if err := elsewhere.Update(ctx, "player", "p1", map[string]any{"level": 1}); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("update in another region: %v", err)
	}
	want(t, game.Update(ctx, "player", "p1001", map[string]any{"level": 13, "nick": "Lei"}))
	lander := ownerstorage.New(db.As("svc-landing", service, map[string]any{"landing": true}), "game1", "s1")
	failing := errors.New("no database")
	if _, err := lander.Land(ctx, 10, func([]ownerstorage.Row) error { return failing }); !errors.Is(err, failing) {
		t.Errorf("err = %v, want %v", err, failing)
	}
	n, err := lander.Land(ctx, 10, func([]ownerstorage.Row) error {
		return game.Update(ctx, "player", "p1001", map[string]any{"level": 14})
	})
	if err != nil || n != 2 {
		t.Errorf("landed %d, %v", n, err)
	}
	var levels []any
	for range 2 {
		_, err = lander.Land(ctx, 10, func(rows []ownerstorage.Row) error {
			for _, r := range rows {
				levels = append(levels, r.Key, r.Value)
			}
			return nil
		})
		want(t, err)
	}
	if len(levels) != 2 || levels[0] != "level" || levels[1] != 14.0 {
		t.Errorf("landed %v afterwards, want the new level once", levels)
	}
}

// A mark of no field is named and gone, and the others land, even if it fills the
// window of a landing.
func TestStrayMarks(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	want(t, db.Ref("dirty").Remove(ctx))
	want(t, db.Ref("dirty/game1/s1").Set(ctx, map[string]any{
		"level": 1, "player:p1001": 2, "player:p1001:level:x": 3, "player::level": 4, "player:p1001:title": "when",
	}))
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	want(t, game.Update(ctx, "player", "p1001", map[string]any{"level": 13}))
	lander := ownerstorage.New(db.As("svc-landing", service, map[string]any{"landing": true}), "game1", "s1")
	var landed []ownerstorage.Row
	save := func(rows []ownerstorage.Row) error {
		landed = append(landed, rows...)
		return nil
	}
	if n, err := lander.Land(ctx, 2, save); n != 0 || err == nil || !strings.Contains(err.Error(), `"player:p1001" is not of a field`) {
		t.Errorf("landed %d, %v, want an error that names the mark", n, err)
	}
	n, err := lander.Land(ctx, 10, save)
	if n != 1 || len(landed) != 1 || landed[0].Key != "level" {
		t.Errorf("landed %d, %+v, want the level", n, landed)
	}
	for _, stray := range []string{"player:p1001:level:x", "player::level", "player:p1001:title"} {
		if err == nil || !strings.Contains(err.Error(), strconv.Quote(stray)) {
			t.Errorf("err = %v, which does not name %q", err, stray)
		}
	}
	if n, err := lander.Land(ctx, 10, save); n != 0 || err != nil {
		t.Errorf("landed %d, %v afterwards, want nothing", n, err)
	}
}

// Increments that race each return another sum.
func TestIncrementsRace(t *testing.T) {
	const clients, each = 10, 10
	db := modeltest.Open("owner-storage")
	defer db.Close()
	sums := make(chan float64, clients*each)
	var all sync.WaitGroup
	for range clients {
		game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
		all.Go(func() {
			for range each {
				got, err := game.Incr(ctx, "guild", "g77", map[string]float64{"raids": 1})
				if err != nil {
					t.Error(err)
				}
				sums <- got["raids"]
			}
		})
	}
	all.Wait()
	close(sums)
	seen := make(map[float64]bool)
	for sum := range sums {
		seen[sum] = true
	}
	if len(seen) != clients*each || !seen[1] || !seen[clients*each] {
		t.Errorf("%d different sums of %d", len(seen), clients*each)
	}
}
