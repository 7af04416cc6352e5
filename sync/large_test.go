package sync

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// largeValues is enough to make a write large.
const largeValues = 20_000

// A pause holds up the first large write between its snapshot and its decision.
type pause struct {
	armed           atomic.Bool
	reached, resume chan struct{}
}

func newPause() *pause {
	return &pause{reached: make(chan struct{}), resume: make(chan struct{})}
}

func (p *pause) now() time.Time {
	if p.armed.CompareAndSwap(true, false) {
		close(p.reached)
		<-p.resume
	}
	return time.Now()
}

// during starts a large write and has something else done before it is decided.
func (p *pause) during(t *testing.T, db *Database, large Write, other func() error) (err error) {
	t.Helper()
	p.armed.Store(true)
	r := start(t, db, asUser(large))
	<-p.reached
	if err := other(); err != nil {
		t.Error(err)
	}
	close(p.resume)
	return <-r
}

func asUser(w Write) Write {
	w.Caller = Caller{}
	return w
}

// TestLargeWriteIsSliced: what a large write queues is small, and it takes effect as a
// whole.
func TestLargeWriteIsSliced(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	value := manyValues(largeValues)
	if _, err := db.Write(t.Context(), asUser(putOf(t, "/x", value))); err != nil {
		t.Fatal(err)
	}
	if n := db.Stats().Writes; n < 5 {
		t.Errorf("the write was %d tasks, want several", n)
	}
	want(t, db, "/x", value)
}

// TestLargeWriteReplaces: whatever is there, a large write puts its value in its place,
// with its listeners told.
func TestLargeWriteReplaces(t *testing.T) {
	tier.Unraced(t)
	value := manyValues(largeValues)
	paths := []string{"/x", "/x/y", "/x/y/z/a"}
	for _, before := range []string{"null", "1", `{"y":{"z":1}}`, value} {
		for _, path := range tier.Pick(paths[1:2], paths, paths) {
			db := openTest(t, Options{})
			set(t, db, "/x", before)
			c := connect(t, db, "c", 64<<20)
			c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":%q,"h":""}}`, path))
			c.frames()
			c.send(fmt.Sprintf(`{"r":2,"a":"p","b":{"p":%q,"d":%s}}`, path, value))
			c.send(fmt.Sprintf(`{"r":3,"a":"p","b":{"p":%q,"d":1}}`, path+"/k0000000"))
			c.settle()
			frames := c.frames()
			if len(frames) != 4 || !strings.Contains(frames[0], value[:1000]) || frames[1] != `{"r":2,"b":{"s":"ok","d":""}}` {
				t.Errorf("put %s over %.20s: %d messages, want the event and the answer of each", path, before, len(frames))
			}
			want(t, db, path, strings.Replace(value, `"k0000000":0`, `"k0000000":1`, 1))
		}
	}
}

// TestLargeDecisionIsCurrent: a large write is decided in the state that it is committed
// in, whatever is written while it is prepared.
func TestLargeDecisionIsCurrent(t *testing.T) {
	const gated = `{"rules":{".read":true,"x":{".write":"root.child('open').val() == true"}}}`
	for _, c := range []struct {
		name      string
		meanwhile func(t *testing.T, db *Database) error
		allowed   bool
		decisions uint64
	}{
		{"what the rule reads changes", func(t *testing.T, db *Database) error {
			set(t, db, "/open", "false")
			return nil
		}, false, 2},
		{"what is above it changes", func(t *testing.T, db *Database) error {
			set(t, db, "/", "null")
			return nil
		}, false, 2},
		{"the rules change", func(t *testing.T, db *Database) error {
			return db.SetRules(t.Context(), parseRules(t, `{"rules":{}}`))
		}, false, 2},
		{"something else changes", func(t *testing.T, db *Database) error {
			set(t, db, "/other", "1")
			return nil
		}, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPause()
			db := openTest(t, Options{Rules: parseRules(t, gated), Now: p.now})
			set(t, db, "/open", "true")
			err := p.during(t, db, putOf(t, "/x", manyValues(largeValues)), func() error { return c.meanwhile(t, db) })
			if (err == nil) != c.allowed || err != nil && !errors.Is(err, fault.ErrDenied) {
				t.Errorf("the large write ended with %v, want allowed: %t", err, c.allowed)
			}
			if exists := get(t, db, "/x") != "null"; exists != c.allowed {
				t.Errorf("the value is there: %t, want %t", exists, c.allowed)
			}
			if n := db.Stats().Decisions; n != c.decisions {
				t.Errorf("%d decisions, want %d", n, c.decisions)
			}
			checkAudience(t, db)
		})
	}
}

