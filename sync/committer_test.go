package sync

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// A result is what became of a write that runs in the background.
type result chan error

func start(t testing.TB, db *Database, w Write) result {
	r := make(result, 1)
	go func() {
		_, err := db.Write(context.Background(), w)
		r <- err
	}()
	return r
}

// queued waits until n tasks wait for the committer.
func queued(db *Database, n int) {
	for waiting := 0; waiting < n; time.Sleep(time.Millisecond) {
		waiting, _, _ = db.queue.Waiting()
	}
}

// TestWriteIsDurable: what was acknowledged is there after the file was opened
// again, with its rules.
func TestWriteIsDurable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	set(t, db, "/x", `{"a":1,".priority":2}`)
	if err := db.SetRules(t.Context(), parseRules(t, `{"rules":{".read":true}}`)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, Options{File: file})
	want(t, db, "/", `{"x":{".priority":2,"a":1}}`)
	if got := db.Rules().Source(); got != `{"rules":{".read":true}}` {
		t.Errorf("rules are %s, want those that were set", got)
	}
}

// TestCommit: a write returns what was written, at which time.
func TestCommit(t *testing.T) {
	now := time.UnixMilli(12345)
	db := openTest(t, Options{Now: func() time.Time { return now }})
	c, err := db.Write(t.Context(), putOf(t, "/x", `{"t":{".sv":"timestamp"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Writes[0].Node.JSON(); got != `{"t":12345}` || !c.Now.Equal(now) {
		t.Errorf("Commit = %s at %v, want {\"t\":12345} at %v", got, c.Now, now)
	}
	if _, err := db.Write(t.Context(), Write{Caller: Admin}); err != nil {
		t.Errorf("a write of nothing: %v, want no error", err)
	}
}

// TestStale: a condition that does not hold tells the value, to who may read it.
func TestStale(t *testing.T) {
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{"r":{".read":true}}}`)})
	set(t, db, "/", `{"r":1,"x":1}`)
	hash := ""
	for path, check := range map[string]func(error) bool{
		"/r": func(err error) bool {
			var stale *fault.StaleError
			return errors.As(err, &stale) && stale.Current.JSON() == "1"
		},
		"/x": func(err error) bool { return errors.Is(err, fault.ErrDenied) },
	} {
		w := putOf(t, path, "2")
		w.Caller, w.If = Caller{}, &hash
		if _, err := db.Write(t.Context(), w); !check(err) {
			t.Errorf("write %s if there is nothing: %v", path, err)
		}
	}
}

// TestConditionIsBounded: what nobody could have read is not read to compare it.
func TestConditionIsBounded(t *testing.T) {
	db := openTest(t, Options{MaxRead: 10_000})
	for i := range 20 {
		set(t, db, fmt.Sprintf("/x/%d", i), fmt.Sprintf("%q", strings.Repeat("v", 1000)))
	}
	hash := "anything"
	w := putOf(t, "/x", "1")
	w.If = &hash
	if _, err := db.Write(t.Context(), w); !errors.Is(err, fault.ErrTooBig) {
		t.Errorf("conditional write of 20 kB with a limit of 10 kB: %v, want %v", err, fault.ErrTooBig)
	}
}

// TestFailedBatch: when a batch can't be committed all its tasks fail, windows
// and pending writes are as they were, nobody is told anything, and the next
// batch works.
func TestFailedBatch(t *testing.T) {
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	set(t, db, "/l", `{"a":1,"b":2,"c":3}`)

	a, b := connect(t, db, "a", 0), connect(t, db, "b", 0)
	a.send(`{"r":1,"a":"q","b":{"p":"/l","q":{"i":".key","l":2,"vf":"l"},"t":1,"h":""}}`)
	a.send(`{"r":2,"a":"q","b":{"p":"/l","h":""}}`)
	a.frames()
	b.send(`{"r":1,"a":"o","b":{"p":"/gone/b","d":true}}`)
	b.settle()
	b.frames()
	listener := a.session.listens.at(listenKey{tree.MustParsePath("/l"), 1})
	before, _ := listener.Window()
	window := slices.Clone(before)

	log.set(true)
	g := closeGate(t, db)
	writes := []result{start(t, db, putOf(t, "/l/a", "null")), start(t, db, putOf(t, "/l/0", "0"))}
	b.send(`{"r":2,"a":"o","b":{"p":"/gone/b/more","d":1}}`)
	b.send(`{"r":3,"a":"o","b":{"p":"/gone/c","d":1}}`)
	b.send(`{"r":4,"a":"p","b":{"p":"/l/z","d":1}}`)
	b.send(`{"r":5,"a":"p","b":{"p":"/l/.z","d":1}}`) // refused in any case, and at once
	queued(db, 5)
	close(g.open)
	for _, w := range writes {
		if err := <-w; !errors.Is(err, fault.ErrUnavailable) || !errors.Is(err, errInjected) {
			t.Errorf("write in a failed batch: %v, want %v and %v", err, fault.ErrUnavailable, errInjected)
		}
	}
	b.settle()
	wantFrames(t, b,
		`{"r":5,"b":{"s":"invalid_parameters","d":"Invalid token in path"}}`,
		`{"r":2,"b":{"s":"unavailable","d":"The service is temporarily unavailable."}}`,
		`{"r":3,"b":{"s":"unavailable","d":"The service is temporarily unavailable."}}`,
		`{"r":4,"b":{"s":"unavailable","d":"The service is temporarily unavailable."}}`)
	wantFrames(t, a)
	want(t, db, "/l", `{"a":1,"b":2,"c":3}`)
	if after, _ := listener.Window(); !slices.Equal(after, window) {
		t.Errorf("the window is %v, want %v", after, window)
	}
	wantPending(t, b, "/gone/b true")

	log.set(false)
	set(t, db, "/l/a", "null")
	wantFrames(t, a,
		`{"a":"m","b":{"p":"l","d":{"a":null,"c":3},"t":1}}`,
		`{"a":"d","b":{"p":"l/a","d":null}}`)
	b.send(`{"r":6,"a":"oc","b":{"p":"/gone/b"}}`)
	b.send(`{"r":7,"a":"o","b":{"p":"/gone/d","d":2}}`)
	b.settle()
	wantPending(t, b, "/gone/d 2")
	a.session.Close()
	b.session.Close()
	want(t, db, "/gone", `{"d":2}`)
}

