package resume

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// A fakeLog has the entries of commits 1, 2, 3…
type fakeLog struct {
	entries []entry.Entry
	rev     uint64
	trimmed uint64 // entries of revisions below are gone
	opened  int
	open    int // tails that hold something back
}

// commit appends a commit of a run.
func (f *fakeLog) commit(t *testing.T, run uint64, more bool, ops ...entry.Operation) {
	t.Helper()
	var enc entry.Encoder
	for _, op := range ops {
		enc.Add(op)
	}
	text := slices.Clone(enc.Seal(entry.Header{Database: 1, Run: run, Revision: f.rev + 1, More: more}))
	for len(text) > 0 {
		e, rest, err := entry.Next(text)
		if err != nil {
			t.Fatal(err)
		}
		f.entries, text = append(f.entries, e), rest
	}
	if !more {
		f.rev++
	}
}

func (f *fakeLog) tail(from uint64) (Tail, error) {
	f.opened++
	if from < f.trimmed {
		return nil, errors.New("trimmed")
	}
	f.open++
	at := slices.IndexFunc(f.entries, func(e entry.Entry) bool { return e.Revision >= from })
	if at < 0 {
		at = len(f.entries)
	}
	return &fakeTail{f, at}, nil
}

type fakeTail struct {
	log *fakeLog
	at  int
}

func (t *fakeTail) Ready() (e entry.Entry, ok bool, err error) {
	if t.at == len(t.log.entries) {
		return e, false, nil
	}
	t.at++
	return t.log.entries[t.at-1], true, nil
}

func (t *fakeTail) Close() { t.log.open-- }

func write(paths ...string) *entry.Write {
	w := new(entry.Write)
	for _, p := range paths {
		target, err := tree.ParseTarget(p)
		if err != nil {
			panic(err)
		}
		w.Writes = append(w.Writes, tree.ResolvedWrite{Target: target, Node: tree.MustParseNode(`1`)})
	}
	return w
}

func TestSince(t *testing.T) {
	const first, second = 0xabc00000001, 0xabc00000002
	f := new(fakeLog)
	f.commit(t, first, false, write("/old"))                                   // 1
	f.commit(t, first, false, write("/a/x"), write("/b"), write("/a/y", "/c")) // 2
	f.commit(t, first, false, write("/a/.priority"), write("/a/x/.priority"))  // 3
	f.commit(t, second, false, &entry.Seen{}, write("/a/x/deep"))              // 4
	f.commit(t, second, false, &entry.Rules{Version: []byte("{}")})            // 5
	f.commit(t, second, false, write("/a/z"))                                  // 6
	f.commit(t, second, false, &entry.Link{ID: "i"})                           // 7
	f.commit(t, second, true, &entry.Part{ID: "p", Text: `{"w":{"/a/part"`})   // 8
	f.commit(t, second, true, &entry.Part{ID: "p", Seq: 1, Text: `:1}}`})      // 8
	f.commit(t, second, false, &entry.Join{ID: "p", Parts: 2})                 // 8
	f.commit(t, second, false, write("/a", "/a/b"))                            // 9
	f.commit(t, second, false, write("/rooms"))                                // 10
	f.commit(t, second, false, write("/"))                                     // 11
	f.commit(t, second, false, &entry.Setting{Name: "n", Value: "v"})          // 12
	long := &entry.Write{Writes: []tree.ResolvedWrite{{Node: tree.MustParseNode(`"` + strings.Repeat("x", 300_000) + `"`)}}}
	long.Writes[0].Path = tree.MustParsePath("/a/long")
	f.commit(t, second, false, long, write("/a/last")) // 13, in several entries
	for _, c := range []struct {
		from  Position
		to    uint64
		path  string
		rests string
		want  string
	}{
		{Position{1, 0, 1}, 1, "/a", "", "[]"},
		{Position{1, 0, 1}, 2, "/a", "", "[/x /y]"},
		{Position{2, 0, 1}, 2, "/a", "", "[]"},
		{Position{2, 1, 1}, 2, "/a", "", "[/y]"},
		{Position{2, 2, 1}, 2, "/", "", "[/a/y /c]"},
		{Position{2, 3, 1}, 2, "/", "", "[]"},
		{Position{2, 4, 1}, 2, "/", "", "nobody knows"},
		{Position{2, 0, 2}, 2, "/", "", "nobody knows"}, // of another run
		{Position{2, 0, 1}, 3, "/a", "", "[]"},
		{Position{2, 0, 1}, 4, "/a", "", "[/x/deep]"},
		{Position{1, 0, 1}, 4, "/a", "", "[/x /y]"},
		{Position{1, 0, 1}, 2, "/c/d/e", "", "[/]"},
		{Position{1, 0, 1}, 4, "/a", "/users", "[/x /y]"},
		{Position{1, 0, 1}, 4, "/a", "/users /c", "nobody knows"},
		{Position{1, 0, 1}, 4, "/a", "/c/below", "nobody knows"},
		{Position{1, 0, 1}, 4, "/c", "/a", "nobody knows"},
		{Position{4, 0, 2}, 5, "/a", "", "nobody knows"}, // rules
		{Position{5, 0, 2}, 6, "/a", "", "[/z]"},
		{Position{6, 0, 2}, 7, "/x", "", "nobody knows"}, // an import
		{Position{7, 0, 2}, 8, "/a", "", "[/part]"},
		{Position{8, 0, 2}, 9, "/a", "", "[/]"},
		{Position{9, 0, 2}, 10, "/room", "", "[]"},
		{Position{9, 0, 2}, 11, "/room", "", "[/]"},
		{Position{11, 0, 2}, 12, "/", "", "[]"},
		{Position{12, 0, 2}, 13, "/a", "", "[/last /long]"},
		{Position{13, 1, 2}, 13, "/a", "", "[/last]"},
		{Position{13, 0, 2}, 14, "/a", "", "nobody knows"}, // a commit that is not in the log
		{Position{14, 0, 2}, 13, "/a", "", "nobody knows"}, // the future
		{Position{0, 0, 2}, 13, "/a", "", "nobody knows"},
		{Position{1 << 63, 0, 2}, 13, "/a", "", "nobody knows"},
	} {
		for _, asked := range []uint64{0, 1, 13} { // before
			h := NewHistory(3, second, f.tail)
			if asked > 0 {
				h.Reach(Position{Revision: asked}, asked)
			}
			q := Question{From: c.from, To: c.to, Path: tree.MustParsePath(c.path)}
			for p := range strings.FieldsSeq(c.rests) {
				q.Rests = append(q.Rests, tree.MustParsePath(p))
			}
			got := "nobody knows"
			if touched, ok := h.Since(q); ok {
				got = fmt.Sprint(pathsOf(touched))
			}
			if got != c.want {
				t.Errorf("at %s from %v to %d, after a question of %d: %s, want %s", c.path, c.from, c.to, asked, got, c.want)
			}
		}
	}
	if f.open > 0 {
		t.Errorf("%d readers hold the log back", f.open)
	}
}

