package ownerstorage_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/ownerstorage"
)

// A table is an SQL table whose rows never go back to a smaller version.
type table struct {
	mu     sync.Mutex
	rows   map[string]ownerstorage.Row
	refuse func(ownerstorage.Row) error // nil: nothing
	calls  int
}

func newTable() *table { return &table{rows: make(map[string]ownerstorage.Row)} }

func (t *table) save(rows []ownerstorage.Row) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	for _, r := range rows { // a transaction: all rows or none
		if t.refuse != nil && t.refuse(r) != nil {
			return t.refuse(r)
		}
	}
	for _, r := range rows {
		if old, ok := t.rows[r.PrimaryKey()]; !ok || r.Version > old.Version {
			t.rows[r.PrimaryKey()] = r
		}
	}
	return nil
}

// wantEqual wants each row to be as its field is in the tree, and no marks.
func (t *table) wantEqual(test *testing.T, db modeltest.DB, keys ...string) {
	test.Helper()
	for _, key := range keys {
		at := "game1/s1/" + strings.ReplaceAll(key, ":", "/")
		live, err := db.Ref("store/" + at).Snapshot(ctx)
		want(test, err)
		last, err := db.Ref("deleted/" + at + "/value").Snapshot(ctx)
		want(test, err)
		value := live.Value()
		if !live.Exists() {
			value = last.Value()
		}
		if r := t.rows[key]; r.Value != value || r.Deleted == live.Exists() {
			test.Errorf("SQL has %s = %v (deleted: %v), the tree %v (deleted: %v)", key, r.Value, r.Deleted, value, !live.Exists())
		}
	}
	dirty, err := db.Ref("dirty/game1/s1").Snapshot(ctx)
	if err != nil || dirty.Exists() {
		test.Errorf("marks are left: %s, %v", dirty, err)
	}
}

func newLander(db modeltest.DB) *ownerstorage.Storage {
	return ownerstorage.New(db.As("svc-landing", service, map[string]any{"landing": true}), "game1", "s1")
}

func newGame(db modeltest.DB) *ownerstorage.Storage {
	return ownerstorage.New(db.As("svc-game", service), "game1", "s1")
}

// set sets a field of a player.
func set(t *testing.T, game *ownerstorage.Storage, key string, value any) {
	t.Helper()
	want(t, game.Update(ctx, "player", "p1", map[string]any{key: value}))
}

// A lander that stalls in save leaves SQL as another one has landed it meanwhile,
// and takes no marks away.
func TestStalledLander(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, a, b, sql := newGame(db), newLander(db), newLander(db), newTable()
	set(t, game, "level", 1)
	n, err := a.Land(ctx, 10, func(rows []ownerstorage.Row) error {
		set(t, game, "level", 2)
		want(t, db.Ref("landing/game1/s1/at").Set(ctx, 1)) // it was renewed long ago
		if n, err := b.Land(ctx, 10, sql.save); n != 1 || err != nil {
			t.Errorf("the other one landed %d, %v", n, err)
		}
		set(t, game, "nick", "Li")
		return sql.save(rows)
	})
	if n != 0 || !errors.Is(err, ownerstorage.ErrLeaseLost) {
		t.Errorf("landed %d, %v, want %v", n, err, ownerstorage.ErrLeaseLost)
	}
	if level := sql.rows["player:p1:level"].Value; level != 2.0 {
		t.Errorf("SQL has level %v, want 2", level)
	}
	if n, err := b.Land(ctx, 10, sql.save); n != 1 || err != nil {
		t.Errorf("landed %d, %v, want the nick", n, err)
	}
	sql.wantEqual(t, db, "player:p1:level", "player:p1:nick")
}

// A lander that has lost its lease takes no mark away, though nothing has changed.
func TestLostLease(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, a, b, sql := newGame(db), newLander(db), newLander(db), newTable()
	set(t, game, "level", 1)
	down := errors.New("down")
	_, err := a.Land(ctx, 10, func(rows []ownerstorage.Row) error {
		want(t, db.Ref("landing/game1/s1/at").Set(ctx, 1))
		if _, err := b.Land(ctx, 10, func([]ownerstorage.Row) error { return down }); !errors.Is(err, down) {
			t.Errorf("err = %v, want %v", err, down)
		}
		return nil
	})
	if !errors.Is(err, ownerstorage.ErrLeaseLost) {
		t.Errorf("err = %v, want %v", err, ownerstorage.ErrLeaseLost)
	}
	if n, err := b.Land(ctx, 10, sql.save); n != 1 || err != nil {
		t.Errorf("landed %d, %v, want the level", n, err)
	}
	sql.wantEqual(t, db, "player:p1:level")
}

