package sync

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// A noter observes decisions and notes them.
type noter struct {
	mu       sync.Mutex
	wants    func(rules.Decision) bool
	detail   string
	panics   bool
	wanted   []string
	decided  []string
	rulesets []*rules.Ruleset
}

func (n *noter) Wants(rs *rules.Ruleset, q *rules.Request, d rules.Decision) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wanted = append(n.wanted, d.Rule)
	return n.wants(d)
}

func (n *noter) Decided(rs *rules.Ruleset, q *rules.Request, t *rules.Trace) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.decided = append(n.decided, t.Rule)
	n.rulesets = append(n.rulesets, rs)
	if n.panics {
		panic("observer")
	}
	return n.detail
}

func everything(rules.Decision) bool { return true }
func denials(d rules.Decision) bool  { return !d.Allow }

// observeTest opens a database on which reads of /open are allowed, and does the
// same three things with it.
func observeTest(t *testing.T, n *noter) (readErr, writeErr error) {
	t.Helper()
	rs := parseRules(t, `{"rules":{"open":{".read":"auth == null"},"shut":{".read":"auth != null",".write":"auth != null"}}}`)
	db := openTest(t, Options{Rules: rs, Observer: n})
	if _, err := db.Get(t.Context(), Read{Path: tree.MustParsePath("/open"), Plain: true}); err != nil {
		t.Errorf("read of /open: %v", err)
	}
	get(t, db, "/shut") // by an administrator: no rule is asked
	_, readErr = db.Get(t.Context(), Read{Path: tree.MustParsePath("/shut"), Plain: true})
	w := putOf(t, "/shut", "1")
	w.Caller = Caller{}
	_, writeErr = db.Write(t.Context(), w)
	for _, seen := range n.rulesets {
		if seen != rs {
			t.Error("the observer was told other rules than those that decided")
		}
	}
	return readErr, writeErr
}

func TestObserver(t *testing.T) {
	all := []string{"/open/.read", "/shut/.read", "/shut/.write"}
	for _, c := range []struct {
		name    string
		noter   *noter
		decided []string
		told    string // of denied operations
	}{
		{"wants nothing", &noter{wants: func(rules.Decision) bool { return false }}, nil, "permission denied"},
		{"wants denials", &noter{wants: denials}, all[1:], "permission denied"},
		{"wants everything", &noter{wants: everything, detail: "because"}, all, "permission denied: because"},
		{"panics", &noter{wants: everything, panics: true, detail: "because"}, all, "permission denied"},
	} {
		readErr, writeErr := observeTest(t, c.noter)
		for _, err := range []error{readErr, writeErr} {
			if !errors.Is(err, fault.ErrDenied) || err.Error() != c.told {
				t.Errorf("%s: a denied operation fails with %v, want %s", c.name, err, c.told)
			}
		}
		if !slices.Equal(c.noter.wanted, all) || !slices.Equal(c.noter.decided, c.decided) {
			t.Errorf("%s: the observer was told %q and %q, want %q and %q", c.name, c.noter.wanted, c.noter.decided, all, c.decided)
		}
	}
}

// A write that no rule can allow is refused without it, and observed.
func TestMayWrite(t *testing.T) {
	for _, c := range []struct {
		path   string
		caller Caller
		want   string
	}{
		{"/open", Caller{}, "<nil>"},
		{"/", Caller{}, "<nil>"},
		{"/shut/a", Caller{Admin: true}, "<nil>"},
		{"/shut/a", Caller{}, "permission denied: because"},
		{"/elsewhere", Caller{}, "permission denied: because"},
	} {
		n := &noter{wants: denials, detail: "because"}
		db := openTest(t, Options{Rules: parseRules(t, `{"rules":{"open":{".write":"auth != null"},"shut":{".write":false}}}`), Observer: n})
		before := db.Stats()
		err := db.MayWrite(t.Context(), c.caller, tree.Target{Path: tree.MustParsePath(c.path)})
		denied := 0
		if c.want != "<nil>" {
			denied = 1
		}
		if fmt.Sprint(err) != c.want || len(n.decided) != denied || db.Stats().Denied-before.Denied != uint64(denied) {
			t.Errorf("%s by %v: %v, %d decisions seen, want %s", c.path, c.caller, err, len(n.decided), c.want)
		}
	}
}

// A caller's Trace is told of decisions for that caller and of no others, with and
// without an observer, and of a listen only the first one.
func TestCallerTrace(t *testing.T) {
	for name, n := range map[string]*noter{
		"no observer":   nil,
		"wants nothing": {wants: func(rules.Decision) bool { return false }},
		"panics":        {wants: everything, panics: true},
	} {
		o := Options{Rules: parseRules(t, `{"rules":{"a":{".read":"data.val() !== 2",".write":"newData.isNumber()"}}}`)}
		if n != nil {
			o.Observer = n
		}
		db := openTest(t, o)
		var traced []string
		tracing := Caller{Trace: func(q *rules.Request, t *rules.Trace) {
			traced = append(traced, fmt.Sprintf("%s of %d: %t", t.Rule, len(q.Writes), t.Allow))
		}}
		view := Read{Path: tree.MustParsePath("/a"), Plain: true, Caller: tracing}
		out := outbox.New(outbox.EventStream, 1<<20, func() {})
		defer out.Close()
		if _, err := db.Listen(t.Context(), view, "", out); err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"1", `"x"`, "2"} { // the last one ends the listen
			w := putOf(t, "/a", value)
			w.Caller = tracing
			_, err := db.Write(t.Context(), w)
			if (err == nil) != (value != `"x"`) {
				t.Errorf("%s: write of %s: %v", name, value, err)
			}
		}
		if _, err := db.Get(t.Context(), view); !errors.Is(err, fault.ErrDenied) {
			t.Errorf("%s: read: %v", name, err)
		}
		get(t, db, "/a")
		want := []string{"/a/.read of 0: true", "/a/.write of 1: true", "/a/.write of 1: false", "/a/.write of 1: true", "/a/.read of 0: false"}
		if !slices.Equal(traced, want) {
			t.Errorf("%s: traced %q, want %q", name, traced, want)
		}
	}
}

// What an observer tells goes to clients of the realtime protocol behind the text
// that they know.
func TestDeniedStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		text string
	}{
		{fault.ErrDenied, wire.TextPermissionDenied},
		{fault.Denied("/a/.read", ""), wire.TextPermissionDenied},
		{fault.Denied("/a/.read", "read /a: no"), wire.TextPermissionDenied + ": read /a: no"},
	} {
		if status, text := fault.Status(c.err); status != wire.StatusPermissionDenied || text != c.text {
			t.Errorf("%v is told as %s %q, want %q", c.err, status, text, c.text)
		}
	}
}

// An indifferent observer wants nothing.
type indifferent struct{}

func (indifferent) Wants(*rules.Ruleset, *rules.Request, rules.Decision) bool { return false }
func (indifferent) Decided(*rules.Ruleset, *rules.Request, *rules.Trace) string {
	return "not wanted"
}

// Without an observer, or with one that wants nothing, a decision allocates no
// more than deciding does.
func TestObservingIsFree(t *testing.T) {
	for _, o := range []access.Observer{nil, indifferent{}} {
		db := openTest(t, Options{Observer: o})
		q := &rules.Request{Op: rules.OpRead, Path: tree.MustParsePath("/a")}
		rs := db.Rules()
		if n := testing.AllocsPerRun(100, func() { _ = db.access.Authorize(t.Context(), rs, Caller{}, q) }); n != 0 {
			t.Errorf("with %T, a decision makes %g allocations", o, n)
		}
	}
}