// TestLateDisconnect: what could not be carried out when the session ended is
// tried again after the next commit, and runs once.
func TestLateDisconnect(t *testing.T) {
	log := new(faultyLog)
	db := openTest(t, Options{Change: log})
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"o","b":{"p":"/left","d":{".sv":{"increment":1}}}}`)
	c.settle()
	log.set(true)
	c.session.Close()
	if _, err := db.Write(t.Context(), putOf(t, "/x", "0")); !errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("write: %v, want %v", err, fault.ErrUnavailable)
	}
	log.set(false)
	want(t, db, "/left", "null")
	for i := range 3 {
		set(t, db, "/x", fmt.Sprint(i))
	}
	want(t, db, "/left", "1")
}

// TestFailedDisconnect: if there is no next commit, it is still there when the
// database is opened again.
func TestFailedDisconnect(t *testing.T) {
	log := new(faultyLog)
	file := filepath.Join(t.TempDir(), "db")
	db, err := Open(Options{File: file, Change: log})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"gauth","b":{"cred":"owner"}}`)
	c.send(`{"r":2,"a":"o","b":{"p":"/x","d":{".sv":{"increment":1}}}}`)
	c.settle()
	log.set(true)
	c.session.Close()
	log.set(false)
	want(t, db, "/x", "null")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, Options{File: file})
	want(t, db, "/x", "1")
}

