package sync

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// ifValue returns a large write to /x that depends on the value there being as given.
func ifValue(t *testing.T, old, value string) Write {
	t.Helper()
	n, ok := putOf(t, "/x", old).Update[0].Value.Node()
	if !ok {
		t.Fatalf("%.40s has server values", old)
	}
	hash := n.Hash()
	w := asUser(putOf(t, "/x", value))
	w.If = &hash
	return w
}

// TestLargeCondition: the condition of a large write is checked before its values are
// stored, and a large write drops the hashes that were remembered.
func TestLargeCondition(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	first, second := manyValues(largeValues), manyValues(largeValues+1)
	w := ifValue(t, "null", first)
	if _, err := db.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	rows := rowsReadBy(db, func() {
		if _, err := db.Write(t.Context(), ifValue(t, first, second)); err != nil {
			t.Fatal(err)
		}
	})
	if rows > 600 {
		t.Errorf("the committer reads %d rows", rows)
	}
	before := db.Stats().Writes
	for range 2 {
		_, err := db.Write(t.Context(), ifValue(t, first, first))
		if stale := (*fault.StaleError)(nil); !errors.As(err, &stale) || stale.Current.JSON() != second {
			t.Fatalf("Write() = %v, want a StaleError with the value", err)
		}
	}
	if n := db.Stats().Writes - before; n != 2 {
		t.Errorf("%d tasks for two writes whose condition fails, want 2", n)
	}
	checkAudience(t, db)
	want(t, db, "/x", second)
}

// TestLargeConditionIsCurrent: the condition of a large write holds in the state that
// the write is committed in.
func TestLargeConditionIsCurrent(t *testing.T) {
	old := manyValues(largeValues)
	for _, before := range []string{"1", old} {
		p := newPause()
		db := openTest(t, Options{Now: p.now})
		set(t, db, "/x", before)
		w := ifValue(t, before, manyValues(largeValues+1))
		err := p.during(t, db, w, func() error { set(t, db, "/x/k0000000", "7"); return nil })
		if !errors.As(err, new(*fault.StaleError)) {
			t.Errorf("Write() = %v, want a StaleError", err)
		}
		want(t, db, "/x/k0000000", "7")
		want(t, db, fmt.Sprintf("/x/k%07d", largeValues), "null")
	}
}

// TestLargeConditionNeedsRead: a large write with a condition needs the permission to
// read, before anything else is said.
func TestLargeConditionNeedsRead(t *testing.T) {
	tier.Unraced(t)
	value := manyValues(largeValues)
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".write":true}}`)})
	set(t, db, "/x", value)
	before := db.Stats().Writes
	for _, old := range []string{value, "1", "null"} {
		if _, err := db.Write(t.Context(), ifValue(t, old, value)); !errors.Is(err, fault.ErrDenied) {
			t.Errorf("Write() = %v, want %v", err, fault.ErrDenied)
		}
	}
	if n := db.Stats().Writes - before; n != 3 {
		t.Errorf("%d tasks for three refused writes, want 3", n)
	}
}

// TestLargeWriteOnce: a large write that was carried out is not refused when it is sent
// again, even if the rules would refuse another one.
func TestLargeWriteOnce(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".read":true,".write":"!data.exists()"}}`)})
	w := asUser(putOf(t, "/x", manyValues(largeValues)))
	w.ID = &store.WriteID{Writer: [16]byte{1}, Number: 1}
	for range 2 {
		if _, err := db.Write(t.Context(), w); err != nil {
			t.Fatalf("Write() = %v", err)
		}
	}
	w.ID = &store.WriteID{Writer: [16]byte{1}, Number: 2}
	if _, err := db.Write(t.Context(), w); !errors.Is(err, fault.ErrDenied) {
		t.Errorf("Write() = %v, want %v", err, fault.ErrDenied)
	}
}

// TestLargeUnknown: the outcome of a large write is that of its link. A slice of unknown
// outcome is not a part of the tree.
func TestLargeUnknown(t *testing.T) {
	db := openTest(t, Options{Change: unknownLog{}})
	if _, err := db.Write(t.Context(), asUser(putOf(t, "/x", manyValues(largeValues)))); !errors.Is(err, fault.ErrUnknown) {
		t.Errorf("Write() = %v, want %v", err, fault.ErrUnknown)
	}
	slice := fmt.Errorf("%w: %w", store.ErrNotStored, fault.Unavailable(store.ErrUnknown))
	if err := loadError(slice); errors.Is(err, fault.ErrUnknown) || !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("error of a slice = %v, want %v", err, fault.ErrUnavailable)
	}
}

func (m *testMemory) held(all int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return all - m.free
}

// TestLargeMemory: a large write of a session holds its memory until it is carried out.
func TestLargeMemory(t *testing.T) {
	p := newPause()
	db := openTest(t, Options{Now: p.now})
	const all = 1 << 30
	m := &testMemory{free: all, most: all}
	c := connect(t, db, "c", 64<<20)
	c.session.memory = m
	p.armed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.send(`{"r":1,"a":"p","b":{"p":"/x","d":` + manyValues(largeValues) + `}}`)
	}()
	<-p.reached
	if m.held(all) == 0 {
		t.Error("no memory is reserved while the write is decided")
	}
	close(p.resume)
	<-done
	if n := m.held(all); n != 0 {
		t.Errorf("%d bytes are still reserved", n)
	}
	want(t, db, "/x/k0000007", tree.Number(7).JSON())
}
