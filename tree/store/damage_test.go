package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// damages is how many random damages the tests try.
func damages() int {
	return tier.Count("DOGWOOD_DAMAGES", 15, 25, 2000)
}

// damageable fills a store with everything that a file holds.
func damageable(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Declare([]Index{{"/users", "age"}}); err != nil {
		t.Fatal(err)
	}
	build(t, s)
	mustLoad(t, s, "users", LoadOptions{}, readAll(t, &rowsText{n: 400}))
	for n := range 120 {
		put(t, s, func(tx *Tx) error {
			p := tree.MustParsePath(fmt.Sprintf("posts/p%d/%d", n%7, n*37%101))
			_, err := tx.Put(p, tree.MustParseNode(fmt.Sprintf(`{".priority":%d,"text":"%0*d"}`, n, 100+n, n)))
			_, err2 := tx.Put(tree.MustParsePath(fmt.Sprintf("long/%d", n%5)), tree.String(strings.Repeat(string(rune('a'+n%26)), 3000+997*(n%40))))
			_, err3 := tx.Put(tree.MustParsePath(fmt.Sprintf("users/k%07d/age", n)), tree.Number(float64(n)))
			tx.SetRevision(uint64(n + 1))
			err4 := tx.Disconnects().Put(Pending{Session: fmt.Sprint("session ", n%9), Number: uint64(n), Data: fmt.Append(nil, "data ", n)})
			err5 := tx.Dedup().Record(WriteID{Writer: [16]byte{byte(n % 11)}, Number: uint64(n + 1)}, time.Unix(1e9, 0))
			return errors.Join(err, err2, err3, err4, err5, tx.SetMeta("name", fmt.Append(nil, n)))
		})
	}
	for more := true; more; {
		var err error
		if more, err = s.Reclaim(1000, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// answers asks a store what it can be asked. An answer that is an error is
// "damaged"; anything else that fails ends the test.
func answers(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := make(map[string]string)
	ask := func(what string, f func(tx *Tx) (any, error)) {
		err := s.View(func(tx *Tx) error {
			v, err := f(tx)
			if err == nil {
				all[what] = fmt.Sprint(v)
			}
			return err
		})
		switch {
		case errors.Is(err, ErrDamaged):
			all[what] = "damaged"
		case err != nil:
			t.Errorf("%s: %v", what, err)
		}
	}
	get := func(path string) {
		p := tree.MustParsePath(path)
		ask("get "+path, func(tx *Tx) (any, error) { n, err := tx.Get(p); return n.JSON(), err })
	}
	query := func(path string, q tree.Query) {
		p := tree.MustParsePath(path)
		ask(fmt.Sprint("window ", path, q), func(tx *Tx) (any, error) { n, err := tx.Window(p, q, 0); return n.JSON(), err })
		ask(fmt.Sprint("count ", path, q), func(tx *Tx) (any, error) { return tx.Count(p, q) })
	}
	for _, path := range []string{"users", "posts", "long", "none", "posts/p3"} {
		get(path)
		ask("keys "+path, func(tx *Tx) (any, error) {
			l, err := tx.Shallow(tree.MustParsePath(path), "", 0)
			return slices.Collect(l.Keys.All()), err
		})
		for _, order := range []string{tree.ByKey, tree.ByPriority, "age"} {
			query(path, tree.Query{OrderBy: order, Limit: 5})
			query(path, tree.Query{OrderBy: order, Limit: 5, FromLast: true})
		}
	}
	for i := range 410 {
		get(fmt.Sprintf("users/k%07d", i))
	}
	for i := range 110 {
		get(fmt.Sprintf("posts/p%d/%d", i%7, i))
		get(fmt.Sprintf("long/%d", i%6))
	}
	for i := range uint64(12) {
		ask(fmt.Sprint("writer ", i), func(tx *Tx) (any, error) {
			return tx.Dedup().Has(WriteID{Writer: [16]byte{byte(i)}, Number: i + 1})
		})
	}
	ask("meta", func(tx *Tx) (any, error) { v, err := tx.Meta("name"); return string(v), err })
	ask("revision", func(tx *Tx) (any, error) { return tx.Revision(), nil })
	ask("pending", func(tx *Tx) (list any, err error) {
		var all []string
		for p, err := range tx.Disconnects().All() {
			if err != nil {
				return nil, err
			}
			all = append(all, fmt.Sprint(p))
		}
		return all, nil
	})
	return all
}

// A harm is a change of a file that its disk made.
type harm struct {
	name string
	do   func(r *rand.Rand, file []byte, page int) // file has whole pages
}

var harms = []harm{
	{"bit", func(r *rand.Rand, f []byte, _ int) { f[r.IntN(len(f))] ^= 1 << r.IntN(8) }},
	{"bytes", func(r *rand.Rand, f []byte, _ int) {
		for i := range within(r, f, 1+r.IntN(64)) {
			i[0] = byte(r.Uint32())
		}
	}},
	{"zeros", func(r *rand.Rand, f []byte, _ int) {
		for i := range within(r, f, 1+r.IntN(600)) {
			i[0] = 0
		}
	}},
	{"page of zeros", func(r *rand.Rand, f []byte, page int) { clear(anyPage(r, f, page)) }},
	{"swapped pages", func(r *rand.Rand, f []byte, page int) {
		a, b := anyPage(r, f, page), anyPage(r, f, page)
		was := string(a)
		copy(a, b)
		copy(b, was)
	}},
	{"page twice", func(r *rand.Rand, f []byte, page int) { copy(anyPage(r, f, page), anyPage(r, f, page)) }},
	{"number", func(r *rand.Rand, f []byte, _ int) { // in what is a header or an element
		at := r.IntN(len(f)/4) * 4
		f[at] += byte(1 + r.IntN(3))
	}},
	{"head of a page", func(r *rand.Rand, f []byte, page int) { anyPage(r, f, page)[r.IntN(32)] ^= 1 << r.IntN(8) }},
	{"sector of another page", func(r *rand.Rand, f []byte, page int) {
		at := r.IntN(page/512) * 512
		copy(anyPage(r, f, page)[at:at+512], anyPage(r, f, page)[at:at+512])
	}},
}

// within yields n bytes from a random place on.
func within(r *rand.Rand, f []byte, n int) func(func([]byte) bool) {
	at := r.IntN(len(f) - n)
	return func(yield func([]byte) bool) {
		for i := range n {
			if !yield(f[at+i : at+i+1]) {
				return
			}
		}
	}
}

func anyPage(r *rand.Rand, f []byte, page int) []byte {
	at := r.IntN(len(f)/page) * page
	return f[at : at+page]
}

// TestDamageIsNeverServed damages a file in random ways. Whatever it is asked then
// has the answer from before or an error, and check finds what is an error.
func TestDamageIsNeverServed(t *testing.T) {
	tier.Unraced(t)
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	damageable(t, s)
	want := answers(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	loose := usedPages(t, file)
	if _, err := Compact(file, nil); err != nil {
		t.Fatal(err)
	}
	files := [][]byte{usedPages(t, file), loose} // without free pages, and with old content in them
	refused, failed, served, unnamed := 0, 0, 0, 0
	at := filepath.Join(t.TempDir(), "broken.db") // the same for all: TMPDIR may be memory
	for seed := range damages() {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		h := harms[r.IntN(len(harms))]
		whole := files[seed%4/3]
		broken := append([]byte(nil), whole...)
		h.do(r, broken, os.Getpagesize())
		if string(broken) == string(whole) {
			continue
		}
		if err := os.WriteFile(at, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		findings, checkErr := CheckFile(at)
		found := checkErr != nil || len(findings) > 0
		if checkErr != nil {
			unnamed++
		}
		s, err := Open(at, Options{})
		if err != nil {
			refused++
			if !found {
				t.Errorf("%d, %s: not opened (%v), and check says that all is well", seed, h.name, err)
			}
			continue
		}
		bad := compareAnswers(t, fmt.Sprint(seed, ", ", h.name), want, answers(t, s))
		if bad > 0 {
			failed++
		} else {
			served++
		}
		if bad > 0 && !found {
			t.Errorf("%d, %s: %d answers are errors, and check says that all is well", seed, h.name, bad)
		}
		s.Close()
	}
	t.Logf("%d not opened, %d opened with errors for readers, %d served whole; %d without findings of check but its error", refused, failed, served, unnamed)
}

// compareAnswers returns how many answers are errors. Others must be as before.
func compareAnswers(t *testing.T, name string, want, got map[string]string) (bad int) {
	t.Helper()
	wrong := 0
	for what, w := range want {
		switch g := got[what]; {
		case g == "damaged":
			bad++
		case g != w:
			if wrong++; wrong == 1 {
				t.Errorf("%s: %s is served as\n%.200s\nwas\n%.200s", name, what, g, w)
			}
		}
	}
	return bad
}

func usedPages(t *testing.T, file string) []byte {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used, err := kv.UsedBytes(f)
	if err != nil {
		t.Fatal(err)
	}
	return whole[:used]
}

// TestDamageUnderARunningStore is TestDamageIsNeverServed for damage that comes
// about while the file is open.
func TestDamageUnderARunningStore(t *testing.T) {
	tier.Unraced(t)
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	damageable(t, s)
	want := answers(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := usedPages(t, file)
	at := filepath.Join(t.TempDir(), "broken.db")
	for seed := range damages() / 2 {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		h := harms[r.IntN(len(harms))]
		if err := os.WriteFile(at, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, at)
		now := usedPages(t, at)
		broken := append([]byte(nil), now...)
		page := os.Getpagesize()
		h.do(r, broken[2*page:], page) // the two first pages are in memory
		f, err := os.OpenFile(at, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(broken, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
		compareAnswers(t, fmt.Sprint(seed, ", ", h.name), want, answers(t, s))
		s.Close()
	}
}