// While one lander works, another is told which one and until when.
func TestSecondLander(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, a, b, sql := newGame(db), newLander(db), newLander(db), newTable()
	set(t, game, "level", 1)
	n, err := a.Land(ctx, 10, func(rows []ownerstorage.Row) error {
		for _, other := range []*ownerstorage.Storage{a, b} {
			var held *ownerstorage.HeldError
			_, err := other.Land(ctx, 10, sql.save)
			if !errors.As(err, &held) || held.Holder == "" || held.Until.Before(time.UnixMilli(1_700_000_000_000)) {
				t.Errorf("err = %v, want a HeldError", err)
			}
			if _, err := other.Replay(ctx, 10, sql.save); !errors.As(err, &held) {
				t.Errorf("replay: err = %v, want a HeldError", err)
			}
		}
		return nil
	})
	if n != 1 || err != nil || sql.calls != 0 {
		t.Errorf("landed %d, %v; the others saved %d times", n, err, sql.calls)
	}
}

// A lease is renewed while save works, but not for ever.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := modeltest.Open("owner-storage")
		defer db.Close()
		game, a, b, sql := newGame(db), newLander(db), newLander(db), newTable()
		set(t, game, "level", 1)
		_, err := a.Land(ctx, 10, func(rows []ownerstorage.Row) error {
			time.Sleep(4 * time.Minute)
			var held *ownerstorage.HeldError
			if _, err := b.Land(ctx, 10, sql.save); !errors.As(err, &held) {
				t.Errorf("after 4 minutes: err = %v, want a HeldError", err)
			}
			time.Sleep(2 * time.Minute)
			set(t, game, "level", 2)
			if n, err := b.Land(ctx, 10, sql.save); n != 1 || err != nil {
				t.Errorf("after 6 minutes: landed %d, %v", n, err)
			}
			return sql.save(rows)
		})
		if !errors.Is(err, ownerstorage.ErrLeaseLost) {
			t.Errorf("err = %v, want %v", err, ownerstorage.ErrLeaseLost)
		}
		sql.wantEqual(t, db, "player:p1:level")
	})
}

// The lease of a lander that ends without giving it up is free at once.
func TestLanderEnds(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, b, sql := newGame(db), newLander(db), newTable()
	client := db.As("svc-landing", service, map[string]any{"landing": true})
	set(t, game, "level", 1)
	_, err := ownerstorage.New(client, "game1", "s1").Land(ctx, 10, func([]ownerstorage.Row) error { return client.Close() })
	if !errors.Is(err, dogwood.ErrClosed) {
		t.Errorf("err = %v, want %v", err, dogwood.ErrClosed)
	}
	for at := range db.Ref("landing/game1/s1/for").Values(ctx) {
		if at.Value() == 0.0 {
			break
		}
	}
	if n, err := b.Land(ctx, 10, sql.save); n != 1 || err != nil {
		t.Errorf("landed %d, %v", n, err)
	}
}

// Versions grow, though the clock stands still or goes back, or the lease is removed.
func TestVersions(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, lander := newGame(db), newLander(db)
	var last int64
	for i := range 6 {
		set(t, game, "level", i)
		switch i {
		case 1: // the clock was ahead
			want(t, db.Ref("landing/game1/s1/version").Set(ctx, last+1e9))
			last += 1e9
		case 3: // and the lease is from then
			want(t, db.Ref("landing/game1/s1/at").Set(ctx, last))
		case 5:
			last -= 1e9 // what was saved with the clock ahead has to be removed by hand
			want(t, db.Ref("landing").Remove(ctx))
		}
		_, err := lander.Land(ctx, 1, func(rows []ownerstorage.Row) error {
			if v := rows[0].Version; v <= last {
				t.Errorf("%d: version %d after %d", i, v, last)
			} else if i < 5 {
				last = v
			}
			return nil
		})
		want(t, err)
	}
}

