package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// countOf returns a count, and what it touched.
func countOf(t *testing.T, s *Store, path string, q tree.Query) (n int, stats Stats) {
	t.Helper()
	stats = view(t, s, func(tx *Tx) (err error) {
		n, err = tx.Count(tree.MustParsePath(path), q)
		return err
	})
	return n, stats
}

// checked fails the test if something is wrong with the store.
func checked(t *testing.T, s *Store) {
	t.Helper()
	findings, err := s.Check()
	if err != nil || len(findings) > 0 {
		t.Fatalf("%v, %v", findings, err)
	}
}

// number returns an object of n numbers, more than one row.
func number(n int) tree.Node {
	var b tree.Builder
	for i := range n {
		b.Child(fmt.Sprintf("k%06d", i), tree.Number(float64(i)))
	}
	return b.Node()
}

// TestCountCosts: all children of a container cost a row more than the way there, a
// range the entries in it.
func TestCountCosts(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	if err := s.Declare([]Index{{"/list", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = s.Build(1000); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, func(tx *Tx) error {
		_, err := tx.Put(tree.MustParsePath("list"), number(5000))
		return err
	})
	for _, test := range []struct {
		query      tree.Query
		want, most int
	}{
		{tree.Query{}, 5000, 4},
		{tree.Query{OrderBy: tree.ByKey}, 5000, 4},
		{tree.Query{OrderBy: "none"}, 5000, 4},
		{tree.Query{Limit: 7}, 7, 4},
		{tree.Query{OrderBy: tree.ByKey, Start: tree.Bound{Set: true, Value: tree.String("k004990")}}, 10, 15},
		{tree.Query{OrderBy: tree.ByKey, End: tree.Bound{Set: true, Value: tree.String("k000009")}}, 10, 15},
		{tree.Query{OrderBy: tree.ByKey, Start: tree.Bound{Set: true, Value: tree.String("k000001")}, Limit: 100}, 100, 105},
		{tree.Query{OrderBy: tree.ByValue, Start: tree.Bound{Set: true, Value: tree.Number(4000), KeyRank: tree.BeforeKeys}}, 1000, 1010},
		{tree.Query{OrderBy: tree.ByValue, End: tree.Bound{Set: true, Value: tree.Number(9), KeyRank: tree.AfterKeys}}, 10, 15},
	} {
		if n, stats := countOf(t, s, "list", test.query); n != test.want || stats.Read > test.most {
			t.Errorf("%+v: %d with %+v, want %d", test.query, n, stats, test.want)
		}
	}
	checked(t, s)
}

// TestCountFollows: the number agrees with the children after each way of writing.
func TestCountFollows(t *testing.T) {
	tier.Unraced(t)
	for _, file := range []string{"", filepath.Join(t.TempDir(), "db")} {
		s := open(t, file)
		wants := func(path string, want int) {
			t.Helper()
			if n, stats := countOf(t, s, path, tree.Query{}); n != want || stats.Visited > 0 {
				t.Errorf("%s: %d with %+v, want %d", path, n, stats, want)
			}
			checked(t, s)
		}
		set := func(path string, n tree.Node) {
			put(t, s, func(tx *Tx) error {
				_, err := tx.Put(tree.MustParsePath(path), n)
				return err
			})
		}
		set("a/list", number(1000))
		wants("a/list", 1000)
		set("a/list/k000001", tree.Empty)
		set("a/list/k000002", tree.Empty)
		set("a/list/k000002", tree.Empty)
		wants("a/list", 998)
		set("a/list/new", tree.Bool(true))
		set("a/list/new", tree.Bool(false))
		set("a/list/k000003/below", tree.Bool(false))
		wants("a/list", 999)
		put(t, s, func(tx *Tx) error { // one that comes and goes in one transaction
			_, err := tx.Put(tree.MustParsePath("a/list/x"), tree.Bool(true))
			if n, e := tx.Count(tree.MustParsePath("a/list"), tree.Query{}); n != 1000 || e != nil {
				t.Errorf("in the transaction: %d, %v", n, e)
			}
			_, again := tx.Put(tree.MustParsePath("a/list/x"), tree.Empty)
			return errors.Join(err, again)
		})
		wants("a/list", 999)
		failed := errors.New("failed")
		err := s.Update(func(tx *Tx) error {
			_, err := tx.Put(tree.MustParsePath("a/list/y"), tree.Bool(true))
			return errors.Join(err, failed)
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		wants("a/list", 999)
		set("a/list", number(500))
		wants("a/list", 500)
		put(t, s, func(tx *Tx) error { // until nothing is left
			for i := range 500 {
				if _, err := tx.Put(tree.MustParsePath(fmt.Sprintf("a/list/k%06d", i)), tree.Empty); err != nil {
					return err
				}
			}
			return nil
		})
		wants("a/list", 0)
		mustLoad(t, s, "b/list", pieces, numbers(3000, false))
		wants("b/list", 3000)
		mustLoad(t, s, "b/list/k000005/deep/list", pieces, numbers(2000, true)) // grafted into a row
		wants("b/list/k000005/deep/list", 2000)
		wants("b/list", 3000)
		mustLoad(t, s, "b/list/another", pieces, numbers(100, false))
		wants("b/list", 3001)
		for more := true; more; {
			var err error
			if more, err = s.Reclaim(100, nil); err != nil {
				t.Fatal(err)
			}
		}
		wants("b/list", 3001)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// numbers is the text of an object of n members. Mixed up, they do not ascend, some
// come twice, and some are taken away again.
func numbers(n int, mixed bool) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		k := i
		if mixed {
			k = (i*7919 + 13) % n
		}
		fmt.Fprintf(&b, `"k%06d":%d,`, k, k)
		if mixed && i%10 == 0 {
			fmt.Fprintf(&b, `"k%06d":"again","gone%d":1,"gone%d":null,`, k, i, i)
		}
	}
	return strings.TrimSuffix(b.String(), ",") + "}"
}

// pieces makes a load of many small slices.
var pieces = LoadOptions{SliceBytes: 4 << 10, WholeBytes: 1 << 10}

// TestCountModel: a count is the length of the full answer.
func TestCountModel(t *testing.T) {
	tier.Unraced(t)
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open("", Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Declare([]Index{{"/l", "v"}}); err != nil {
			t.Fatal(err)
		}
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("k", rapid.IntRange(0, 30).Draw(t, "k")) })
		value := rapid.SampledFrom([]string{"null", "1", `{"v":1}`, `{"v":2,".priority":1}`, `{"v":"a"}`, `{".value":3,".priority":"p"}`,
			`{"v":"` + strings.Repeat("z", 600) + `"}`, `{"v":{"x":1}}`, `{"v":3,"pad":"` + strings.Repeat("x", PackLimit) + `"}`})
		for range rapid.IntRange(1, 40).Draw(t, "writes") {
			p := tree.MustParsePath("l/" + key.Draw(t, "key"))
			if rapid.IntRange(0, 40).Draw(t, "whole") == 0 {
				p, _ = p.Parent()
			}
			n := tree.MustParseNode(value.Draw(t, "value"))
			if err := s.Update(func(tx *Tx) error {
				_, err := tx.Put(p, n)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if rapid.Bool().Draw(t, "indexed") {
			for more := true; more; {
				if more, err = s.Build(7); err != nil {
					t.Fatal(err)
				}
			}
		}
		bound := rapid.Custom(func(t *rapid.T) tree.Bound {
			return tree.Bound{
				Set:     rapid.Bool().Draw(t, "set"),
				Value:   tree.MustParseNode(rapid.SampledFrom([]string{"1", "2", `"a"`, `"k11"`, "null"}).Draw(t, "value")),
				KeyRank: tree.KeyRank(rapid.IntRange(-1, 1).Draw(t, "rank")),
				Key:     "k11",
			}
		})
		for range 10 {
			q := tree.Query{
				OrderBy:  rapid.SampledFrom([]string{tree.ByKey, tree.ByPriority, tree.ByValue, "v"}).Draw(t, "order"),
				Start:    bound.Draw(t, "start"),
				End:      bound.Draw(t, "end"),
				Limit:    rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "limit"),
				FromLast: rapid.Bool().Draw(t, "last"),
			}
			if q.OrderBy == tree.ByKey {
				for _, b := range []*tree.Bound{&q.Start, &q.End} {
					if _, isText := b.Value.StringValue(); !isText {
						b.Set = false
					}
				}
			}
			err := s.View(func(tx *Tx) error {
				entries, err := tx.Query(tree.MustParsePath("l"), q)
				if err != nil {
					return err
				}
				if n, err := tx.Count(tree.MustParsePath("l"), q); n != len(entries) || err != nil {
					t.Errorf("%+v: %d, %v, want %d", q, n, err, len(entries))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if findings, err := s.Check(); err != nil || len(findings) > 0 {
			t.Fatalf("%v, %v", findings, err)
		}
	})
}

// oldFile makes a file as one of the first versions would have left it, with a
// container of n children at /list.
func oldFile(t *testing.T, n int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "db")
	s := open(t, file)
	put(t, s, func(tx *Tx) error {
		_, err := tx.Put(tree.MustParsePath("list"), number(n))
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(file, 0o600, nil)
	if err == nil {
		err = db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte{byte(kv.Counts)}) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCountOldFile: children of containers of which no number is kept are counted
// one by one, until KeepCount.
func TestCountOldFile(t *testing.T) {
	file := oldFile(t, 3000)
	r, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := countOf(t, r, "list", tree.Query{}); n != 3000 {
		t.Errorf("%d children of a file that is opened to read", n)
	}
	checked(t, r)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	s := open(t, file)
	defer s.Close()
	list := tree.MustParsePath("list")
	remove := func(key string) {
		put(t, s, func(tx *Tx) error {
			_, err := tx.Put(list.Child(key), tree.Empty)
			return err
		})
	}
	remove("k000001")
	if n, stats := countOf(t, s, "list", tree.Query{}); n != 2999 || stats.Visited != 2999 {
		t.Errorf("%d children with %+v", n, stats)
	}
	if n, stats := countOf(t, s, "list", tree.Query{Limit: 10}); n != 10 || stats.Visited > 11 {
		t.Errorf("of the first 10: %d with %+v", n, stats)
	}
	written := false
	err = s.KeepCount(list, func() error { // somebody writes while the children are counted
		if !written {
			written = true
			remove("k000002")
			remove("k002500")
		}
		return nil
	})
	if err != nil || !written {
		t.Fatal(written, err)
	}
	if n, stats := countOf(t, s, "list", tree.Query{}); n != 2997 || stats.Visited != 0 {
		t.Errorf("then %d children with %+v", n, stats)
	}
	remove("k000003")
	if n, _ := countOf(t, s, "list", tree.Query{}); n != 2996 {
		t.Errorf("then %d children", n)
	}
	checked(t, s)
	if err := errors.Join(s.KeepCount(list, nil), s.KeepCount(tree.MustParsePath("none"), nil)); err != nil {
		t.Error(err)
	}
}

// TestKeepCountOfWhatGoes: a container that is replaced and reclaimed while its
// children are counted leaves no number behind.
func TestKeepCountOfWhatGoes(t *testing.T) {
	s := open(t, oldFile(t, 3000))
	defer s.Close()
	list, gone := tree.MustParsePath("list"), false
	err := s.KeepCount(list, func() error {
		if gone {
			return nil
		}
		gone = true
		put(t, s, func(tx *Tx) error {
			_, err := tx.Put(list, number(500))
			return err
		})
		_, err := s.Reclaim(10_000, nil)
		return err
	})
	if err != nil || !gone {
		t.Fatal(gone, err)
	}
	if n, stats := countOf(t, s, "list", tree.Query{}); n != 500 || stats.Visited != 0 {
		t.Errorf("%d with %+v", n, stats)
	}
	checked(t, s)

	stop := errors.New("stop")
	again := open(t, oldFile(t, 3000))
	defer again.Close()
	if err := again.KeepCount(list, func() error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := again.KeepCount(list, nil); err != nil {
		t.Error(err)
	}
	checked(t, again)
}

// TestCheckCounts: numbers that are wrong are found.
func TestCheckCounts(t *testing.T) {
	for name, damage := range map[string]func(tx *Tx, id uint64) error{
		"too many":   func(tx *Tx, id uint64) error { return tx.put(kv.Counts, idKey(id), []byte{7}) },
		"unreadable": func(tx *Tx, id uint64) error { return tx.put(kv.Counts, idKey(id), []byte{0x80}) },
		"stray":      func(tx *Tx, id uint64) error { return tx.put(kv.Counts, idKey(id+1000), []byte{7}) },
		"stray key":  func(tx *Tx, id uint64) error { return tx.put(kv.Counts, []byte("x"), []byte{7}) },
	} {
		s := open(t, "")
		put(t, s, func(tx *Tx) error {
			_, err := tx.Put(tree.MustParsePath("list"), number(1000))
			return err
		})
		checked(t, s)
		put(t, s, func(tx *Tx) error {
			r, _, err := tx.find(tree.MustParsePath("list"))
			return errors.Join(err, damage(tx, r.id))
		})
		if findings, err := s.Check(); err != nil || len(findings) == 0 {
			t.Errorf("%s: %v, %v", name, findings, err)
		}
		s.Close()
	}
}

func BenchmarkCountMillion(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "db"), Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	mustLoad(b, s, "list", LoadOptions{}, numbers(1_000_000, false))
	for b.Loop() {
		err := s.View(func(tx *Tx) error {
			n, err := tx.Count(tree.MustParsePath("list"), tree.Query{})
			if n != 1_000_000 {
				b.Errorf("%d children", n)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
