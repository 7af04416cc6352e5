package audience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// A house is an audience with a store of its own, whose committer is the test.
type house struct {
	*Audience
	t     testing.TB
	store *store.Store
	rules *rules.Ruleset
	after func(*Batch) // called after a task that is in turn
}

func newHouse(t testing.TB, rs *rules.Ruleset) *house {
	s, err := store.Open("", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rs == nil {
		rs = rules.Open()
	}
	h := &house{t: t, store: s, rules: rs, after: func(*Batch) {}}
	h.Audience = New(&Host{
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), MaxRead: 1 << 30,
		Begin:  func() (*store.Tx, error) { return s.Begin(false) },
		Rules:  func() *rules.Ruleset { return h.rules },
		Closed: func() bool { return false },
		InTurn: func(_ *quota.Quota, _ time.Duration, f func(*Batch) error) error { return h.commit(f, true) },
		Access: &access.Access{Now: time.Now}, Watchers: new(trace.Watchers), Sent: new(outbox.Counts),
	})
	t.Cleanup(func() {
		findings, err := s.Check()
		if err := errors.Join(append(findings, err, s.Close())...); err != nil {
			t.Error(err)
		}
	})
	return h
}

// commit makes a batch of one task.
func (h *house) commit(f func(*Batch) error, inTurn bool) error {
	h.Lock()
	defer h.Unlock()
	tx, err := h.store.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	b := &Batch{Audience: h.Audience, Ctx: context.Background(), Tx: tx, Rules: h.rules}
	if err := f(b); err != nil {
		b.Rollback()
		return err
	}
	if inTurn {
		h.after(b)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	h.rules = b.Rules
	b.Publish()
	return nil
}

func (h *house) set(path, value string) {
	h.t.Helper()
	target, err := tree.ParseTarget(path)
	if err != nil {
		h.t.Fatal(err)
	}
	draft, err := tree.Parse(value, 0, tree.Lenient)
	n, ok := draft.Node()
	if err != nil || !ok {
		h.t.Fatalf("parse %s: %v", value, err)
	}
	err = h.commit(func(b *Batch) error {
		c := Change{Batch: b, Writes: []tree.ResolvedWrite{{Target: target, Node: n}}}
		if err := c.Before(); err != nil {
			return err
		}
		put := b.Tx.Put
		if target.Priority {
			put = b.Tx.PutPriority
		}
		if _, err := put(target.Path, n); err != nil {
			return err
		}
		return c.After()
	}, false)
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) get(path string) (text string) {
	err := h.store.View(func(tx *store.Tx) error {
		n, err := tx.Get(tree.MustParsePath(path))
		text = n.JSON()
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return text
}

// listener returns a listener of a user, "" for nobody, that is not attached.
func (h *house) listener(path, uid string) *Listener {
	r := access.Read{Path: tree.MustParsePath(path), Plain: true}
	if uid != "" {
		r.Caller.Auth = rules.NewAuth(fmt.Sprintf(`{"uid":%q}`, uid))
	}
	out := outbox.New(outbox.Realtime, 0, func() {})
	return h.NewListener(r, out, 0, func(error) {})
}

// TestWindowIsReadWithoutTheLock: a window that takes a scan is read on a snapshot. What
// is written meanwhile costs a few rows under the lock, or another scan without it.
func TestWindowIsReadWithoutTheLock(t *testing.T) {
	const children = 3000
	h := newHouse(t, nil)
	var b strings.Builder
	for i := range children {
		fmt.Fprintf(&b, `,"k%05d":{"n":%d,"pad":"%s"}`, i, i, strings.Repeat("x", 20))
	}
	h.set("/l", "{"+b.String()[1:]+"}")
	for _, c := range []struct {
		name   string
		query  tree.Query
		writes [][2]string // path and value, while the window is read
		want   string      // "" if it has to be read again
	}{
		{"nothing", tree.Query{OrderBy: "n", Limit: 2, FromLast: true}, nil, "k02998 k02999"},
		{"elsewhere", tree.Query{OrderBy: "n", Limit: 2, FromLast: true}, [][2]string{{"/other", "1"}}, "k02998 k02999"},
		{"enters", tree.Query{OrderBy: "n", Limit: 2, FromLast: true}, [][2]string{{"/l/a", `{"n":2998.5}`}}, "a k02999"},
		{"leaves", tree.Query{OrderBy: "n", Limit: 2, FromLast: true}, [][2]string{{"/l/k02999", "null"}, {"/l/k02997/n", "-1"}}, "k02996 k02998"},
		{"moves", tree.Query{OrderBy: "n", Limit: 2}, [][2]string{{"/l/k00002/n", "0.5"}, {"/l/k00000/n", "9000"}}, "k00002 k00001"},
		{"beyond", tree.Query{OrderBy: "n", Limit: 2}, [][2]string{{"/l/b", `{"n":500}`}}, "k00000 k00001"},
		{"range", tree.Query{OrderBy: "n", Limit: 50, Start: tree.Bound{Set: true, Value: tree.Number(2990), KeyRank: tree.BeforeKeys}}, [][2]string{{"/l/b", `{"n":9999}`}, {"/l/k02991", "null"}}, "k02990 k02992 k02993 k02994 k02995 k02996 k02997 k02998 k02999 b"},
		{"replaced", tree.Query{OrderBy: "n", Limit: 2, FromLast: true}, [][2]string{{"/l/.priority", "1"}}, ""},
		{"too much", tree.Query{OrderBy: "n", Limit: 2}, removals(300), ""},
		{"too much leaves", tree.Query{OrderBy: "n", Limit: 2}, removals(joinSpare + 2), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			undo := h.get("/l")
			defer h.set("/l", undo)
			q := c.query
			l := h.listener("/l", "")
			l.read.Query = q
			if err := l.Attach(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			early, err := l.lookAhead(joinSpare)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.writes {
				h.set(w[0], w[1])
			}
			v, err := l.joinWith(early)
			if err != nil {
				t.Fatal(err)
			}
			if v.tx == nil {
				if c.want != "" || l.group.live {
					t.Errorf("the window is read again, want %s", c.want)
				}
				if v, err = l.join(); err != nil {
					t.Fatal(err)
				}
			}
			tx, window := v.tx, v.window
			defer tx.Rollback()
			if read := tx.Stats().Read + tx.Stats().Visited; read > 8*len(c.writes) {
				t.Errorf("%d rows were read under the lock for %d writes", read, len(c.writes))
			}
			now, err := tx.Query(l.read.Path, q)
			if err != nil || !slices.Equal(window, now) || !slices.Equal(l.group.window, now) {
				t.Errorf("the window is %v, want %v", window, now)
			}
			var keys []string
			for _, e := range window {
				keys = append(keys, e.Key)
			}
			if got := strings.Join(keys, " "); c.want != "" && got != c.want {
				t.Errorf("the window is %s, want %s", got, c.want)
			}
			if err := h.store.View(h.Check); err != nil {
				t.Error(err)
			}
		})
	}
}

func removals(n int) (list [][2]string) {
	for i := range n {
		list = append(list, [2]string{fmt.Sprintf("/l/k%05d", i), "null"})
	}
	return list
}

// TestStaleGrantIsNotJoined: a listen that comes when a grant has not been decided yet is
// decided alone.
func TestStaleGrantIsNotJoined(t *testing.T) {
	rs, err := rules.Parse(`{"rules":{".read":"root.child('open').val() == true"}}`)
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, rs)
	h.set("/open", "true")
	first, second := h.listener("/x", "ana"), h.listener("/x", "ana")
	if err := first.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	for d := range h.grants.dependents.Below(tree.Root) {
		h.grants.makeStale(d)
	}
	stale := first.grant
	if !h.grants.isStale(stale) {
		t.Error("the grant is not stale")
	}
	if err := second.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second.grant == stale || h.grants.isStale(second.grant) {
		t.Error("a listen has joined a stale grant")
	}
	if _, err := first.View(); err != nil { // has it decided
		t.Error(err)
	}
	if h.grants.isStale(first.grant) {
		t.Error("a view was read with a stale grant")
	}
	first.Close()
	second.Close()
	if err := h.store.View(h.Check); err != nil {
		t.Error(err)
	}
}

// TestAdmittedUnderNewRules: a listen that the committer decides in the batch that changes
// the rules is decided under the new ones.
func TestAdmittedUnderNewRules(t *testing.T) {
	h := newHouse(t, nil)
	h.after = func(b *Batch) {
		if err := b.Enforce(rules.Locked()); err != nil {
			t.Error(err)
		}
	}
	l := h.listener("/x", "")
	var denied error
	err := h.admitInTurn(t.Context(), []*candidate{{listener: l, read: l.read}}, func(l *Listener, g *grant, err error) {
		if denied = err; err == nil {
			denied = h.enroll(l, g)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(denied, fault.ErrDenied) || h.Listeners() != 0 {
		t.Errorf("the listen is answered %v, and %d go on, want %v", denied, h.Listeners(), fault.ErrDenied)
	}
}

// TestListensWithoutData: the database's data cannot be read to decide about listens
// again. They are not refused: their connections end, and the clients come back.
func TestListensWithoutData(t *testing.T) {
	for _, why := range []error{fault.ErrClosed, fault.ErrFailed} {
		h := newHouse(t, nil)
		l := h.listener("/", "")
		l.onRevoke = func(error) { t.Error("the listen is refused") }
		if err := l.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.Lock()
		h.revoke(l, why)
		h.Unlock()
		if err := l.out.Closing(); !errors.Is(err, why) || !l.Ended() {
			t.Errorf("the connection ends for %v, want %v", err, why)
		}
	}
}

// TestLongStringsCountAsRows: when a child leaves a full window, long strings are not read in the committer to find the
// child that comes in.
func TestLongStringsCountAsRows(t *testing.T) {
	for size, live := range map[int]bool{1 << 10: true, 900 << 10: false} {
		h := newHouse(t, nil)
		for i := range 14 {
			h.set(fmt.Sprintf("/l/k%02d", i), `{"s":"`+strings.Repeat("x", size)+`"}`)
		}
		l := h.listener("/l", "")
		l.read.Query = tree.Query{OrderBy: "s", Limit: 12}
		if err := l.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.View(); err != nil {
			t.Fatal(err)
		}
		h.set("/l/k03", "null")
		if l.group.live != live {
			t.Errorf("with strings of %d bytes the window was brought up to date: %t", size, l.group.live)
		}
		l.Close()
	}
}
