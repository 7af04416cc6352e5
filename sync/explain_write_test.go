package sync

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/explained"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A gateContext calls reached whenever Err is asked.
type gateContext struct {
	context.Context
	reached func() error
}

func (c gateContext) Err() error { return c.reached() }

// TestExplainedWriteHoldsNothing: while a large write is explained, others commit, both
// while it is decided and while its rows are put.
func TestExplainedWriteHoldsNothing(t *testing.T) {
	for _, at := range []string{"deciding", "putting"} {
		for name, caller := range map[string]Caller{"admin": Admin, "user": {}} {
			t.Run(at+" "+name, func(t *testing.T) { holdExplained(t, at, caller) })
		}
	}
}

func holdExplained(t *testing.T, at string, caller Caller) {
	var armed atomic.Bool
	reached, open := make(chan struct{}), make(chan struct{})
	gate := func() {
		if armed.CompareAndSwap(true, false) {
			close(reached)
			<-open
		}
	}
	ctx, o := t.Context(), Options{File: filepath.Join(t.TempDir(), "a.db")}
	if at == "deciding" {
		o.Now = func() time.Time {
			gate()
			return time.Now()
		}
	} else {
		asked := 0 // in the middle of the value
		ctx = gateContext{ctx, func() error {
			if asked++; asked == 20 {
				gate()
			}
			return nil
		}}
	}
	db := openTest(t, o)
	set(t, db, "/a", "1")
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"q","b":{"p":"/big","h":""}}`)
	w := putOf(t, "/big", "["+strings.Repeat("1,", tier.Pick(50_000, 200_000, 200_000))+"1]")
	w.Caller = caller
	armed.Store(true)
	explained := make(chan error, 1)
	go func() {
		_, err := db.ExplainWrite(ctx, w)
		explained <- err
	}()
	select {
	case <-reached:
	case err := <-explained:
		t.Fatalf("the explanation ended before it came to the gate: %v", err)
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := db.Write(patient, putOf(t, "/a", "2")); err != nil {
		t.Errorf("a write meanwhile: %v", err)
	}
	close(open)
	if err := <-explained; err != nil {
		t.Errorf("explain: %v", err)
	}
	want(t, db, "/", `{"a":2}`)
}

// TestExplainedWriteEnds: the end of the context ends an explanation.
func TestExplainedWriteEnds(t *testing.T) {
	db := openTest(t, Options{})
	asked, gone := 0, errors.New("gone")
	ctx := gateContext{t.Context(), func() error {
		if asked++; asked > 3 {
			return gone
		}
		return nil
	}}
	if e, err := db.ExplainWrite(ctx, putOf(t, "/a", "["+strings.Repeat("1,", 20_000)+"1]")); err != gone {
		t.Errorf("ExplainWrite() = %+v, %v", e, err)
	}
}

const explainedRules = `{"rules":{
  "open":{".read":true,".write":true},
  "m":{".indexOn":"n","$k":{".write":"newData.child('n').isNumber() || !newData.exists()"},".read":"root.child('open/x').val() !== 1"},
  "own":{"$u":{".read":"data.child('by').val() === auth.uid",".write":"!data.exists() || data.child('by').val() === auth.uid"}}
}}`

// TestExplanationsAgree: explanations of random writes are those of a write that is
// carried out in the write transaction, with the listeners themselves, and taken back;
// and what the write then does.
func TestExplanationsAgree(t *testing.T) {
	tier.Unraced(t)
	rs, err := rules.Parse(explainedRules)
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"memory": "", "file": filepath.Join(t.TempDir(), "a.db")} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, Options{Rules: rs, File: file, Now: func() time.Time { return time.UnixMilli(1) }})
			for i := range 6 {
				c := connect(t, db, fmt.Sprint("c", i), 0)
				c.send(`{"r":1,"a":"auth","b":{"cred":"user u` + fmt.Sprint(i%3) + `"}}`)
				c.send(`{"r":2,"a":"q","b":{"p":"/m","h":""}}`)
				c.send(fmt.Sprintf(`{"r":3,"a":"q","b":{"p":"/m","q":{"i":"n","l":%d,"vf":"l"},"t":1,"h":""}}`, 1+i))
				c.send(fmt.Sprintf(`{"r":4,"a":"q","b":{"p":"/own/u%d","h":""}}`, i%3))
				c.send(`{"r":5,"a":"q","b":{"p":"/open/x","h":""}}`)
				c.frames() // now the views are known
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			told, cancelled, refused := 0, 0, 0
			for i := range 400 {
				e, err := agreeOn(t, db, randomWrite(t, rnd, i))
				switch c := e.Cost; {
				case err != nil:
					refused++
				case c != nil:
					told, cancelled = told+c.Listeners, cancelled+c.Cancelled
				}
			}
			if told == 0 || cancelled == 0 || refused == 0 {
				t.Errorf("%d listeners told, %d cancelled, %d writes refused: this tests too little", told, cancelled, refused)
			}
		})
	}
}

func randomWrite(t *testing.T, rnd *rand.Rand, i int) Write {
	t.Helper()
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	u := pick("u0", "u1", "u2")
	w := putOf(t, pick("/open/x", "/open/y", "/open"), pick("1", "2", "null", `{".sv":{"increment":1}}`))
	switch rnd.IntN(5) {
	case 0:
		w = putOf(t, fmt.Sprintf("/m/k%d", rnd.IntN(30)), pick("null", `{"n":`+fmt.Sprint(i%17)+`}`, `{"n":3,"t":"`+strings.Repeat("long ", 300)+`"}`))
	case 1:
		w = updateOf(t, "/m", fmt.Sprintf(`{"k%d":{"n":%d},"l%d/n":%d}`, rnd.IntN(30), i%7, rnd.IntN(9), i%5))
	case 2:
		w = putOf(t, "/own/"+u, pick("null", `{"by":"u0"}`, `{"by":"u1","n":1}`))
	}
	if rnd.IntN(3) == 0 {
		w.Caller = Caller{Auth: rules.Auth{UID: u, JSON: `{"uid":"` + u + `"}`}}
	}
	if rnd.IntN(5) == 0 {
		hash := pick("", tree.Number(1).Hash())
		w.If = &hash
	}
	return w
}

func agreeOn(t *testing.T, db *Database, w Write) (explained.Write, error) {
	t.Helper()
	drained(t, db) // background work would read rows that explainInPlace has forgotten
	want, failed := explainInPlace(t, db, w)
	got, err := db.ExplainWrite(t.Context(), w)
	if fmt.Sprint(err) != fmt.Sprint(failed) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v: %+v %+v %+v %v,\nwant %+v %+v %+v %v", w.Update, got, got.Effect, got.Cost, err, want, want.Effect, want.Cost, failed)
	}
	before := revisionOf(t, db)
	if _, really := db.Write(t.Context(), w); fmt.Sprint(err) != fmt.Sprint(really) {
		t.Fatalf("%v: explained with %v, written with %v", w.Update, err, really)
	}
	if changed := revisionOf(t, db) != before; got.Effect != nil && got.Changes != changed {
		t.Fatalf("%v: changes is %t, want %t", w.Update, got.Changes, changed)
	}
	return got, err
}

// explainInPlace explains a write in the write transaction, as the committer would carry
// it out.
func explainInPlace(t *testing.T, db *Database, w Write) (e explained.Write, err error) {
	t.Helper()
	v := new(access.Verdict)
	w.Caller = w.Caller.Noting(v)
	db.audience.Lock()
	defer db.audience.Unlock()
	for forget := true; ; forget = false { // the rows that the last transaction read
		tx, err := db.store.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		if forget {
			if _, err := tx.Put(tree.MustParsePath("forget"), tree.Bool(true)); err != nil {
				t.Fatal(err)
			}
			tx.Rollback()
			continue
		}
		b := &batch{Batch: audience.Batch{Audience: db.audience, Ctx: t.Context(), Tx: tx, Rules: db.rules.Load(), Apart: true}, db: db.core, hashes: &db.hashes}
		defer tx.Rollback()
		defer b.Rollback()
		err = b.explain(w, &e)
		e.Rules = db.explainRules(w.Caller, v, 0)
		return e, err
	}
}

// TestExplainCountsSome: beyond a bound the listeners of an explanation are at least
// so many.
func TestExplainCountsSome(t *testing.T) {
	db := openTest(t, Options{})
	for i := range 3 {
		c := connect(t, db, fmt.Sprint(i), 0)
		for j := range 1000 {
			c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/a/%d","h":""}}`, j))
		}
		e, err := db.ExplainWrite(t.Context(), putOf(t, "/a", "5"))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case i == 0 && (e.AtLeast || e.Listeners != 0):
			t.Errorf("nothing changes for listeners: %+v", e.Cost)
		case i == 2 && !e.AtLeast:
			t.Errorf("3,000 listeners were looked at: %+v", e.Cost)
		}
	}
}

func revisionOf(t *testing.T, db *Database) (r uint64) {
	t.Helper()
	if err := db.snapshot(func(tx *store.Tx) error { r = tx.Revision(); return nil }); err != nil {
		t.Fatal(err)
	}
	return r
}
