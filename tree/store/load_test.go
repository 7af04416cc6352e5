package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// tiny makes a load take apart and store in parts what is a few bytes long.
var tiny = LoadOptions{WholeBytes: 16, SliceBytes: 512}

// loadText replaces the value at p by a text and checks the store.
func loadText(t testing.TB, s *Store, p tree.Path, o LoadOptions, src io.Reader) error {
	t.Helper()
	l, err := s.NewLoad(p, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Read(context.Background(), src); err != nil {
		if err := l.Abort(); err != nil {
			t.Fatal(err)
		}
		return err
	}
	return s.Update(func(tx *Tx) error {
		_, err := l.Link(tx)
		return err
	})
}

func mustLoad(t testing.TB, s *Store, path string, o LoadOptions, text string) {
	t.Helper()
	if err := loadText(t, s, tree.MustParsePath(path), o, strings.NewReader(text)); err != nil {
		t.Fatalf("load %s %.200s: %v", path, text, err)
	}
}

func wantTree(t testing.TB, s *Store, p tree.Path, want tree.Node) {
	t.Helper()
	err := s.View(func(tx *Tx) error {
		got, err := tx.Get(p)
		if got != want {
			t.Errorf("%s is\n%.500s\nwant\n%.500s", p, got.JSON(), want.JSON())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantClean drains the background work and wants nothing to be left over.
func wantClean(t testing.TB, s *Store) {
	t.Helper()
	for _, when := range []string{"at once", "after all work"} {
		findings, err := s.Check()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			t.Errorf("%s: %v", when, f)
		}
		reclaim := func(budget int) (bool, error) { return s.Reclaim(budget, nil) }
		for _, work := range []func(int) (bool, error){s.Build, reclaim} {
			for more := true; more; {
				if more, err = work(1000); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	err := s.View(func(tx *Tx) error {
		left, err := loadRecords(tx)
		if len(left) > 0 {
			t.Errorf("%d loads are on record", len(left))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loadTexts are values with all that the dialect has, good ones and bad ones.
var loadTexts = []string{
	`null`, `true`, ` 12.50 `, `"text"`, `{}`, `[]`, `[null, null]`, `{"a": null}`,
	`{"b": 1, "a": 2, "10": 3, "9": 4}`,
	`{"a": 1, "b": 2, "a": 3, "c": {"x": "a longer text here"}, "c": null}`,
	`{"c": {"x": "a longer text here"}, "c": {"y": "another long text"}, "a": {"b": "ccccccccccccccccccc"}}`,
	`{"a": {"x": "a longer text here"}, "a": null, "b": null}`,
	`{"b": "longer than sixteen", "a": null, "b": null, "b": null}`,
	`[1, "two, a longer text", null, [4, [5, [6, {"seven": 7.0}]]], {"8": {".priority": 1, ".value": "nine"}}]`,
	`{".value": "a value that is long", ".priority": "and its priority"}`,
	`{".priority": 3, ".value": {"x": {"y": "a value that is long"}, ".priority": 9}}`,
	`{".value": "a first long value", ".value": {"x": "a second long value"}, ".value": "a third long value", ".priority": 0}`,
	`{".value": {"x": "a first long value"}, ".value": null, "b": 1}`,
	`{".value": null, ".priority": 1, "children": {"are": "what is there", ".priority": null}}`,
	`{".priority": "p", ".priority": 2, "a": {".priority": "q", "b": {".priority": -1e3, "c": true}}}`,
	`{"` + strings.Repeat(`\u0061`, 20) + `": "` + strings.Repeat(`\ud83d\ude00é\n`, 40) + `"}`,
	`"` + strings.Repeat("é😀\\\"\\u00e9\\\\", 50) + `"`,
	`{"a b": "x", "*?": "\u0000\u001f", "😀": "﷐", "ﷰ": "order of text", "-5": 1, "007": 2}`,
	`{"n": [9007199254740993, -0, 0.1e1, 1E400]}`,
	`{"n": [9007199254740993, -0, 0.1e1, 1E40, 123456789012345678901234567890]}`,
	strings.Repeat(`{"a":`, 32) + `"deep as can be"` + strings.Repeat(`}`, 32),
	strings.Repeat(`{"a":`, 33) + `"too deep, by one"` + strings.Repeat(`}`, 33),
	strings.Repeat(`[`, 33) + `"too deep, by one"` + strings.Repeat(`]`, 33),
	strings.Repeat(`{".value":`, 60) + `"a leaf all the same"` + strings.Repeat(`}`, 60),

	``, ` `, `nul`, `nulll`, `tru`, `+1`, `01`, `1.`, `.5`, `-`, `1e`, `1 2`, `{} {}`, `"open`, `{"open`, `{"a`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`,
	`[1`, `[1,`, `[1,]`, `[,1]`, `{,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{'a':1}`, `[1}`, `{"a":[1}`, `{"a":{"b":1]}`,
	`{"a.b": "an invalid key"}`, `{"": "an empty key here"}`, `{"` + strings.Repeat("k", 769) + `": "a key that is too long"}`,
	`{"` + strings.Repeat("k", 768) + `": "a key that is as long as can be"}`,
	`{".sv": "timestamp", "x": 1, "y": 2}`, `{"count of something": {".sv": {"increment": 1}}}`, `{".other": "a reserved key"}`,
	`{".value": "beside children", "a": 1}`, `{"a": 1, ".value": {}, "b": "beside children"}`,
	`{".priority": true, "a": "wrong priority"}`, `{".priority": {"a": 1}, "a": "wrong priority"}`, `{".priority": {".value": 4}, "a": "a strange priority"}`,
	"{\"a\": \"a string with\ttab\"}", "\"\xff and much more text\"", "{\"k\xff\": \"and more text\"}", `"\ud800 and much more"`, `"\x and much more text"`, `"\u12 and more text here"`,
	"[\"\xe9\xe9\xe9\xe9 wrong text, long enough to be read in parts\"]",
}

// reference reads a text as a whole, without the means that loads do not have.
func reference(text string) (tree.Node, error) {
	n, err := tree.ParseNode(text)
	if err == nil && strings.Contains(text, ".sv") {
		err = errors.New("server value")
	}
	return n, err
}

func TestLoadReadsWhatParseNodeReads(t *testing.T) {
	tier.Unraced(t)
	for _, o := range []LoadOptions{{}, tiny, {WholeBytes: 1, SliceBytes: 1}, {WholeBytes: 40}} {
		for _, text := range loadTexts {
			for name, src := range map[string]io.Reader{
				"at once":      strings.NewReader(text),
				"byte by byte": iotest.OneByteReader(strings.NewReader(text)),
				"with its end": iotest.DataErrReader(strings.NewReader(text)),
			} {
				compareLoad(t, o, name, text, src)
			}
		}
	}
}

func compareLoad(t *testing.T, o LoadOptions, name, text string, src io.Reader) {
	t.Helper()
	s := open(t, "")
	defer s.Close()
	old := tree.MustParseNode(`{"what": "was there before"}`)
	put(t, s, func(tx *Tx) error { _, err := tx.Put(tree.Root, old); return err })
	want, wantErr := reference(text)
	err := loadText(t, s, tree.Root, o, src)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%s, %+v: load of %.120q: %v; parsed as a whole: %v", name, o, text, err, wantErr)
	}
	if err != nil {
		want = old
	}
	wantTree(t, s, tree.Root, want)
	wantClean(t, s)
}

// TestLoadErrorsSayWhere compares the positions of errors with those that
// package tree gives.
func TestLoadErrorsSayWhere(t *testing.T) {
	filler := "{\"filler\": \"something\nthat is long\",\n\n"
	for _, c := range []struct {
		text string
		line int
		col  int
	}{
		{strings.ReplaceAll(filler, "g\nt", "g t") + `  "a.b": 1}`, 3, 3},
		{strings.ReplaceAll(filler, "g\nt", "g t") + "  \"a\": [\n tru ]}", 4, 2},
		{strings.ReplaceAll(filler, "g\nt", "g t") + "  \"a\": \"a long string with a bad \\x escape\"}", 3, 34},
		{`{"list": ["some elements here", "and some more here", nul]}`, 1, 55},
		{`["some elements here", "and some more here", 1 2]`, 1, 48},
		{filler, 1, 22},
	} {
		for _, o := range []LoadOptions{{}, tiny} {
			s := open(t, "")
			err := loadText(t, s, tree.Root, o, iotest.OneByteReader(strings.NewReader(c.text)))
			s.Close()
			e := (*tree.ParseError)(nil)
			if !errors.As(err, &e) || e.Line != c.line || e.Col != c.col {
				t.Errorf("%+v: %.70q: %v, want an error at %d:%d", o, c.text, err, c.line, c.col)
			}
		}
	}
}

// TestLoadRandom loads what the model's generator makes, at random places, with
// indexes, and compares with the same tree in memory.
func TestLoadRandom(t *testing.T) {
	tier.Unraced(t)
	for seed := range uint64(max(tier.Pick(2, 3, 6), modelSteps()/1000)) {
		m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 7))}
		if seed%3 == 0 {
			m.file = filepath.Join(t.TempDir(), "data.db")
		}
		m.store = open(t, m.file)
		if err := m.store.Declare(m.indexes()); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			m.loadStep()
			m.compare()
		}
		check(t, m.store)
		m.drain()
		m.compare()
		wantClean(t, m.store)
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, m.tail())
		}
	}
}

// loadStep is a step of the model that loads; while it does, another step may be
// taken.
func (m *model) loadStep() {
	p, n := m.path(4), m.node(3)
	m.log = append(m.log, fmt.Sprintf("load %s %.80s", p, n.JSON()))
	o := LoadOptions{WholeBytes: 1 << m.rnd.IntN(14), SliceBytes: 1 << m.rnd.IntN(16)}
	l, err := m.store.NewLoad(p, o)
	if err != nil {
		m.t.Fatal(err)
	}
	if m.rnd.IntN(2) == 0 {
		m.stepOpen()
	}
	if err := l.Read(context.Background(), strings.NewReader(m.shuffled(n))); err != nil {
		m.t.Fatalf("load %.300s: %v", n.JSON(), err)
	}
	if m.rnd.IntN(8) == 0 {
		if err := l.Abort(); err != nil {
			m.t.Fatal(err)
		}
		return
	}
	if m.rnd.IntN(3) == 0 {
		if err := m.store.Declare(m.indexes()); err != nil {
			m.t.Fatal(err)
		}
	}
	err = m.store.Update(func(tx *Tx) error { _, err := l.Link(tx); return err })
	if err != nil {
		m.t.Fatal(err)
	}
	m.want = m.want.With(p, n)
}

// stepOpen takes a step that does not reopen the file.
func (m *model) stepOpen() {
	file := m.file
	m.file = ""
	m.step()
	m.file = file
}

// shuffled returns the text of a node with its keys in some order, and with some
// of them before that, with values that do not count.
func (m *model) shuffled(n tree.Node) string {
	if !n.IsObject() {
		return n.JSON()
	}
	var members, wrong []string
	for key, child := range n.Children() {
		name := tree.String(key).Text() + " : "
		members = append(members, name+m.shuffled(child))
		if m.rnd.IntN(10) == 0 {
			wrong = append(wrong, name+m.node(1).JSON())
		}
	}
	if p := n.Priority(); !p.IsEmpty() {
		members = append(members, `".priority":`+p.JSON())
	}
	if m.rnd.IntN(2) == 0 {
		m.rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return "{" + strings.Join(append(wrong, members...), " ,\n") + "}"
}
