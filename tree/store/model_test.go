package store

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// A model runs random operations against a store and against one immutable
// node, which is the simplest correct store there is.
type model struct {
	t     *testing.T
	rnd   *rand.Rand
	file  string
	store *Store
	want  tree.Node
	log   []string
}

var modelKeys = []string{"a", "b", "c", "1", "2", "07", "10", "-3", "-0", "é", "😀", "\uffee", `q"k`, `b\s`, ":x", "a b", "*?"}

// wideNumbers are integers that doubles can hardly tell apart.
var wideNumbers = []string{
	"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993",
	"1152921504606846975", "1152921504606846976", "1152921504606846977", "9223372036854775806",
	"9223372036854775807", "9223372036854775808", "9223372036854777856", "-9223372036854775808", "-9223372036854775809",
}

func (m *model) pick(list []string) string { return list[m.rnd.IntN(len(list))] }

func (m *model) path(most int) tree.Path {
	p := tree.Root
	for range m.rnd.IntN(most + 1) {
		p = p.Child(m.pick(modelKeys))
	}
	return p
}

func (m *model) leaf() tree.Node {
	switch m.rnd.IntN(8) {
	case 0:
		return tree.Bool(m.rnd.IntN(2) == 0)
	case 1, 2:
		return tree.Number(float64(m.rnd.IntN(20) - 5))
	case 3:
		return tree.Number(m.rnd.NormFloat64() * 1e18)
	case 7:
		return tree.MustParseNode(m.pick(wideNumbers))
	case 4:
		return tree.String(strings.Repeat("long ", m.rnd.IntN(1000)))
	case 5:
		return tree.String(strings.Repeat("x", maxIndexed+m.rnd.IntN(3)-1) + m.pick(modelKeys))
	}
	return tree.String(m.pick(modelKeys))
}

func (m *model) priority() tree.Node {
	switch m.rnd.IntN(24) {
	case 0, 1, 2, 3, 4, 5:
		return tree.Number(float64(m.rnd.IntN(3)))
	case 6, 7, 8, 9:
		return tree.String(m.pick(modelKeys))
	case 10:
		return tree.String(strings.Repeat("x", maxIndexed+m.rnd.IntN(3)-1) + m.pick(modelKeys))
	case 11:
		return tree.String(strings.Repeat("x", longPriority) + m.pick(modelKeys))
	}
	return tree.Empty
}

func (m *model) node(depth int) tree.Node {
	if depth == 0 || m.rnd.IntN(3) == 0 {
		return m.leaf().WithPriority(m.priority())
	}
	n := tree.Empty
	for range m.rnd.IntN(8) {
		n = n.With(tree.Root.Child(m.pick(modelKeys)), m.node(depth-1))
	}
	if m.rnd.IntN(20) == 0 {
		for i := range 200 {
			n = n.With(tree.Root.Child("wide"+strconv.Itoa(i)), m.leaf())
		}
	}
	return n.WithPriority(m.priority())
}

func (m *model) query() tree.Query {
	orders := []string{tree.ByKey, tree.ByPriority, tree.ByValue, "a", "b/c", "1", `["a","b/c"]`, `["1","a","2"]`}
	q := tree.Query{OrderBy: m.pick(orders), Limit: m.rnd.IntN(5), FromLast: m.rnd.IntN(2) == 0}
	if m.rnd.IntN(2) == 0 {
		q.Start = m.bound(q.OrderBy)
	}
	if m.rnd.IntN(2) == 0 {
		q.End = m.bound(q.OrderBy)
	}
	return q
}

func (m *model) bound(order string) tree.Bound {
	b := tree.Bound{Set: true, Exclusive: m.rnd.IntN(2) == 0}
	if order == tree.ByKey {
		b.Value = tree.String(m.pick(append(modelKeys, "", "\u0001", "wide")))
		return b
	}
	most := 0
	for range tree.OrderPaths(order) {
		most++
	}
	b.KeyRank = tree.KeyRank(m.rnd.IntN(3) - 1)
	switch {
	case most > 0:
		values := make([]tree.Node, 1+m.rnd.IntN(most))
		for i := range values {
			if m.rnd.IntN(5) > 0 {
				values[i] = m.leaf()
			}
		}
		if b.Value = tree.ListValue(values); len(values) < most && b.KeyRank == tree.AtKey {
			b.KeyRank = tree.AfterKeys
		}
	case m.rnd.IntN(5) > 0:
		b.Value = m.leaf()
	}
	if b.KeyRank == tree.AtKey {
		b.Key = m.pick(append(modelKeys, ""))
	}
	return b
}

