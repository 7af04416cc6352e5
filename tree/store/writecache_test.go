package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// containerNode is an object that becomes a container.
func containerNode() tree.Node {
	return tree.MustParseNode(fmt.Sprintf(`{"a":%q,"b":%[1]q}`, strings.Repeat("x", PackLimit)))
}

func mustPut(t *testing.T, tx *Tx, path string, n tree.Node) {
	t.Helper()
	if _, err := tx.Put(tree.MustParsePath(path), n); err != nil {
		t.Fatalf("put %s: %v", path, err)
	}
}

// TestContainersAreReadOnce: the second write into a container finds its way
// there without reading, in the same transaction and in the next.
func TestContainersAreReadOnce(t *testing.T) {
	s := filled(t, 10)
	reads := func(path string) int {
		return put(t, s, func(tx *Tx) error {
			mustPut(t, tx, path, tree.Number(1))
			return nil
		}).Read
	}
	reads("list/k000003/x")
	if got := reads("list/k000003/y"); got != 1 {
		t.Errorf("a write into a known container read %d rows, want the one it changes", got)
	}
	stats := put(t, s, func(tx *Tx) error {
		for i := range 100 {
			mustPut(t, tx, fmt.Sprintf("list/k000003/z%d", i), tree.Number(1))
		}
		return nil
	})
	if stats.Read != 100 || stats.Written != 100 {
		t.Errorf("100 writes touched %+v, want 100 rows read and written", stats)
	}
}

// TestReplacedContainersAreForgotten goes through all ways in which a known
// container ceases to be one, or becomes another.
func TestReplacedContainersAreForgotten(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, tx *Tx){
		"a leaf":    func(t *testing.T, tx *Tx) { mustPut(t, tx, "c", tree.Bool(true)) },
		"deleted":   func(t *testing.T, tx *Tx) { mustPut(t, tx, "c", tree.Empty) },
		"another":   func(t *testing.T, tx *Tx) { mustPut(t, tx, "c", containerNode()) },
		"above":     func(t *testing.T, tx *Tx) { mustPut(t, tx, "", tree.MustParseNode(`{"d":1}`)) },
		"unchanged": func(*testing.T, *Tx) {},
		"pruned": func(t *testing.T, tx *Tx) {
			mustPut(t, tx, "c/a", tree.Empty)
			mustPut(t, tx, "c/b", tree.Empty)
		},
		"priority": func(t *testing.T, tx *Tx) {
			if _, err := tx.PutPriority(tree.MustParsePath("c"), tree.Number(7)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "")
			defer s.Close()
			put(t, s, func(tx *Tx) error {
				mustPut(t, tx, "c", containerNode())
				mustPut(t, tx, "d", containerNode())
				return nil
			})
			var want tree.Node
			put(t, s, func(tx *Tx) error {
				mustPut(t, tx, "c/a", tree.Number(1)) // the container is known
				change(t, tx)
				n, err := tx.Get(tree.Root)
				want = n.With(tree.MustParsePath("c/e"), tree.Number(2))
				mustPut(t, tx, "c/e", tree.Number(2))
				return err
			})
			view(t, s, func(tx *Tx) error {
				if got, err := tx.Get(tree.Root); got != want || err != nil {
					t.Errorf("the tree is %.300s, %v, want %.300s", got.JSON(), err, want.JSON())
				}
				return nil
			})
			check(t, s)
		})
	}
}

// TestRolledBackContainersAreForgotten: what a transaction knew of containers is
// gone with it if it is not committed, by its own will or because it can't.
func TestRolledBackContainersAreForgotten(t *testing.T) {
	for _, fail := range []bool{false, true} {
		t.Run(fmt.Sprint("fail=", fail), func(t *testing.T) {
			s := open(t, "")
			defer s.Close()
			put(t, s, func(tx *Tx) error { mustPut(t, tx, "c/a", tree.Number(1)); return nil })
			working := s.kv
			if fail {
				s.kv = brokenCommitKV{working}
			}
			tx, err := s.Begin(true)
			if err != nil {
				t.Fatal(err)
			}
			mustPut(t, tx, "c", containerNode())
			mustPut(t, tx, "c/e", tree.Number(2))
			if !fail {
				tx.Rollback()
			} else if err := tx.Commit(); !errors.Is(err, errBroken) {
				t.Fatalf("Commit() = %v, want %v", err, errBroken)
			}
			s.kv = working
			put(t, s, func(tx *Tx) error { mustPut(t, tx, "c/f", tree.Number(3)); return nil })
			if got, want := exported(t, s, tree.Root), `{"c":{"a":1,"f":3}}`; strings.TrimSpace(got) != want {
				t.Errorf("the tree is %.300s, want %s", got, want)
			}
			check(t, s)
		})
	}
}

