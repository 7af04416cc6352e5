package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// The tests in this file hold costs to what is touched, by counting rows.

// filled returns a store with a container of n objects at /list, each with a
// container of its own below it, so that no child is one row.
func filled(t *testing.T, n int) *Store {
	t.Helper()
	s := open(t, "")
	t.Cleanup(func() { s.Close() })
	deep := tree.MustParseNode(`{"pad":"` + strings.Repeat("x", PackLimit/2) + `","more":"` + strings.Repeat("y", PackLimit) + `"}`)
	for from := 0; from < n; from += 1000 {
		put(t, s, func(tx *Tx) error {
			for i := from; i < min(n, from+1000); i++ {
				p := tree.MustParsePath(fmt.Sprintf("list/k%06d", i))
				if _, err := tx.Put(p, deep.With(tree.MustParsePath("n"), tree.Number(float64(i)))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return s
}

// put carries out f in a write transaction and returns what it touched.
func put(t *testing.T, s *Store, f func(*Tx) error) Stats {
	t.Helper()
	return counted(t, s.Update, f)
}

// view carries out f in a read transaction and returns what it touched.
func view(t *testing.T, s *Store, f func(*Tx) error) Stats {
	t.Helper()
	return counted(t, s.View, f)
}

func counted(t *testing.T, run func(func(*Tx) error) error, f func(*Tx) error) (stats Stats) {
	t.Helper()
	err := run(func(tx *Tx) error {
		err := f(tx)
		stats = tx.Stats()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func build(t *testing.T, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Build(1000); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPeekReadsNoChildren(t *testing.T) {
	s := filled(t, 2000)
	list := tree.MustParsePath("list")
	stats := view(t, s, func(tx *Tx) error {
		_, isObject, err := tx.Peek(list)
		if !isObject {
			t.Error("the list is no object")
		}
		for key, err := range tx.Keys(list) {
			if key != "k000000" || err != nil {
				t.Errorf("the first key is %q, %v", key, err)
			}
			break
		}
		return err
	})
	if stats.Read > 5 {
		t.Errorf("Peek and the first of Keys read %d rows, want at most 5", stats.Read)
	}
}

func TestShallowReadsOneRowPerChild(t *testing.T) {
	const children = 2000
	s := filled(t, children)
	list := tree.MustParsePath("list")
	stats := view(t, s, func(tx *Tx) error {
		l, err := tx.Shallow(list, "", 0)
		if l.Keys.Len() != children {
			t.Errorf("Shallow gave %d keys, want %d", l.Keys.Len(), children)
		}
		return err
	})
	if most := children + 4; stats.Read > most {
		t.Errorf("a shallow read of %d children read %d rows, want at most %d", children, stats.Read, most)
	}
	stats = view(t, s, func(tx *Tx) error {
		l, err := tx.Shallow(list, "k000999", 10)
		if keys := slices.Collect(l.Keys.All()); len(keys) != 10 || keys[0] != "k001000" {
			t.Errorf("Shallow after k000999 gave %v", keys)
		}
		return err
	})
	if stats.Read > 16 {
		t.Errorf("a page of 10 keys read %d rows", stats.Read)
	}
}

// wide returns a store with n leaves below /big, made without going through
// the parser for speed.
func wide(t *testing.T, n int) *Store {
	t.Helper()
	s := open(t, "")
	t.Cleanup(func() { s.Close() })
	var b tree.Builder
	for i := range n {
		b.Child("k"+strconv.Itoa(1_000_000+i), tree.Number(float64(i)))
	}
	put(t, s, func(tx *Tx) error {
		_, err := tx.Put(tree.MustParsePath("big"), b.Node())
		return err
	})
	return s
}

func TestDeleteAndReplaceDoNotVisitDescendants(t *testing.T) {
	tier.Unraced(t)
	leaves := tier.Pick(100_000, 100_000, 1_000_000)
	s := wide(t, leaves)
	big := tree.MustParsePath("big")
	for _, c := range []struct {
		name string
		node tree.Node
	}{
		{"replace", tree.String("small")},
		{"delete", tree.Empty},
	} {
		stats := put(t, s, func(tx *Tx) error {
			_, err := tx.Put(big, c.node)
			return err
		})
		if stats.Written > 4 || stats.Read > 12 {
			t.Errorf("%s of %d leaves: %+v, want at most 4 rows written and 12 read", c.name, leaves, stats)
		}
		if c.node.IsEmpty() {
			break
		}
	}
	for more := true; more; {
		var err error
		if more, err = s.Reclaim(50_000, nil); err != nil {
			t.Fatal(err)
		}
	}
	rows := 0
	view(t, s, func(tx *Tx) error {
		for range tx.children(1) {
			rows++
		}
		return nil
	})
	if rows > 0 {
		t.Errorf("%d rows of the deleted node are left after reclaiming", rows)
	}
	check(t, s)
}

// TestReclaimStops: who has something better to do does not wait for more than a few
// rows, and nothing is left in the end.
func TestReclaimStops(t *testing.T) {
	for _, c := range []struct {
		name  string
		stop  func() bool
		least int // steps
	}{
		{"at once", func() bool { return true }, 10},
		{"never", func() bool { return false }, 1},
	} {
		s := filled(t, 10*reclaimAtOnce)
		put(t, s, func(tx *Tx) error {
			_, err := tx.Put(tree.MustParsePath("list"), tree.Empty)
			return err
		})
		steps := 0
		for more := true; more; steps++ {
			var err error
			if more, err = s.Reclaim(1000*reclaimAtOnce, c.stop); err != nil {
				t.Fatal(err)
			}
		}
		if steps < c.least {
			t.Errorf("all was freed in %d steps that stop %s, want at least %d", steps, c.name, c.least)
		}
		check(t, s)
	}
}

func TestIndexedRangeReadsItsWindow(t *testing.T) {
	tier.Unraced(t)
	const window = 50
	rows := tier.Pick(100_000, 100_000, 1_000_000)
	s := wide(t, rows)
	middle := float64(rows / 2)
	if err := s.Declare([]Index{{"/big", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	build(t, s)
	at := func(i float64) tree.Bound {
		return tree.Bound{Set: true, Value: tree.Number(i), KeyRank: tree.BeforeKeys}
	}
	for _, q := range []tree.Query{
		{OrderBy: tree.ByValue, Start: at(middle), Limit: window},
		{OrderBy: tree.ByValue, End: at(middle), Limit: window, FromLast: true},
		{OrderBy: tree.ByValue, Start: at(middle + 77), End: at(middle + 77 + window)},
		{OrderBy: tree.ByKey, Limit: window, FromLast: true},
		{Limit: window, FromLast: true},
		{Limit: window},
	} {
		stats := view(t, s, func(tx *Tx) error {
			n, err := tx.Window(tree.MustParsePath("big"), q, 0)
			if n.NumChildren() != window {
				t.Errorf("%s: %d children, want %d", q.ID(), n.NumChildren(), window)
			}
			return err
		})
		// For each child its entry and its row, and for each of those the way
		// down from the root.
		if most := 4*window + 20; stats.Read > most {
			t.Errorf("%s among %d rows read %d, want at most %d", q.ID(), rows, stats.Read, most)
		}
	}
}

// TestSmallWriteNextToLongString: a write next to a string that an index orders by reads no more of it than
// the entry has, and the entry is that of the whole string wherever it is cut.
func TestSmallWriteNextToLongString(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	if err := s.Declare([]Index{{"/posts", "title"}, {"/posts", `["title","likes"]`}, {"/titles", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	put(t, s, func(tx *Tx) error {
		mustPut(t, tx, "posts/long", tree.MustParseNode(`{"likes":0,"title":"`+strings.Repeat("long ", 200_000)+`"}`))
		return nil
	})
	build(t, s)
	stats := put(t, s, func(tx *Tx) error {
		mustPut(t, tx, "posts/long/likes", tree.Number(1))
		return nil
	})
	if stats.Long > 0 || stats.Read > 20 || stats.Written > 3 {
		t.Errorf("a small write next to a long string: %+v, want at most 20 rows read, 3 written, and none of the string", stats)
	}
	var titles []string
	for n := maxIndexed - 5; n < maxIndexed+5; n++ {
		for _, char := range []string{"x", "é", "€", "😀", "\x00", "\x01", `"`} {
			titles = append(titles, strings.Repeat("a", n)+strings.Repeat(char, PackLimit))
		}
	}
	titles = append(titles, strings.Repeat("\x01", PackLimit/5)) // shorter than an entry, but not as JSON
	var posts, values tree.Builder
	for i, title := range titles {
		key := fmt.Sprintf("k%03d", i)
		posts.Child(key, tree.MustParseNode(`{"likes":0}`).With(tree.MustParsePath("title"), tree.String(title)))
		values.Child(key, tree.String(title))
	}
	mustLoad(t, s, "titles", pieces, values.Node().JSON())
	put(t, s, func(tx *Tx) error { mustPut(t, tx, "posts", posts.Node()); return nil })
	checked(t, s)
	put(t, s, func(tx *Tx) error {
		for i := range titles {
			key := fmt.Sprintf("k%03d", i)
			mustPut(t, tx, "posts/"+key+"/likes", tree.Number(2))
			mustPut(t, tx, "posts/"+key+"/title", tree.Bool(true))
			mustPut(t, tx, "titles/"+key, tree.Empty)
		}
		return nil
	})
	checked(t, s)
}

func TestSmallWriteTouchesFewRows(t *testing.T) {
	s := filled(t, 2000)
	stats := put(t, s, func(tx *Tx) error {
		_, err := tx.Put(tree.MustParsePath("list/k000100/n"), tree.Number(-1))
		return err
	})
	if stats.Written > 1 || stats.Read > 3 {
		t.Errorf("a leaf among 2000 containers: %+v, want 1 row written and at most 3 read", stats)
	}
}