func (m *model) step() {
	p := m.path(4)
	var err error
	switch op := m.rnd.IntN(20); {
	case op < 3:
		err = m.update(p)
	case op < 9:
		n := m.node(2)
		m.log = append(m.log, fmt.Sprintf("put %s %.80s", p, n.JSON()))
		err = m.store.Update(func(tx *Tx) error { _, err := tx.Put(p, n); return err })
		m.want = m.want.With(p, n)
	case op < 13:
		m.log = append(m.log, fmt.Sprintf("delete %s", p))
		err = m.store.Update(func(tx *Tx) error { _, err := tx.Put(p, tree.Empty); return err })
		m.want = m.want.With(p, tree.Empty)
	case op < 15:
		n := m.priority()
		m.log = append(m.log, fmt.Sprintf("priority %s %s", p, n.JSON()))
		err = m.store.Update(func(tx *Tx) error { _, err := tx.PutPriority(p, n); return err })
		m.want = m.want.WithTarget(tree.Target{Path: p, Priority: true}, n)
	case op < 16:
		m.log = append(m.log, "rollback")
		tx, e := m.store.Begin(true)
		if e != nil {
			m.t.Fatal(e)
		}
		_, err = tx.Put(p, m.node(2))
		tx.Rollback()
	case op < 17:
		var stop func() bool
		if m.rnd.IntN(2) == 0 {
			stop = func() bool { return m.rnd.IntN(3) == 0 }
		}
		_, err = m.store.Reclaim(1+m.rnd.IntN(50), stop)
	case op < 18:
		_, err = m.store.Build(1 + m.rnd.IntN(50))
	case op < 19 && m.rnd.IntN(10) == 0:
		err = m.store.Declare(m.indexes())
	default:
		m.reopen()
	}
	if err != nil {
		m.t.Fatalf("%v\n%s", err, m.tail())
	}
}

// update puts several values below p in one transaction, in an order that may be that of
// their paths.
func (m *model) update(p tree.Path) error {
	var writes []tree.ResolvedWrite
	for range 1 + m.rnd.IntN(12) {
		at := p.Join(m.path(3))
		if slices.ContainsFunc(writes, func(w tree.ResolvedWrite) bool { return w.Path.Contains(at) || at.Contains(w.Path) }) {
			continue
		}
		n := tree.Empty
		if m.rnd.IntN(4) > 0 {
			n = m.node(1)
		}
		writes = append(writes, tree.ResolvedWrite{Target: tree.Target{Path: at}, Node: n})
	}
	if m.rnd.IntN(3) > 0 {
		slices.SortFunc(writes, func(a, b tree.ResolvedWrite) int { return tree.ComparePaths(a.Path, b.Path) })
	}
	for _, w := range writes {
		m.log = append(m.log, fmt.Sprintf("update %s %.80s", w.Path, w.Node.JSON()))
		m.want = m.want.With(w.Path, w.Node)
	}
	return m.store.Update(func(tx *Tx) error { _, err := tx.PutAll(writes); return err })
}

func (m *model) indexes() []Index {
	var list []Index
	for _, pattern := range []string{"/", "/$x", "/a/$y", "/$x/b"} {
		for _, order := range []string{tree.ByValue, "a", "b/c", `["a","b/c"]`, `["1","a","2"]`} {
			if m.rnd.IntN(2) == 0 {
				list = append(list, Index{pattern, order})
			}
		}
	}
	m.log = append(m.log, fmt.Sprintf("declare %v", list))
	return list
}

func (m *model) reopen() {
	if m.file == "" || m.rnd.IntN(20) > 0 {
		return
	}
	m.log = append(m.log, "reopen")
	if err := m.store.Close(); err != nil {
		m.t.Fatal(err)
	}
	m.store = open(m.t, m.file)
}

func (m *model) tail() string {
	return strings.Join(m.log[max(0, len(m.log)-12):], "\n")
}

func (m *model) compare() {
	err := m.store.View(func(tx *Tx) error {
		got, err := tx.Get(tree.Root)
		if err != nil {
			return err
		}
		if got != m.want {
			m.t.Fatalf("tree differs\n got %.600s\nwant %.600s\n%s", got.JSON(), m.want.JSON(), m.tail())
		}
		for range 6 {
			m.compareAt(tx, m.path(3), m.query())
		}
		return nil
	})
	if err != nil {
		m.t.Fatalf("%v\n%s", err, m.tail())
	}
}