// TestLargeIncrement: a server value in a large write adds to what is there when it is
// committed.
func TestLargeIncrement(t *testing.T) {
	tier.Unraced(t)
	p := newPause()
	db := openTest(t, Options{Now: p.now})
	set(t, db, "/x/n", "1")
	value := `{"n":{".sv":{"increment":1}},` + manyValues(largeValues)[1:]
	err := p.during(t, db, putOf(t, "/x", value), func() error { set(t, db, "/x/n", "10"); return nil })
	if err != nil {
		t.Fatal(err)
	}
	want(t, db, "/x/n", "11")
	want(t, db, "/x/k0000007", "7")
}

// TestLargeRefusal: a large write that the rules refuse stores nothing.
func TestLargeRefusal(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".read":true,".write":true,"x":{"$k":{".validate":"newData.val() < 1000"}}}}`)})
	before := db.Stats().Batches
	if _, err := db.Write(t.Context(), asUser(putOf(t, "/x", manyValues(largeValues)))); !errors.Is(err, fault.ErrDenied) {
		t.Errorf("write of an invalid value: %v, want %v", err, fault.ErrDenied)
	}
	if n := db.Stats().Batches - before; n != 0 {
		t.Errorf("%d batches for a write that was refused", n)
	}
}

// TestUpdateOfLargeValues: an update may have several large values among others.
func TestUpdateOfLargeValues(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{})
	set(t, db, "/", `{"gone":1,"p":{"a":1}}`)
	value := manyValues(largeValues)
	w := updateOf(t, "/", fmt.Sprintf(`{"a":%s,"gone":null,"small":2,"b/c":%s,"p/.priority":3}`, value, value))
	if _, err := db.Write(t.Context(), asUser(w)); err != nil {
		t.Fatal(err)
	}
	want(t, db, "/", fmt.Sprintf(`{"a":%s,"b":{"c":%s},"p":{".priority":3,"a":1},"small":2}`, value, value))
}

// TestLargeFailure: if a slice cannot be stored, the write fails and has no effect.
func TestLargeFailure(t *testing.T) {
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	log.set(true)
	_, err := db.Write(t.Context(), asUser(putOf(t, "/x", manyValues(largeValues))))
	log.set(false)
	if !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("write = %v, want %v", err, fault.ErrUnavailable)
	}
	want(t, db, "/x", "null")
}

// TestMaxPaths: an update of more paths is for administrators.
func TestMaxPaths(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	db := openTest(t, Options{})
	w := updateOf(t, "/x", manyValues(MaxPaths+1))
	_, err := db.Write(t.Context(), asUser(w))
	if limit := (*fault.LimitError)(nil); !errors.As(err, &limit) || limit.Bound != fault.BoundPaths || !errors.Is(err, fault.ErrTooBig) {
		t.Errorf("update of %d paths: %v, want a LimitError", MaxPaths+1, err)
	}
	unread := strings.TrimSuffix(manyValues(MaxPaths+1), "}") + "what is not read"
	if _, err := ParseUpdate(Caller{}, tree.Root, unread, tree.Strict); !errors.Is(err, fault.ErrTooBig) {
		t.Errorf("text of an update of %d paths: %v, want a LimitError", MaxPaths+1, err)
	}
	if _, err := ParseUpdate(Admin, tree.Root, manyValues(MaxPaths+1), tree.Strict); err != nil {
		t.Errorf("the text of an administrator: %v", err)
	}
	want(t, db, "/x", "null")
	if _, err := db.Write(t.Context(), w); err != nil {
		t.Errorf("the same by an administrator: %v", err)
	}
	w.Update = w.Update[:MaxPaths]
	if _, err := db.Write(t.Context(), asUser(w)); err != nil {
		t.Errorf("update of %d paths: %v", MaxPaths, err)
	}
}

// TestPendingValues: what is left for the disconnect is bounded in values, too.
func TestPendingValues(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "c", 0)
	for i, s := range []string{"ok", "too_big"} {
		c.send(fmt.Sprintf(`{"r":%d,"a":"o","b":{"p":"/x/%d","d":%s}}`, i, i, manyValues(pending.MaxBytes/pending.ValueCost*2/3)))
		c.settle()
		if frames := c.frames(); len(frames) != 1 || !strings.Contains(frames[0], s) {
			t.Errorf("answer %d is %v, want %s", i, frames, s)
		}
	}
	c.session.Close()
}

// TestLargeWritesTakeTurns: the long text of a session is parsed in the turn of its
// client, and a large write is decided in it. Small ones do not wait.
func TestLargeWritesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openTest(t, Options{Rules: rules.Open()})
		c := connect(t, db, "c", 64<<20)
		readers := outbox.NewReaders().All()
		c.out.Share(outbox.NewAllowance(1<<30, readers))
		places := entered(readers)
		c.send(`{"r":1,"a":"p","b":{"p":"/small","d":1}}`)
		c.settle()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			c.send(fmt.Sprintf(`{"r":2,"a":"p","b":{"p":"/text","d":%q}}`, strings.Repeat("x", outbox.LongText)))
			c.settle()
		}()
		synctest.Wait()
		want(t, db, "/small", "1")
		want(t, db, "/text", "null")
		for range places {
			readers.Release(1)
		}
		<-sent

		entered(readers)
		w := asUser(putOf(t, "/large", manyValues(largeValues)))
		w.Turn = readers
		done := start(t, db, w)
		synctest.Wait()
		if n := db.Stats().Writes; n != 2 {
			t.Errorf("%d writes, want the two from before", n)
		}
		for range places {
			readers.Release(1)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLargeWriteLeavesItsTurn: while a large write waits for the committer, others can
// use its place, and it goes on when it has one again.
func TestLargeWriteLeavesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPause()
		db := openTest(t, Options{Rules: rules.Open(), Now: p.now})
		turn := limit.NewMeter(1).All()
		w := asUser(putOf(t, "/large", manyValues(largeValues)))
		w.Turn = turn
		p.armed.Store(true)
		done := start(t, db, w)
		<-p.reached
		entered := make(chan struct{})
		go func() {
			_ = turn.Acquire(t.Context(), 1)
			close(entered)
		}()
		synctest.Wait()
		close(p.resume)
		<-entered
		synctest.Wait()
		want(t, db, "/large", "null")
		turn.Release(1)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestDiscardGivesNoTurnBack: the values of a large write that did not take effect are taken back
// when it has left its turn, which it must not leave twice.
func TestDiscardGivesNoTurnBack(t *testing.T) {
	readers, p := limit.NewMeter(1), newPause()
	var twice atomic.Bool
	o := Options{Now: p.now}
	inFile(t, &o, func(time.Duration) {
		if readers.Used() < 0 {
			twice.Store(true)
		}
	})
	db := openTest(t, o)
	set(t, db, "/x", "1")
	w := ifValue(t, "1", manyValues(largeValues))
	w.Caller, w.Turn = Admin, readers.All() // the clock is read first when the write is decided
	p.armed.Store(true)
	r := start(t, db, w)
	<-p.reached
	set(t, db, "/x", "2")
	close(p.resume)
	if err := <-r; !errors.As(err, new(*fault.StaleError)) {
		t.Errorf("Write() = %v, want a StaleError", err)
	}
	if n := readers.Used(); twice.Load() || n != 0 {
		t.Errorf("the turn was left twice: %t; %d are taken in the end", twice.Load(), n)
	}
	drained(t, db)
}

// TestLargeIncrementOverflows: a large write whose increment leaves the range of a number
// is refused as a small one is, also when it has an id or a condition.
func TestLargeIncrementOverflows(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".read":true,"open":{".write":true}}}`)})
	set(t, db, "/", `{"shut":{"n":1e308},"open":{"n":1e308}}`)
	before := get(t, db, "/")
	for path, want := range map[string]error{"/shut": fault.ErrDenied, "/open": tree.ErrIncrement} {
		plain := asUser(putOf(t, path, `{"n":{".sv":{"increment":1e308}},"v":`+manyValues(largeValues)+`}`))
		withID, withIf := plain, plain
		withID.ID = &store.WriteID{Writer: [16]byte{1}, Number: 1}
		hash := tree.MustParseNode(`{"n":1e308}`).Hash()
		withIf.If = &hash
		for name, w := range map[string]Write{"plain": plain, "with an id": withID, "with a condition": withIf} {
			if _, err := db.Write(t.Context(), w); !errors.Is(err, want) {
				t.Errorf("%s of %s: %v, want %v", path, name, err, want)
			}
		}
	}
	if after := get(t, db, "/"); after != before {
		t.Errorf("something was written: %.200s", after)
	}
}
