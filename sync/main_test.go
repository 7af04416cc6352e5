package sync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// openTest opens a database that everybody may use and that is closed and
// checked when the test ends. A zero Options is enough. Tasks that wait together
// are one batch, and those that come later are not, however slow the machine is.
func openTest(t testing.TB, o Options) *Database {
	t.Helper()
	if o.Rules == nil {
		o.Rules = rules.Open()
	}
	if tier.Logged() && o.File == "" {
		inFile(t, &o)
	}
	db, err := openExact(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkTest(t, db)
		if err := db.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return db
}

// inFile has a database be in a file, with a log that is closed behind it. synced is called when
// something was written to the log; none: nothing is.
func inFile(t testing.TB, o *Options, synced ...func(time.Duration)) {
	t.Helper()
	dir, logs := t.TempDir(), logged.LogOptions{}
	for _, f := range synced {
		logs.Synced = f
	}
	log, err := logged.OpenLog(store.LogDir(dir), logs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Errorf("the log: %v", err)
		}
	})
	o.File, o.Store.Log, o.Store.NoSync = filepath.Join(dir, "db"), log, true
}

// openExact opens a database in which tasks that wait together are one batch, without those that come
// later. The committer may be at work when the database is open, so it is told before.
func openExact(o Options) (*Database, error) {
	o.batchTime = time.Hour
	db, err := Open(o)
	if err == nil {
		db.queue.Grow(1)
	}
	return db, err
}

// checkTest verifies the invariants of the store, which can be closed already.
func checkTest(t testing.TB, db *Database) {
	t.Helper()
	if db.closed.Load() {
		return
	}
	findings, err := db.Check()
	if err != nil {
		t.Errorf("Check() = %v", err)
	}
	for _, f := range findings {
		t.Errorf("Check: %v", f)
	}
}

// set replaces the value at a path.
func set(t testing.TB, db *Database, path, value string) {
	t.Helper()
	if _, err := db.Write(t.Context(), putOf(t, path, value)); err != nil {
		t.Fatalf("write %s %.100s: %v", path, value, err)
	}
}

func putOf(t testing.TB, path, value string) Write {
	t.Helper()
	target, err := tree.ParseTarget(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	w, err := tree.ParseWrite(target, value, tree.Lenient)
	if err != nil {
		t.Fatalf("%.100s: %v", value, err)
	}
	return Write{Caller: Admin, Update: tree.Update{w}, Base: target.Path}
}

func updateOf(t testing.TB, path, value string) Write {
	t.Helper()
	base := tree.MustParsePath(path)
	u, err := tree.ParseUpdate(base, value, tree.Lenient)
	if err != nil {
		t.Fatalf("%.100s: %v", value, err)
	}
	return Write{Caller: Admin, Update: u, Merge: true, Base: base}
}

// get returns the value at a path as JSON.
func get(t testing.TB, db *Database, path string) string {
	t.Helper()
	n, err := db.Get(t.Context(), Read{Caller: Admin, Path: tree.MustParsePath(path), Plain: true})
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	return n.JSON()
}

func want(t testing.TB, db *Database, path, value string) {
	t.Helper()
	if got := get(t, db, path); got != value {
		t.Errorf("%s = %s, want %s", path, got, value)
	}
}

// A client is a session with its outbox, used from one goroutine.
type client struct {
	t       testing.TB
	name    string
	out     *outbox.Outbox
	session *Session
	woken   chan struct{}
}

func connect(t testing.TB, db *Database, name string, maxBytes int) *client {
	c := &client{t: t, name: name, woken: make(chan struct{}, 1)}
	c.out = outbox.New(outbox.Realtime, maxBytes, func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	})
	c.session = db.NewSession(SessionOptions{ID: "session-" + name, Out: c.out, SignIn: testSignIn})
	return c
}