type brokenCommitKV struct{ kv.Store }

func (k brokenCommitKV) Begin(writable bool) (kv.Tx, error) {
	tx, err := k.Store.Begin(writable)
	return brokenCommitTx{tx}, err
}

type brokenCommitTx struct{ kv.Tx }

func (brokenCommitTx) Commit() error { return errBroken }

// TestWriteCacheIsBounded: a writer that goes through many containers remembers some.
func TestWriteCacheIsBounded(t *testing.T) {
	d := newWriteCache()
	for i := range uint64(3 * maxKnown) {
		d.learn(idKey(i), row{tag: tagContainer, id: i})
		if len(d.containers) > maxKnown {
			t.Fatalf("%d containers are remembered", len(d.containers))
		}
	}
	d.learn(idKey(9), row{tag: tagContainer, id: 7, priority: tree.String(strings.Repeat("p", longPriority))})
	if r, ok := d.row(idKey(9)); !ok || r.id != 7 || !r.priority.IsEmpty() || !r.cut {
		t.Errorf("a container with a long priority is remembered as %+v", r)
	}
	d.learn(rootKey, packedRow(tree.Bool(true)))
	if r, ok := d.row(rootKey); ok {
		t.Errorf("a packed row is remembered: %+v", r)
	}
	d.taken.Lock()
	d.values = make([]byte, 0, 2*keptValues)
	d.leave(true)
	if cap(d.values) > keptValues {
		t.Errorf("%d bytes are kept for the next transaction", cap(d.values))
	}
}

// TestLongPriorities: a long priority is read where it is asked for, held there, and costs nothing below.
// It goes with its node, however that goes.
func TestLongPriorities(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	defer s.Close()
	if err := s.Declare([]Index{{"/", "c"}, {"/a", "c"}}); err != nil {
		t.Fatal(err)
	}
	build(t, s)
	long := func(text string) tree.Node { return tree.String(strings.Repeat(text, largeValue)) }
	blob := tree.String(strings.Repeat("b", PackLimit))
	want := tree.Empty
	set := func(path string, n tree.Node) {
		t.Helper()
		want = want.With(tree.MustParsePath(path), n)
		put(t, s, func(tx *Tx) error { mustPut(t, tx, path, n); return nil })
		view(t, s, func(tx *Tx) error {
			if got, err := tx.Get(tree.Root); got != want || err != nil {
				t.Fatalf("after a write of %s: %v, other text: %t", path, err, got != want)
			}
			return nil
		})
		checked(t, s)
	}
	set("", tree.MustParseNode(`{"z":1}`).WithPriority(tree.Number(1)))
	set("a/c", containerNode().WithPriority(long("c")))
	set("a", want.Get(tree.MustParsePath("a")).WithPriority(long("a")))
	set("a/blob", blob.WithPriority(long("d")))

	held := int64(0)
	hold := func(total int64) error { held = total; return nil }
	stats := view(t, s, func(tx *Tx) error {
		tx.Hold = hold
		_, err := tx.Get(tree.MustParsePath("a/c/a"))
		has, err2 := tx.Has(tree.MustParsePath("a/c"))
		_, _, err3 := tx.Peek(tree.MustParsePath("a/c"))
		if !has {
			t.Error("there is no a/c")
		}
		r, _, err4 := found(tx, tree.MustParsePath("a/c"), false)
		if !r.priority.IsEmpty() || !r.hasPriority() {
			t.Errorf("a row that is only passed has a priority of %d bytes, and one at all: %t", len(r.priority.Text()), r.hasPriority())
		}
		return errors.Join(err, err2, err3, err4)
	})
	if held > 0 || stats.Long > 2*PackLimit {
		t.Errorf("a read below long priorities holds %d bytes and reads %d of long strings", held, stats.Long)
	}
	view(t, s, func(tx *Tx) error {
		tx.Hold = hold
		p, err := tx.Priority(tree.MustParsePath("a/c"))
		if p != long("c") || held < largeValue {
			t.Errorf("a priority of %d bytes is read, %d are held", len(p.Text()), held)
		}
		leaf, _, err2 := tx.Peek(tree.MustParsePath("a/blob"))
		if leaf != blob.WithPriority(long("d")) {
			t.Errorf("a leaf of %d bytes", len(leaf.Text()))
		}
		return errors.Join(err, err2)
	})
	const most = 4
	for _, path := range []string{"a/c/d", "a/c/a"} {
		put(t, s, func(tx *Tx) error { mustPut(t, tx, path, tree.Number(0)); return nil })
		want = want.With(tree.MustParsePath(path), tree.Number(0))
		stats := put(t, s, func(tx *Tx) error { mustPut(t, tx, path, tree.Number(1)); return nil })
		want = want.With(tree.MustParsePath(path), tree.Number(1))
		if stats.Read > most || stats.Long > 0 {
			t.Errorf("a write below long priorities: %+v, want at most %d rows read", stats, most)
		}
	}
	for _, r := range s.cache.containers {
		if len(r.priority.Text()) > longPriority {
			t.Errorf("the write cache keeps a priority of %d bytes", len(r.priority.Text()))
		}
	}
	set("a/blob/x", tree.Number(1)) // an object with the priority of the string
	set("a/blob", tree.Empty)
	set("a/c/a", tree.Empty)
	set("a/c/b", tree.Empty)
	set("a/c/d", tree.Empty) // a goes with its last child
	view(t, s, func(tx *Tx) error {
		if has, err := tx.Has(tree.MustParsePath("a")); has || err != nil {
			t.Error("an object without children stays:", err)
		}
		return nil
	})
	wantClean(t, s)
}

