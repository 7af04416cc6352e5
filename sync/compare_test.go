package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/tree"
)

// largeValue returns an object of about size bytes in strings of 1 KiB, in many rows.
func largeValue(size int) string {
	var b strings.Builder
	for i := range size >> 10 {
		fmt.Fprintf(&b, `,"k%05d":"%s"`, i, strings.Repeat("x", 1<<10))
	}
	return "{" + b.String()[1:] + "}"
}

// rowsReadBy returns how many rows the committer reads while f runs.
func rowsReadBy(db *Database, f func()) int {
	rows := func() int {
		db.audience.Lock()
		defer db.audience.Unlock()
		return db.rowsRead
	}
	before := rows()
	f()
	return rows() - before
}

// TestHashGuesses: the committer does not read a large value that is guessed at,
// whatever the outcome is.
func TestHashGuesses(t *testing.T) {
	tier.Unraced(t)
	tier.Need(t, tier.Full)
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".read":true,"mine":{".write":true}}}`)})
	for _, size := range tier.Pick(nil, []int{40 << 10, 3 << 20}, []int{40 << 10, 3 << 20, 14 << 20}) {
		set(t, db, "/large", largeValue(size))
		for _, caller := range []Caller{{}, Admin} {
			rows := rowsReadBy(db, func() { guess(t, db, caller, size) })
			if rows > 600 { // a few for each of 60 guesses, not one for each KiB
				t.Errorf("%d guesses at %d bytes have the committer read %d rows", 60, size, rows)
			}
		}
	}
}

// answers returns what a client is sent until all its writes are answered.
func answers(c *client) string {
	c.settle()
	return strings.Join(c.frames(), "\n")
}

func guess(t *testing.T, db *Database, caller Caller, size int) {
	c := connect(t, db, fmt.Sprint("guesser", size, caller.Admin), 0)
	defer c.session.Close()
	c.session.caller.Store(&caller)
	want, status := error(&fault.StaleError{}), "datastale"
	if int64(size) > db.mostCompared(caller) {
		want, status = fault.ErrTooBig, "too_big"
	}
	for i := range 30 {
		c.send(fmt.Sprintf(`{"r":%d,"a":"p","b":{"p":"/large","d":1,"h":"wrong%d"}}`, i, i))
		if got := answers(c); !strings.Contains(got, status) {
			t.Fatalf("guess at %d bytes: %s, want %s", size, got, status)
		}
	}
	for i := range 30 {
		w, hash := putOf(t, "/large", "1"), fmt.Sprint("wrong", i)
		w.Caller, w.If = caller, &hash
		_, err := db.Write(t.Context(), w)
		stale := (*fault.StaleError)(nil)
		switch {
		case errors.As(err, &stale) && errors.As(want, &stale):
		case want == fault.ErrTooBig && errors.Is(err, fault.ErrTooBig):
		default:
			t.Fatalf("guess at %d bytes: %v, want %v", size, err, want)
		}
	}
}

// TestGuessesAreRemembered: a value is hashed once for many conditions, until a write
// may have changed it.
func TestGuessesAreRemembered(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	db := openTest(t, Options{})
	for _, size := range []int{4 << 10, 40 << 10} { // hashed in the committer; outside
		set(t, db, "/a", `{"b":{"c":`+largeValue(size)+`},"beside":1}`)
		p := tree.MustParsePath("a/b/c")
		known := func() *fingerprint.Fingerprint {
			db.audience.Lock()
			defer db.audience.Unlock()
			return db.hashes.Find(p)
		}
		ask := func() *fingerprint.Fingerprint {
			t.Helper()
			hash := "wrong"
			w := putOf(t, "/a/b/c", "1")
			w.If = &hash
			stale := (*fault.StaleError)(nil)
			if _, err := db.Write(t.Context(), w); !errors.As(err, &stale) {
				t.Fatalf("Write() = %v, want a StaleError", err)
			}
			if stale.Current.JSON() != get(t, db, "/a/b/c") {
				t.Errorf("the error has %.40s", stale.Current.JSON())
			}
			return known()
		}
		first := ask()
		set(t, db, "/a/beside", "2")
		if first == nil || ask() != first {
			t.Fatal("a value is hashed again that no write has touched")
		}
		for _, at := range []string{"/a/b/c/k00001", "/a/b/c/k00001/.priority", "/a/b/c/.priority", "/a/b/c/new"} {
			set(t, db, at, "7")
			if known() != nil {
				t.Fatalf("a write at %s leaves the hash", at)
			}
			ask()
		}
		for _, at := range []string{"/a/b", "/a", "/"} {
			set(t, db, at, strings.Replace(get(t, db, at), "xx", "xy", 1))
			if known() != nil {
				t.Fatalf("a write at %s leaves the hash", at)
			}
			ask()
		}
		if _, err := db.Import(t.Context(), tree.MustParsePath("a/b"), strings.NewReader(`{"c":`+largeValue(1<<20)+`}`), nil); err != nil {
			t.Fatal(err)
		}
		if known() != nil {
			t.Fatal("an import leaves the hash")
		}
	}
}

// TestHashOfABatchThatFails: what was hashed in a transaction that is rolled back is
// forgotten.
func TestHashOfABatchThatFails(t *testing.T) {
	db := openTest(t, Options{})
	b := &batch{Batch: audience.Batch{Audience: db.audience}, db: db.core, hashes: &db.hashes}
	f := &fingerprint.Fingerprint{Path: tree.MustParsePath("a")}
	b.remember(f)
	b.Rollback()
	if db.hashes.Find(f.Path) != nil {
		t.Error("the fingerprint is still known")
	}
}

// TestLargeConditionInOrder: a put with a hash of a large value comes after the writes
// that its client sent before it, and before those that it sent after it.
func TestLargeConditionInOrder(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	large := largeValue(100 << 10)
	hash := putOf(t, "/x", large).Update[0].Value
	n, _ := hash.Node()
	c.send(`{"r":1,"a":"p","b":{"p":"/x","d":` + large + `}}`)
	c.send(`{"r":2,"a":"p","b":{"p":"/x/then","d":"in order","h":"` + tree.Empty.Hash() + `"}}`)
	c.send(`{"r":3,"a":"p","b":{"p":"/x/then","d":null}}`)
	c.send(`{"r":4,"a":"p","b":{"p":"/x","d":{"second":true},"h":"` + n.Hash() + `"}}`)
	c.send(`{"r":5,"a":"p","b":{"p":"/x/third","d":true}}`)
	if got := answers(c); strings.Count(got, `"s":"ok"`) != 5 {
		t.Fatal(got)
	}
	want(t, db, "/x", `{"second":true,"third":true}`)
}

// TestLargeTransactions: clients that count in one large value at once lose nothing,
// and all of them come to an end while others write beside and above it.
func TestLargeTransactions(t *testing.T) {
	db := openTest(t, Options{})
	db.batchTime = minBatchTime
	set(t, db, "/x", `{"n":0,"pad":"`+strings.Repeat("x", 40<<10)+`"}`)
	const clients, each = 4, 20
	ctx, cancel := context.WithCancel(t.Context())
	var noise, all sync.WaitGroup
	noise.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			set(t, db, "/beside", fmt.Sprint(i))
		}
	})
	for range clients {
		all.Go(func() {
			for range each {
				addOne(t, db, "/x")
			}
		})
	}
	all.Wait()
	cancel()
	noise.Wait()
	want(t, db, "/x/n", fmt.Sprint(clients*each))
}

// addOne is a transaction that adds one to the n of an object.
func addOne(t *testing.T, db *Database, path string) {
	p := tree.MustParsePath(path)
	for {
		old, err := db.Get(t.Context(), Read{Caller: Admin, Path: p, Plain: true})
		if err != nil {
			t.Error(err)
			return
		}
		n, _ := old.Get(tree.MustParsePath("n")).NumberValue()
		hash := old.Hash()
		next := tree.DraftOf(old.With(tree.MustParsePath("n"), tree.Number(n+1)))
		_, err = db.Write(t.Context(), Write{
			Caller: Admin,
			Update: tree.Update{{Target: tree.Target{Path: p}, Value: next}},
			Base:   p,
			If:     &hash,
		})
		if err == nil {
			return
		}
		if !errors.As(err, new(*fault.StaleError)) {
			t.Error(err)
			return
		}
	}
}

// TestIncrementBesideALongString: an increment does not have the committer read the
// long string that it replaces.
func TestIncrementBesideALongString(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	set(t, db, "/a", `{".value":"`+strings.Repeat("x", 8<<20)+`",".priority":3}`)
	rows := rowsReadBy(db, func() { set(t, db, "/a", `{".sv":{"increment":7}}`) })
	if rows > 20 {
		t.Errorf("the committer reads %d rows", rows)
	}
	want(t, db, "/a", "7")
}