// testSignIn knows the token "owner" of the administrator and those of users,
// such as "user ana".
func testSignIn(_ context.Context, c Credential) (Caller, SignInInfo, error) {
	var uid string
	switch _, err := fmt.Sscanf(c.Token, "user %s", &uid); {
	case c.Token == "expired":
		return Caller{}, SignInInfo{}, &fault.TokenError{Status: wire.StatusExpiredToken, Text: wire.TextExpiredToken}
	case c.Token == "owner" && c.NoAuth:
		return Caller{}, SignInInfo{}, nil
	case c.Token == "owner" && c.AuthVar != "":
		return Caller{Auth: rules.Auth{UID: "override", JSON: c.AuthVar}}, SignInInfo{}, nil
	case c.Token == "owner":
		return Admin, SignInInfo{}, nil
	case err != nil:
		return Caller{}, SignInInfo{}, &fault.TokenError{Status: wire.StatusInvalidToken, Text: wire.TextInvalidToken}
	}
	auth := rules.Auth{UID: uid, JSON: fmt.Sprintf(`{"uid":%q}`, uid)}
	return Caller{Auth: auth}, SignInInfo{Data: `{"auth":` + auth.JSON + `}`}, nil
}

// send hands a request to the session. It does not wait for the answer.
func (c *client) send(request string) {
	c.t.Helper()
	m, err := wire.ParseMessage(`{"t":"d","d":` + request + `}`)
	if err != nil {
		c.t.Fatalf("%s: %v", request, err)
	}
	c.session.Handle(context.Background(), m.Request)
}

// settle waits until the session's writes have been answered.
func (c *client) settle() {
	if err := c.session.waitAcked(c.t.Context(), 0); err != nil {
		c.t.Fatal(err)
	}
}

// frames takes what is queued, without the envelope.
func (c *client) frames() []string {
	var list []string
	for msgs := c.out.Take(1 << 20); len(msgs) > 0; msgs = c.out.Take(1 << 20) {
		for _, msg := range msgs {
			list = append(list, unwrap(string(msg)))
		}
	}
	return list
}

func unwrap(msg string) string {
	const head, tail = `{"t":"d","d":`, `}`
	if len(msg) < len(head)+len(tail) || msg[:len(head)] != head {
		return msg
	}
	return msg[len(head) : len(msg)-len(tail)]
}

// A gate is a task that holds up the committer, so that what is queued
// meanwhile comes into one batch.
type gate struct {
	reached, open chan struct{}
}

func closeGate(t testing.TB, db *Database) *gate {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	db.queue.Grow(1) // or the batch of the gate takes one of the tasks behind it
	if err := db.add(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	<-g.reached
	return g
}

func (g *gate) size() int64  { return 0 }
func (g *gate) finish(error) {}

func (g *gate) apply(*batch) error {
	close(g.reached)
	<-g.open
	return nil
}

var errInjected = errors.New("injected failure")

// A faultyLog is a log that can be told to fail.
type faultyLog struct {
	mu   sync.Mutex
	fail bool
}

func (l *faultyLog) set(fail bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = fail
}

func (l *faultyLog) Append(_ context.Context, _ string, prev uint64, _ []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail {
		return 0, errInjected
	}
	return prev + 1, nil
}

// heap returns the bytes that are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A recordLog keeps the records that are appended to it.
type recordLog struct {
	localLog
	mu      sync.Mutex
	records []string
}

func (l *recordLog) Append(ctx context.Context, db string, prev uint64, record []byte) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, string(record))
	return l.localLog.Append(ctx, db, prev, record)
}

func (l *recordLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.records)
}

// operations returns the operations of all commits, those of each in one text, joined.
func (l *recordLog) operations(t *testing.T) (list []string) {
	t.Helper()
	var a entry.Assembler
	for _, text := range l.all() {
		for rest := []byte(text); len(rest) > 0; {
			e, after, err := entry.Next(rest)
			if err != nil {
				t.Fatal(err)
			}
			commit, whole, err := a.Add(e)
			if err != nil {
				t.Fatal(err)
			}
			if rest = after; whole || len(commit) > 0 {
				all := ""
				for _, op := range commit {
					all += entry.Text(op) + "\n"
				}
				list = append(list, all)
			}
		}
	}
	return list
}

// copyFile copies a database as a crash would leave it: without closing it.
func copyFile(t *testing.T, from string) string {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