// pathsOf returns the paths of what was touched, with a minus where something was removed.
func pathsOf(touched []Touched) (list []string) {
	for _, t := range touched {
		p := t.Path.String()
		if t.Removed && !t.Path.IsRoot() {
			p += "-"
		}
		list = append(list, p)
	}
	return list
}

// TestRemoved: of what was touched it is known whether something was removed there.
func TestRemoved(t *testing.T) {
	remove := func(paths ...string) *entry.Write {
		w := write(paths...)
		for i := range w.Writes {
			w.Writes[i].Node = tree.Empty
		}
		return w
	}
	f := new(fakeLog)
	f.commit(t, 1, false, write("/x"))
	f.commit(t, 1, false, remove("/a/b"), write("/a/b"), write("/a/c"), remove("/a/c/d"), remove("/a/e/.priority"), write("/a/f"))
	got, _ := NewHistory(0, 1, f.tail).Since(Question{From: Position{1, 0, 1}, To: 2, Path: tree.MustParsePath("/a"), Priorities: true})
	if want := "[/b- /c- /e /f]"; fmt.Sprint(pathsOf(got)) != want {
		t.Errorf("touched are %v, want %s", pathsOf(got), want)
	}
}

// TestPosition: the place behind a commit names the run that made it.
func TestPosition(t *testing.T) {
	f := new(fakeLog)
	f.commit(t, 7, false, write("/a"))
	f.commit(t, 7, false, write("/a"))
	h := NewHistory(2, 8, f.tail)
	for rev, want := range []Position{{}, {1, 0, 7}, {2, 0, 7}, {3, 0, 8}} {
		if got := h.Position(uint64(rev)); got != want {
			t.Errorf("the place behind commit %d is %v, want %v", rev, got, want)
		}
	}
	for _, asked := range []bool{false, true} { // whether Position has read the log
		h := NewHistory(2, 8, f.tail)
		want := Position{}
		if asked {
			want = h.Position(2)
		}
		if got := h.Known(2); got != want {
			t.Errorf("without reading, asked before: %t, the place behind commit 2 is %v, want %v", asked, got, want)
		}
		if got := h.Known(3); got != (Position{3, 0, 8}) {
			t.Errorf("without reading, the place behind commit 3 is %v", got)
		}
	}
	f.trimmed = 9
	if got := NewHistory(2, 8, f.tail).Position(2); got != (Position{}) {
		t.Errorf("of a commit that is gone it is %v", got)
	}
}

