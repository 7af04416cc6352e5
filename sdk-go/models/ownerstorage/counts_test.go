package ownerstorage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/ownerstorage"
)

var landing = map[string]any{"service": true, "landing": true, "appId": "game1", "regionId": "s1"}

func ExampleStorage_Owners() {
	db := modeltest.OpenDeclared("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	check(game.RemoveKeys(ctx, "player", "p1002", "level", "gold"))
	check(game.Update(ctx, "player", "p1003", map[string]any{"level": 1}))
	for owner, err := range game.Owners(ctx, "player") {
		check(err)
		fmt.Println(owner.Key, owner.Fields)
	}
	// Output:
	// p1001 4
	// p1003 1
}

func ExampleStorage_Backlog() {
	db := modeltest.OpenDeclared("owner-storage")
	defer db.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	check(game.Update(ctx, "player", "p1001", map[string]any{"level": 13, "gold": 1}))
	for b, err := range game.Backlog(ctx) {
		check(err)
		fmt.Println(b.Waiting, b.Refused)
		break
	}
	// Output: 2 0
}

// backlog returns what the landing has to do now.
func backlog(t *testing.T, s *ownerstorage.Storage) ownerstorage.Backlog {
	t.Helper()
	for b, err := range s.Backlog(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return ownerstorage.Backlog{}
}

// The backlog falls as fields land, and the rows that SQL refuses are counted apart.
func TestBacklog(t *testing.T) {
	db := modeltest.OpenDeclared("owner-storage")
	defer db.Close()
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	lander := ownerstorage.New(db.As("svc-landing", landing), "game1", "s1")
	check(game.Update(ctx, "player", "p1001", map[string]any{"level": 13, "gold": 1, "nick": "Li Lei"}))
	if b := backlog(t, game); b != (ownerstorage.Backlog{Waiting: 3}) {
		t.Errorf("after a change of three fields: %+v", b)
	}
	bad := errors.New("a bad row")
	save := func(rows []ownerstorage.Row) error {
		for _, row := range rows {
			if row.Key == "nick" {
				return &ownerstorage.RowError{Row: row, Err: bad}
			}
		}
		return nil
	}
	if n, err := lander.Land(ctx, 10, save); n != 2 || !errors.Is(err, bad) {
		t.Fatalf("landed %d, %v", n, err)
	}
	if b := backlog(t, game); b != (ownerstorage.Backlog{Refused: 1}) {
		t.Errorf("after the landing: %+v", b)
	}
	if n, err := lander.Replay(ctx, 10, func([]ownerstorage.Row) error { return nil }); n != 1 || err != nil {
		t.Fatalf("replayed %d, %v", n, err)
	}
	if b := backlog(t, game); b != (ownerstorage.Backlog{}) {
		t.Errorf("after the replay: %+v", b)
	}
}

// Owners are read in pages, and one with too many fields gets no more of them.
func TestOwners(t *testing.T) {
	db := modeltest.OpenDeclared("owner-storage")
	defer db.Close()
	const n = 2000 // two full pages
	npcs, fields := make(map[string]map[string]int), make(map[string]int)
	for i := range n {
		npcs[fmt.Sprintf("n%05d", i)] = map[string]int{"level": 1}
	}
	for i := range 1000 {
		fields[fmt.Sprint("f", i)] = i
	}
	check(db.Ref("store/game1/s1/npc").Set(ctx, npcs))
	check(db.Ref("store/game1/s1/player/p1001").Set(ctx, fields))
	game := ownerstorage.New(db.As("svc-game", service), "game1", "s1")
	seen := 0
	for owner, err := range game.Owners(ctx, "npc") {
		check(err)
		if want := fmt.Sprintf("n%05d", seen); owner.Key != want || owner.Fields != 1 {
			t.Fatalf("owner %v, want %s", owner, want)
		}
		seen++
	}
	if seen != n {
		t.Errorf("%d owners, want %d", seen, n)
	}
	if err := game.Update(ctx, "player", "p1001", map[string]any{"one more": 1}); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("one field too many: err = %v", err)
	}
	check(game.Update(ctx, "player", "p1001", map[string]any{"f1": 7}))
	check(game.RemoveKeys(ctx, "player", "p1001", "f2"))
	check(game.Update(ctx, "player", "p1001", map[string]any{"another": 1}))
}