func wantFrames(t *testing.T, c *client, want ...string) {
	t.Helper()
	if got := c.frames(); !slices.Equal(got, want) {
		t.Errorf("%s was sent\n\t%s\nwant\n\t%s", c.name, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantPending compares what a session leaves in memory and in the store.
func wantPending(t *testing.T, c *client, want ...string) {
	t.Helper()
	var inMemory, stored pending.Writes
	inMemory = c.session.pending
	err := c.session.db.store.View(func(tx *store.Tx) error {
		for p, err := range tx.Disconnects().All() {
			if err != nil {
				return err
			}
			if p.Session == c.session.id {
				if err := stored.Restore(p); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for where, p := range map[string]pending.Writes{"memory": inMemory, "the store": stored} {
		var got []string
		for w := range p.All() {
			got = append(got, w.Target.String()+" "+tree.FromCanonical(w.Value.Text()).JSON())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has left %v in %s, want %v", c.name, got, where, want)
		}
	}
	if inMemory.Bytes != stored.Bytes {
		t.Errorf("%s has left %d bytes, counted %d", c.name, stored.Bytes, inMemory.Bytes)
	}
}

// A panicTask panics after it has written.
type panicTask struct{ waiter }

func (t *panicTask) size() int64 { return 1 }

func (t *panicTask) apply(b *batch) error {
	w := putOf(&testing.T{}, "/bad", "1")
	if err := (&writeTask{write: w}).apply(b); err != nil {
		return err
	}
	panic("told to")
}

// TestPanicCostsOneTask: a panic in one task fails that task alone. What it had
// written is gone, the others of the batch take effect, and the database lives.
func TestPanicCostsOneTask(t *testing.T) {
	db := openTest(t, Options{})
	c := connect(t, db, "a", 0)
	defer c.session.Close()
	c.send(`{"r":1,"a":"q","b":{"p":"/","q":{"i":".key","l":9,"vf":"l"},"t":1,"h":""}}`)
	c.frames()

	g := closeGate(t, db)
	before := start(t, db, putOf(t, "/before", "1"))
	queued(db, 1)
	bad := &panicTask{}
	bad.start()
	if err := db.add(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	after := start(t, db, putOf(t, "/after", "1"))
	queued(db, 3)
	close(g.open)

	for _, w := range []result{before, after} {
		if err := <-w; err != nil {
			t.Errorf("write beside a panic: %v", err)
		}
	}
	err := bad.wait(t.Context())
	var panicked *fault.PanicError
	if !errors.As(err, &panicked) || panicked.Value != "told to" || !strings.Contains(err.Error(), "panicTask") {
		t.Errorf("task that panics: %v, want the panic with its stack", err)
	}
	if status, text := fault.Status(err); status != "failed" || text != fault.TextInternal {
		t.Errorf("the client is told %s, %s, want failed, %s", status, text, fault.TextInternal)
	}
	want(t, db, "/", `{"after":1,"before":1}`)
	wantFrames(t, c,
		`{"a":"m","b":{"p":"","d":{"before":1},"t":1}}`,
		`{"a":"m","b":{"p":"","d":{"after":1},"t":1}}`)
	set(t, db, "/more", "1")
}

// A panickyLog panics in the middle of a commit.
type panickyLog struct{ on atomic.Bool }

func (l *panickyLog) Append(_ context.Context, _ string, prev uint64, _ []byte) (uint64, error) {
	if l.on.Load() {
		panic("told to")
	}
	return prev + 1, nil
}

func TestPanicInCommit(t *testing.T) {
	log := new(panickyLog)
	db := openTest(t, Options{Change: log, File: filepath.Join(t.TempDir(), "db")})
	log.on.Store(true)
	var panicked *fault.PanicError
	if _, err := db.Write(t.Context(), putOf(t, "/x", "1")); !errors.As(err, &panicked) {
		t.Errorf("write whose commit panics: %v, want the panic", err)
	}
	log.on.Store(false)
	set(t, db, "/y", "2")
	want(t, db, "/", `{"y":2}`)
}

// TestManyEvents: writes that make very many events do not come into one batch,
// however many of them wait.
func TestManyEvents(t *testing.T) {
	tier.Unraced(t)
	const listeners = 700
	writes := tier.Pick[uint64](100, 200, 200) // more events than one batch may have
	db := openTest(t, Options{})
	c := connect(t, db, "a", 1000)
	defer c.session.Close()
	m := newMirror(c)
	for i := range listeners {
		m.follow(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/x/l%d","h":""}}`, i))
		m.read()
	}
	g := closeGate(t, db)
	var results []result
	for i := range writes {
		var members strings.Builder
		for l := range listeners {
			fmt.Fprintf(&members, `"l%d":%d,`, l, i)
		}
		results = append(results, start(t, db, putOf(t, "/x", fmt.Sprintf(`{%s"last":%d}`, members.String(), i))))
		queued(db, len(results))
	}
	before := db.Stats().Batches
	close(g.open)
	for i, r := range results {
		if err := <-r; err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	const most = maxBatchDeliveries + listeners                          // the last write may exceed the bound
	if n := db.Stats().Batches - before - 1; n*most < listeners*writes { // one batch is the gate's
		t.Errorf("%d events came in %d batches, want at most %d in each", listeners*writes, n, most)
	}
	m.read()
	compareViews(t, db, m, "after many events")
}

// TestWriteGivesUpWithItsContext: the caller is gone, the write is not.
func TestWriteGivesUpWithItsContext(t *testing.T) {
	db := openTest(t, Options{})
	g := closeGate(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	r := make(result, 1)
	go func() {
		_, err := db.Write(ctx, putOf(t, "/x", "1"))
		r <- err
	}()
	queued(db, 1)
	cancel()
	if err := <-r; !errors.Is(err, context.Canceled) {
		t.Errorf("Write() = %v, want %v", err, context.Canceled)
	}
	close(g.open)
	set(t, db, "/y", "1") // comes after it
	want(t, db, "/x", "1")
}

// TestChange: the log has what each batch changed, and for which caller and how, however large
// it is.
func TestChange(t *testing.T) {
	tier.Unraced(t)
	log := new(recordLog)
	db := openTest(t, Options{Change: log})
	set(t, db, "/x", `{"a":[1,2]}`)
	if _, err := db.Write(t.Context(), updateOf(t, "/", `{"x/a/0":null,"p/.priority":1,"q\"":"é"}`)); err != nil {
		t.Fatal(err)
	}
	set(t, db, "/none/.priority", "1") // changes nothing
	big := fmt.Sprintf("%q", strings.Repeat("x", 4<<20))
	set(t, db, "/big", big)
	if err := db.SetSetting(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"w":{"/x":{"a":{"0":1,"1":2}}},"admin":true,"cause":"set"}` + "\n",
		`{"w":{"/q\"":"é","/x/a/0":null,"/p/.priority":1},"merge":"/","admin":true,"cause":"update"}` + "\n",
		`{"w":{"/big":` + big + `},"admin":true,"cause":"set"}` + "\n",
		`{"set":{"a":"b"}}` + "\n",
	}
	got := slices.DeleteFunc(log.operations(t), func(s string) bool { return s == "" }) // of pieces alone
	if !slices.Equal(got, want) {
		t.Errorf("the log has %.300q, want %.300q", got, want)
	}
	for _, text := range log.all() {
		for rest := []byte(text); len(rest) > 0; {
			e, after, err := entry.Next(rest)
			if err != nil || len(e.Text) > entry.MaxBytes {
				t.Errorf("an entry of %d bytes: %v", len(e.Text), err)
			}
			rest = after
		}
	}
}