// The last version may be ahead of the clock at one try and behind it at the next.
func TestVersionNearClock(t *testing.T) {
	for ahead := range int64(12) {
		var now atomic.Int64
		now.Store(1_700_000_000_000)
		db := modeltest.OpenAt("owner-storage", func() time.Time { return time.UnixMilli(now.Add(1)) })
		game, lander := newGame(db), newLander(db)
		set(t, game, "level", 1)
		version := now.Load() + ahead
		want(t, db.Ref("landing/game1/s1").Set(ctx, map[string]any{"holder": "a", "at": 1, "for": 0, "version": version}))
		n, err := lander.Land(ctx, 1, func(rows []ownerstorage.Row) error {
			if v := rows[0].Version; v <= version {
				t.Errorf("%d: version %d after %d", ahead, v, version)
			}
			return nil
		})
		if n != 1 || err != nil {
			t.Errorf("%d: landed %d, %v", ahead, n, err)
		}
		db.Close()
	}
}

// A row that fails alone is moved to the errors and stops no other; it is landed
// when it changes, or replayed.
func TestBadRow(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, lander, sql := newGame(db), newLander(db), newTable()
	bad := errors.New(strings.Repeat("ä", 1000))
	sql.refuse = func(r ownerstorage.Row) error {
		if strings.HasPrefix(fmt.Sprint(r.Value), "bad") {
			return bad
		}
		return nil
	}
	for i, key := range []string{"a", "b", "c"} {
		set(t, game, key, []any{"bad", 1, "bad too"}[i])
	}
	n, err := lander.Land(ctx, 10, sql.save)
	var row *ownerstorage.RowError
	if n != 1 || !errors.As(err, &row) || row.Row.Key != "a" || !errors.Is(err, bad) {
		t.Fatalf("landed %d, %.100s, want 1 and the rows that were refused", n, err)
	}
	failed, err := lander.Failed(ctx, 10)
	if err != nil || len(failed) != 2 || failed[0].Tries != 1 || len(failed[0].Reason) != 500 || failed[0].Version != row.Row.Version || !failed[0].Changed.Equal(row.Row.Changed.Time) {
		t.Fatalf("failed: %+v, %v", failed, err)
	}
	if n, err := lander.Land(ctx, 10, sql.save); n != 0 || err != nil {
		t.Errorf("landed %d, %v, want nothing", n, err)
	}
	set(t, game, "a", "good")
	if n, err := lander.Land(ctx, 10, sql.save); n != 1 || err != nil {
		t.Errorf("landed %d, %v, want what has changed", n, err)
	}
	if n, err := lander.Replay(ctx, 10, sql.save); n != 1 || !errors.Is(err, bad) {
		t.Errorf("replayed %d, %.100v, want a, but not c", n, err)
	}
	failed, err = lander.Failed(ctx, 10)
	if err != nil || len(failed) != 1 || failed[0].Key != "c" || failed[0].Tries != 2 {
		t.Errorf("failed: %+v, %v, want c after two tries", failed, err)
	}
	sql.refuse = nil
	if n, err := lander.Replay(ctx, 10, sql.save); n != 1 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	if failed, err = lander.Failed(ctx, 10); err != nil || len(failed) != 0 {
		t.Errorf("failed: %+v, %v, want none", failed, err)
	}
	sql.wantEqual(t, db, "player:p1:a", "player:p1:b", "player:p1:c")
}

// Bad rows that fill the batch do not stop those behind them.
func TestBadRowsFirst(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, lander, sql := newGame(db), newLander(db), newTable()
	bad := errors.New("bad")
	sql.refuse = func(r ownerstorage.Row) error {
		if r.Value == "bad" {
			return bad
		}
		return nil
	}
	set(t, game, "a", "bad")
	time.Sleep(2 * time.Millisecond) // so that its mark is the first
	if n, err := lander.Land(ctx, 1, sql.save); n != 0 || !errors.Is(err, bad) {
		t.Errorf("landed %d, %v, want %v", n, err, bad)
	}
	if failed, err := lander.Failed(ctx, 1); err != nil || len(failed) != 0 {
		t.Errorf("failed: %+v, %v: nothing tells it from an outage", failed, err)
	}
	set(t, game, "b", 1)
	if n, err := lander.Land(ctx, 1, sql.save); n != 1 || !errors.Is(err, bad) {
		t.Errorf("landed %d, %v, want b", n, err)
	}
	if failed, err := lander.Failed(ctx, 1); err != nil || len(failed) != 1 || failed[0].Key != "a" {
		t.Errorf("failed: %+v, %v, want a", failed, err)
	}
}