// TestHistoryBounds: what takes long is not done, and not tried again.
func TestHistoryBounds(t *testing.T) {
	f := new(fakeLog)
	for i := range 3 * MaxCommits {
		f.commit(t, 1, false, write(fmt.Sprintf("/a/k%d", i)))
	}
	h := NewHistory(0, 1, f.tail)
	since := func(from, to uint64, rests ...tree.Path) (n int, ok bool) {
		list, ok := h.Since(Question{From: Position{from, 0, 1}, To: to, Path: tree.MustParsePath("/a"), Rests: rests})
		return len(list), ok
	}
	if _, ok := since(1, MaxCommits+2); ok || f.opened > 0 {
		t.Errorf("of too many commits it is known: %t, after %d readings", ok, f.opened)
	}
	if n, ok := since(1, MaxTouched+1); !ok || n != MaxTouched {
		t.Errorf("of %d paths %d are known", MaxTouched, n)
	}
	if _, ok := since(1, MaxTouched+2); ok {
		t.Error("more paths than that are known")
	}
	if _, ok := since(1, 900, make([]tree.Path, 400)...); ok {
		t.Error("it is known what takes many comparisons")
	}
	if n, ok := since(MaxCommits+600, MaxCommits+610); !ok || n != 10 {
		t.Errorf("of 10 commits %d are known", n)
	}
	if len(h.commits) > MaxCommits+1 || h.bytes > maxBytes {
		t.Errorf("%d commits are kept, in %d bytes", len(h.commits), h.bytes)
	}
	large := new(fakeLog)
	for range 100 {
		w := write("/a")
		w.Writes[0].Path = tree.MustParsePath("/a/" + strings.Repeat("long/", 30))
		large.commit(t, 1, false, slices.Repeat([]entry.Operation{w}, 300)...)
	}
	h = NewHistory(0, 1, large.tail)
	for range 3 {
		if _, ok := since(1, 100); ok || h.bytes > maxBytes {
			t.Errorf("more is known than may be kept: %t, %d bytes", ok, h.bytes)
		}
	}
	if large.opened > 1 {
		t.Errorf("the log was opened %d times for that", large.opened)
	}
	if _, ok := since(98, 100); !ok {
		t.Error("of the last two commits nothing is known")
	}
}

// TestHistoryForgets: what is known is forgotten after a time without questions.
func TestHistoryForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fakeLog)
		f.commit(t, 1, false, write("/a"))
		f.commit(t, 1, false, write("/b"))
		h := NewHistory(0, 1, f.tail)
		for _, wait := range []time.Duration{0, keptAlive / 2, keptAlive / 2, keptAlive + 1} {
			time.Sleep(wait)
			synctest.Wait()
			if known := h.tail != nil; known == (wait == 0 || wait > keptAlive) {
				t.Errorf("after %v it is known: %t", wait, known)
			}
			if list, ok := h.Since(Question{From: Position{1, 0, 1}, To: 2}); !ok || len(list) != 1 {
				t.Errorf("after %v: %v %t", wait, list, ok)
			}
		}
	})
}

// TestMarks: the text of a position is read by the marks of the same view only.
func TestMarks(t *testing.T) {
	a, b := tree.MustParsePath("/a"), tree.MustParsePath("/b")
	m := NewMarks(5, a, "q")
	p := Position{1 << 40, 7, 9}
	text := string(m.Append(nil, p))
	if got, ok := m.Read(text); !ok || got != p || len(text) != 22 {
		t.Errorf("%v became %q and %v", p, text, got)
	}
	if got, _ := NewMarks(5, a, "q").Read(text); got != p {
		t.Errorf("other marks of the same view read %v", got)
	}
	for name, other := range map[string]*Marks{
		"database": NewMarks(6, a, "q"), "path": NewMarks(5, b, "q"), "query": NewMarks(5, a, ""), "log": NewMarks(0, a, "q"), "border": NewMarks(5, tree.Root, "a\x00q"),
		"session": SessionMarks(5, "q"), "kind": NewMarks(5, tree.Root, "q"),
	} {
		if got, ok := other.Read(text); ok && got == p {
			t.Errorf("the marks of another %s read the same", name)
		}
	}
	if got := m.Append(nil, Position{}); len(got) > 0 {
		t.Errorf("nowhere is %q", got)
	}
	for _, text := range []string{"", "x", strings.Repeat("!", 22), strings.Repeat("A", 23), text + "\n"} {
		if got, ok := m.Read(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	next := string(m.Append(nil, Position{1<<40 + 1, 7, 9}))
	if same := strings.TrimLeft(next, text[:4]); len(same) < len(next)-3 {
		t.Errorf("%q and %q begin alike", text, next)
	}
}