func (m *model) compareAt(tx *Tx, p tree.Path, q tree.Query) {
	want := m.want.Get(p)
	if got, err := tx.Get(p); err != nil || got != want {
		m.t.Fatalf("Get(%s) = %s, %v, want %s", p, got.JSON(), err, want.JSON())
	}
	if got, err := tx.Has(p); err != nil || got == want.IsEmpty() {
		m.t.Fatalf("Has(%s) = %v, %v", p, got, err)
	}
	wantLeaf := want
	if want.IsObject() {
		wantLeaf = tree.Empty
	}
	if leaf, isObject, err := tx.Peek(p); err != nil || leaf != wantLeaf || isObject != want.IsObject() {
		m.t.Fatalf("Peek(%s) = %s, %t, %v, want %s", p, leaf.JSON(), isObject, err, want.JSON())
	}
	const most = 20_000
	if leaf, isObject, ok, err := tx.PeekUpTo(p, most); err != nil || ok && (leaf != wantLeaf || isObject != want.IsObject()) || !ok && len(wantLeaf.Text()) <= most {
		m.t.Fatalf("PeekUpTo(%s) = %s, %t, %t, %v, want %s", p, leaf.JSON(), isObject, ok, err, want.JSON())
	}
	m.compareKeys(tx, p, want)
	if got, err := tx.Priority(p); err != nil || got != want.Priority() {
		m.t.Fatalf("Priority(%s) = %s, %v", p, got.JSON(), err)
	}
	if got, err := tx.Window(p, q, 0); err != nil || got != q.Apply(want) {
		m.t.Fatalf("Window(%s, %s)\n got %.500s, %v\nwant %.500s\nof %.900s\n%s", p, q.ID(), got.JSON(), err, q.Apply(want).JSON(), want.JSON(), m.tail())
	}
	l, err := tx.Shallow(p, "", 0)
	if err != nil || l.Keys.Len() != want.NumChildren() || want.IsLeaf() && l.Leaf != want.Value() {
		m.t.Fatalf("Shallow(%s) = %v, %v of %s", p, l, err, want.JSON())
	}
}

// compareKeys reads all keys, and then only the first.
func (m *model) compareKeys(tx *Tx, p tree.Path, want tree.Node) {
	var keys, wantKeys []string
	for key, err := range tx.Keys(p) {
		if err != nil {
			m.t.Fatal(err)
		}
		keys = append(keys, key)
	}
	for key := range want.Children() {
		wantKeys = append(wantKeys, key)
	}
	if !slices.Equal(keys, wantKeys) {
		m.t.Fatalf("Keys(%s) = %q, want %q", p, keys, wantKeys)
	}
	for key := range tx.Keys(p) {
		if key != wantKeys[0] {
			m.t.Fatalf("Keys(%s) begins with %q, want %q", p, key, wantKeys[0])
		}
		break
	}
}

func open(t *testing.T, file string) *Store {
	t.Helper()
	s, err := Open(file, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t *testing.T, s *Store) {
	t.Helper()
	findings, err := s.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func runModel(t *testing.T, file string, seed uint64, steps int) {
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), file: file, store: open(t, file)}
	for i := range steps {
		m.step()
		if i%10 == 0 {
			m.compare()
		}
		if i%500 == 0 {
			check(t, m.store)
		}
		if t.Failed() {
			t.Fatalf("seed %d, step %d\n%s", seed, i, m.tail())
		}
	}
	m.drain()
	m.compare()
	check(t, m.store)
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// drain finishes all background work and checks that nothing waits any more.
func (m *model) drain() {
	reclaim := func(budget int) (bool, error) { return m.store.Reclaim(budget, nil) }
	for _, work := range []func(int) (bool, error){m.store.Build, reclaim} {
		for more := true; more; {
			var err error
			if more, err = work(100); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

func modelSteps() int {
	return tier.Count("DOGWOOD_MODEL_STEPS", 80, 200, 100_000)
}

func TestModelMemory(t *testing.T) {
	tier.Unraced(t)
	for seed := range uint64(4) {
		runModel(t, "", seed, modelSteps())
	}
}

func TestModelDisk(t *testing.T) {
	tier.Unraced(t)
	for seed := range tier.Pick[uint64](1, 2, 4) {
		runModel(t, filepath.Join(t.TempDir(), fmt.Sprint(seed)), seed, modelSteps())
	}
}