// While SQL is down, nothing is moved; also if it goes down between two rows.
func TestSQLDown(t *testing.T) {
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, lander, sql := newGame(db), newLander(db), newTable()
	down := errors.New("down")
	for i := range 4 {
		set(t, game, fmt.Sprintf("f%d", i), i)
	}
	for saves := range 4 { // that come before the outage, after the first one, of the batch
		sql.calls = 0
		sql.refuse = func(ownerstorage.Row) error {
			if sql.calls == 1 || sql.calls > 1+saves {
				return down
			}
			return nil
		}
		if saves == 3 {
			set(t, game, "f0", 5)
			set(t, game, "f1", 5)
			set(t, game, "f2", 5)
		}
		_, err := lander.Land(ctx, 10, sql.save)
		if !errors.Is(err, down) {
			t.Errorf("%d: err = %v, want %v", saves, err, down)
		}
		if failed, err := lander.Failed(ctx, 10); err != nil || len(failed) != 0 {
			t.Errorf("%d: failed: %+v, %v, want none", saves, failed, err)
		}
	}
	sql.refuse = nil
	for {
		n, err := lander.Land(ctx, 10, sql.save)
		want(t, err)
		if n == 0 {
			break
		}
	}
	sql.wantEqual(t, db, "player:p1:f0", "player:p1:f1", "player:p1:f2", "player:p1:f3")
}

// Landers that race, stall, lose the lease and end at any moment, rows that are
// refused and changes at the same time: in the end SQL equals the tree.
func TestLandersRace(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { landersRace(t, seed) })
	}
}

func landersRace(t *testing.T, seed uint64) {
	const landers, passes, changes = 3, 15, 60
	db := modeltest.Open("owner-storage")
	defer db.Close()
	game, sql := newGame(db), newTable()
	flaky := func(rnd *rand.Rand) func([]ownerstorage.Row) error {
		return func(rows []ownerstorage.Row) error {
			switch rnd.IntN(6) {
			case 0:
				return errors.New("refused")
			case 1: // stalls, and another one takes over
				want(t, db.Ref("landing/game1/s1/at").Set(ctx, 1))
				time.Sleep(time.Duration(rnd.IntN(10)) * time.Millisecond)
			case 2: // saves, and does not know it
				return errors.Join(sql.save(rows), errors.New("the connection was lost"))
			}
			return sql.save(rows)
		}
	}
	var all sync.WaitGroup
	all.Go(func() {
		rnd := rand.New(rand.NewPCG(seed, 0))
		for i := range changes {
			if key := fmt.Sprintf("f%d", rnd.IntN(5)); rnd.IntN(4) == 0 {
				want(t, game.RemoveKeys(ctx, "player", "p1", key))
			} else {
				want(t, game.Update(ctx, "player", "p1", map[string]any{key: i}))
			}
		}
	})
	for l := range uint64(landers) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, l+1))
			for range passes {
				c := db.As("svc-landing", service, map[string]any{"landing": true})
				ctx, cancel := context.WithCancel(ctx)
				if rnd.IntN(2) == 0 { // ends between any two steps
					time.AfterFunc(time.Duration(rnd.IntN(8000))*time.Microsecond, func() { _ = c.Close() })
				}
				s := ownerstorage.New(c, "game1", "s1")
				_, _ = s.Land(ctx, 1+rnd.IntN(4), flaky(rnd))
				_, _ = s.Replay(ctx, 1+rnd.IntN(4), flaky(rnd))
				cancel()
				_ = c.Close()
			}
		})
	}
	all.Wait()
	want(t, db.Ref("landing").Remove(ctx))
	lander := newLander(db)
	for range 2 { // what is replayed may be older than what is landed, and the other way round
		for _, land := range []func(context.Context, int, func([]ownerstorage.Row) error) (int, error){lander.Land, lander.Replay} {
			_, err := land(ctx, 100, sql.save)
			want(t, err)
		}
	}
	var keys []string
	for key := range sql.rows {
		keys = append(keys, key)
	}
	fields, err := game.GetAll(ctx, "player", "p1")
	want(t, err)
	for key := range fields {
		keys = append(keys, "player:p1:"+key)
	}
	sql.wantEqual(t, db, keys...)
}