// TestRowThatWasReadLast: what is read before it is written is read once, and each read sees what
// was written before it.
func TestRowThatWasReadLast(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	defer s.Close()
	put(t, s, func(tx *Tx) error {
		mustPut(t, tx, "set/c", containerNode())
		mustPut(t, tx, "set/d", containerNode())
		return nil
	})
	read := func(tx *Tx, path, want string) {
		t.Helper()
		n, err := tx.Get(tree.MustParsePath(path))
		if err != nil || n.JSON() != want {
			t.Errorf("%s is %s, %v, want %s", path, n.JSON(), err, want)
		}
	}
	put(t, s, func(tx *Tx) error {
		for _, value := range []string{`{"n":1}`, `{"n":2}`, "null", `"text"`} {
			before := tx.Stats().Read
			mustPut(t, tx, "set/c/other", tree.Number(1)) // reads the same containers
			alone := tx.Stats().Read - before
			read(tx, "set/c/k", map[string]string{`{"n":1}`: "null", `{"n":2}`: `{"n":1}`, "null": `{"n":2}`, `"text"`: "null"}[value])
			mustPut(t, tx, "set/d/k", tree.MustParseNode(value))
			before = tx.Stats().Read
			mustPut(t, tx, "set/c/k", tree.MustParseNode(value))
			if n := tx.Stats().Read - before; n >= alone && value != "null" {
				t.Errorf("a put of what was read reads %d rows, another one %d", n, alone)
			}
			read(tx, "set/c/k", value)
			read(tx, "set/d/k", value)
		}
		return nil
	})
	check(t, s)
}

// TestSmallPutAllocations holds a small write to what bbolt allocates for it: a
// cursor's stack and the key, and now and then room in a page.
func TestSmallPutAllocations(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	defer s.Close()
	put(t, s, func(tx *Tx) error {
		mustPut(t, tx, "set/c", containerNode())
		return nil
	})
	value := tree.MustParseNode(`{"n":1,"done":false,"text":"the quick brown fox jumps over the lazy dog"}`)
	var paths []tree.Path
	for i := range 400 {
		paths = append(paths, tree.MustParsePath(fmt.Sprintf("set/c/k%06d", i)))
	}
	put(t, s, func(tx *Tx) error {
		next := 0
		got := testing.AllocsPerRun(300, func() {
			if _, err := tx.Put(paths[next], value); err != nil {
				t.Fatal(err)
			}
			next++
		})
		if got > 2 {
			t.Errorf("a small put allocates %.0f times, want at most 2", got)
		}
		return nil
	})
}

// BenchmarkSmallPut is a write into one of few containers, without the commit.
func BenchmarkSmallPut(b *testing.B) {
	value := tree.MustParseNode(fmt.Sprintf(`{"n":1,"text":%q}`, strings.Repeat("x", 180)))
	for _, c := range []struct {
		name    string
		indexes []Index
	}{{"indexes=0", nil}, {"indexes=1", []Index{{"/set/$c", "n"}}}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Open(filepath.Join(b.TempDir(), "db"), Options{NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Declare(c.indexes); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				err := s.Update(func(tx *Tx) error {
					for range 256 {
						p := tree.Root.Child("set").Child(fmt.Sprint("c", n%16)).Child(fmt.Sprintf("k%08d", n/16))
						if _, err := tx.Put(p, value); err != nil {
							return err
						}
						n++
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/put")
		})
	}
}
