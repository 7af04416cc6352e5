package audience

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/tree"
)

// TestIndexModel has random writes meet random queries in two audiences. One visits each group
// above a write. The other one makes the same events for the same groups in the
// same order, and all groups that get one are among those that it visits.
func TestIndexModel(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	limited, err := rules.Parse(`{"rules":{".read":true,".write":true,"l":{".limit":5,".indexOn":["n",".value"],"$k":{".limit":2}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range tier.Pick[uint64](4, 6, 1000) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := indexModel{T: t, rnd: rand.New(rand.NewPCG(seed, 3))}
			var rs *rules.Ruleset
			if m.limited = seed%3 == 2; m.limited {
				rs = limited
			}
			from := []int{0, 6}[seed%2] // with 6, the index comes and goes
			for _, n := range []int{from, 1 << 30} {
				h := newHouse(t, rs)
				h.SetIndexFrom(n)
				m.houses = append(m.houses, modelHouse{house: h, listeners: make(map[int]*Listener)})
			}
			m.run(300)
		})
	}
}

type indexModel struct {
	*testing.T
	rnd     *rand.Rand
	houses  []modelHouse // the first has an index
	limited bool         // by rules: views that are not known are measured when they are read
	serial  int
	known   []int // listeners
	steps   []string
	visited [2]int // groups
	told    int
}

type modelHouse struct {
	*house
	listeners map[int]*Listener
	sent      []modelEvent // of the last batch
	visited   []groupName  // by it
}

type modelEvent struct {
	groupName
	text string
}

// A groupName tells which groups of two audiences are equal.
type groupName struct {
	path tree.Path
	id   string
}

func (m *indexModel) run(steps int) {
	for range steps {
		switch n := m.rnd.IntN(20); {
		case len(m.known) < 4, n < 3 && len(m.known) < 16:
			m.listen()
		case n < 5:
			m.show()
		case n < 6:
			m.close()
		default:
			m.batch()
		}
		for _, h := range m.houses {
			if err := h.store.View(h.Check); err != nil {
				m.fail("%v", err)
			}
		}
	}
	always := m.houses[0].hub.indexFrom == 0
	if always && m.visited[0] >= m.visited[1] || m.told < steps/4 {
		m.Errorf("%d of %d groups were visited for %d events: the test shows little", m.visited[0], m.visited[1], m.told)
	}
	for len(m.known) > 0 {
		m.close()
	}
	for _, h := range m.houses {
		if err := h.store.View(h.Check); err != nil {
			m.Error(err)
		}
	}
}

func (m *indexModel) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf("%s\nafter\n\t%s", fmt.Sprintf(format, args...), strings.Join(m.steps[max(0, len(m.steps)-12):], "\n\t"))
}

func (m *indexModel) pick(list ...string) string { return list[m.rnd.IntN(len(list))] }

func (m *indexModel) key() string { return m.pick("a", "b", "c", "d", "e", "1", "10", "-1", "é") }

func (m *indexModel) leaf() string {
	return m.pick("null", "true", "1", "2", "3", "2.5", `"a"`, `"b"`, `"b  A"`)
}

func (m *indexModel) node(text string) tree.Node {
	draft, err := tree.Parse(text, 0, tree.Lenient)
	n, ok := draft.Node()
	if err != nil || !ok {
		m.Fatalf("parse %s: %v", text, err)
	}
	return n
}

func (m *indexModel) bound(order string) tree.Bound {
	b := tree.Bound{Set: true, Exclusive: m.rnd.IntN(3) == 0}
	if order == tree.ByKey {
		b.Value = tree.String(m.key())
		return b
	}
	b.KeyRank = tree.KeyRank(m.rnd.IntN(3) - 1)
	if tree.IsListOrder(order) {
		values := []tree.Node{m.node(m.leaf()), m.node(m.leaf())}
		if b.KeyRank != tree.AtKey && m.rnd.IntN(2) == 0 { // a prefix
			values = values[:1]
		}
		b.Value = tree.ListValue(values)
	} else {
		b.Value = m.node(m.leaf())
	}
	if b.KeyRank == tree.AtKey {
		b.Key = m.key()
	}
	return b
}

func (m *indexModel) query() (q tree.Query) {
	q.OrderBy = m.pick("n", `["n","n/deep"]`, `["n/deep","n"]`, tree.ByKey, tree.ByValue, tree.ByPriority, "n/deep")
	switch m.rnd.IntN(5) {
	case 0:
		q.Start = m.bound(q.OrderBy)
	case 1:
		q.End = m.bound(q.OrderBy)
	case 2:
		q.Start, q.End = m.bound(q.OrderBy), m.bound(q.OrderBy)
	case 3: // equality
		q.Start = m.bound(q.OrderBy)
		q.Start.KeyRank, q.Start.Key, q.Start.Exclusive = tree.BeforeKeys, "", false
		if q.End = q.Start; q.OrderBy != tree.ByKey {
			q.End.KeyRank = tree.AfterKeys
		}
	}
	if m.rnd.IntN(4) > 0 {
		q.Limit, q.FromLast = 1+m.rnd.IntN(4), m.rnd.IntN(2) == 0
	}
	if m.rnd.IntN(3) == 0 {
		q.Filter = m.filter()
	}
	return q
}

// filter returns one that needs values, a key, words, ranges or one of several of these, or none.
func (m *indexModel) filter() tree.Filter {
	part := func() string {
		return m.pick("data.child('n').val()", "data.val()", "data.child('n/deep').val()")
	}
	operator := func() string { return " " + m.pick("==", "<", "<=", ">", ">=") + " " }
	term := func() string {
		return m.pick(part()+operator()+m.pick("1", "2", "'a'", "-1", "'b'"), part()+" == true", m.pick("1 <", "'b' >=", "2.5 ==")+" "+part(),
			part()+".words().has('"+m.pick("a", "b")+"')", "key == '"+m.key()+"'", "key"+operator()+"'"+m.key()+"'",
			part()+".length"+operator()+m.pick("0", "1", "3"), "("+part()+" + 1) % 2"+operator()+"1", part()+" * 1e308 * 10 > 0", part()+".toLowerCase() == 'b'",
			"data.child('other').exists()", "data.getPriority()"+operator()+"1", part()+" + key == '1a'")
	}
	text := term()
	for range m.rnd.IntN(3) {
		text = "(" + text + m.pick(" && ", " || ", " && ") + term() + ")"
	}
	f, err := expression.NewFilter(text, 0)
	if err != nil {
		m.Fatalf("%s: %s", text, err.Msg)
	}
	return f
}

// entry returns an entry of the query's order.
func (m *indexModel) entry(q tree.Query) tree.Entry {
	e := tree.Entry{Key: m.key()}
	switch {
	case tree.IsListOrder(q.Order()):
		e.Value = tree.ListValue([]tree.Node{m.node(m.pick(m.leaf(), `{"x":1}`)), m.node(m.leaf())})
	case q.Order() != tree.ByKey:
		e.Value = m.node(m.pick(m.leaf(), `{"x":1}`))
	}
	return e
}

func (m *indexModel) note(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *indexModel) listen() {
	m.serial++
	path, q := m.pick("/l", "/l", "/l", "/l/a", "/"), m.query()
	if m.rnd.IntN(8) == 0 {
		q = tree.Query{}
	}
	m.note("%d listens to %s %s", m.serial, path, q.ID())
	m.known = append(m.known, m.serial)
	for _, h := range m.houses {
		l := h.listener(path, "")
		l.read.Query = q
		n := m.serial
		l.onRevoke = func(error) { delete(h.listeners, n) }
		if err := l.Attach(m.Context()); err == nil {
			h.listeners[n] = l
		}
	}
	if m.limited || m.rnd.IntN(4) > 0 {
		m.showOne(m.serial)
	}
	m.prune()
}

// prune forgets listeners that have ended, which are the same in both audiences.
func (m *indexModel) prune() {
	m.known = slices.DeleteFunc(m.known, func(n int) bool {
		has := m.houses[0].listeners[n] != nil
		if has != (m.houses[1].listeners[n] != nil) {
			m.fail("%d listens with an index: %t", n, has)
		}
		return !has
	})
}

func (m *indexModel) show() { m.showOne(m.known[m.rnd.IntN(len(m.known))]) }

// showOne sends a listener its view, from when on it gets events.
func (m *indexModel) showOne(n int) {
	m.note("%d is shown", n)
	for _, h := range m.houses {
		l := h.listeners[n]
		if l == nil {
			continue
		}
		l.resync()
	}
}

func (m *indexModel) close() {
	i := m.rnd.IntN(len(m.known))
	n := m.known[i]
	m.note("%d ends", n)
	m.known = slices.Delete(m.known, i, i+1)
	for _, h := range m.houses {
		h.listeners[n].Close()
		delete(h.listeners, n)
	}
}

func (m *indexModel) value() string {
	switch m.rnd.IntN(6) {
	case 0:
		return "null"
	case 1:
		return m.leaf()
	case 2:
		return fmt.Sprintf(`{".value":%s,".priority":%s}`, m.pick("1", `"x"`), m.pick("1", "2", `"p"`))
	case 3:
		return fmt.Sprintf(`{"n":%s,"other":1,"a":%s,"c":2}`, m.leaf(), m.leaf())
	}
	return fmt.Sprintf(`{"n":%s,".priority":%s}`, m.pick(m.leaf(), fmt.Sprintf(`{"deep":%s}`, m.leaf())), m.pick("null", "1", "2", `"p"`))
}

// target returns where to write, and what.
func (m *indexModel) target() (path, value string) {
	switch m.rnd.IntN(12) {
	case 0:
		return m.pick("/l/.priority", "/l/a/.priority"), m.pick("null", "1", `"p"`)
	case 1:
		return "/l/" + m.key() + "/.priority", m.pick("null", "1", "2", `"p"`)
	case 2, 3:
		return "/l/" + m.key() + m.pick("/n", "/n/deep", "/other"), m.leaf()
	case 4:
		return "/l", m.pick("null", `"leaf"`, fmt.Sprintf(`{"a":%s,"c":%s,"1":%s}`, m.value(), m.value(), m.value()))
	case 5:
		return "/", fmt.Sprintf(`{"l":{"b":%s,"d":%s},"x":1}`, m.value(), m.value())
	case 6:
		return "/" + m.key(), m.leaf()
	}
	return "/l/" + m.key(), m.value()
}

// writes returns one write, or several at paths that do not contain each other.
func (m *indexModel) writes() (list []tree.ResolvedWrite) {
	for range []int{1, 1, 3, 8}[m.rnd.IntN(4)] {
		path, value := m.target()
		target, err := tree.ParseTarget(path)
		if err != nil {
			m.Fatal(err)
		}
		overlaps := func(w tree.ResolvedWrite) bool {
			return w.Path.Contains(target.Path) || target.Path.Contains(w.Path)
		}
		if !slices.ContainsFunc(list, overlaps) {
			m.note("%s = %s", path, value)
			list = append(list, tree.ResolvedWrite{Target: target, Node: m.node(value)})
		}
	}
	return list
}

// batch carries out some writes in one batch, which may fail at the end.
func (m *indexModel) batch() {
	errFails := errors.New("the batch fails")
	var all [][]tree.ResolvedWrite
	changes := 1 + m.rnd.IntN(3)
	if m.limited {
		changes = 1
	}
	for range changes {
		all = append(all, m.writes())
		m.note("--")
	}
	fails := m.rnd.IntN(6) == 0
	m.note("the batch fails: %t", fails)
	for i := range m.houses {
		h := &m.houses[i]
		h.sent, h.visited = nil, nil
		err := h.commit(func(b *Batch) error {
			for _, writes := range all {
				if err := m.change(i, b, writes); err != nil {
					return err
				}
			}
			if fails {
				return errFails
			}
			return nil
		}, false)
		if err != nil && !errors.Is(err, errFails) {
			m.fail("%v", err)
		}
	}
	m.compare()
	for _, n := range m.known {
		if m.limited {
			m.showOne(n)
		}
	}
	m.prune()
}

func (m *indexModel) change(i int, b *Batch, writes []tree.ResolvedWrite) error {
	h := &m.houses[i]
	c := Change{Batch: b, Writes: writes, Merge: len(writes) > 1}
	if err := c.Before(); err != nil {
		return err
	}
	for _, w := range writes {
		put := b.Tx.Put
		if w.Priority {
			put = b.Tx.PutPriority
		}
		if _, err := put(w.Path, w.Node); err != nil {
			return err
		}
	}
	before := len(b.events)
	if err := c.After(); err != nil {
		return err
	}
	for _, v := range c.views {
		h.visited = append(h.visited, groupName{v.group.path, v.group.id})
	}
	m.visited[i] += len(c.views)
	for _, e := range b.events[before:] {
		what := "lags"
		if e.event != nil {
			what = string(e.event.Push(0))
		}
		h.sent = append(h.sent, modelEvent{groupName{e.group.path, e.group.id}, what})
	}
	return nil
}

// compare compares what the audiences made of a batch. The groups of one path are in order,
// but the paths below a write are not.
func (m *indexModel) compare() {
	a, b := m.houses[0], m.houses[1]
	m.told += len(b.sent)
	for _, e := range b.sent {
		if !slices.Contains(a.visited, e.groupName) {
			m.fail("%s %s gets an event and is not visited", e.path, e.id)
		}
	}
	byPath := func(a, b modelEvent) int { return strings.Compare(a.path.String(), b.path.String()) }
	slices.SortStableFunc(a.sent, byPath)
	slices.SortStableFunc(b.sent, byPath)
	if !slices.Equal(a.sent, b.sent) {
		m.fail("with an index the events are\n\t%v\nwant\n\t%v", a.sent, b.sent)
	}
}

// TestFilteredGroupsAreVisited: a write to a child visits each group whose filter matches the child
// before it or after it, and few of the others.
func TestFilteredGroupsAreVisited(t *testing.T) {
	const filters = 100
	for seed := range tier.Pick[uint64](6, 12, 1000) {
		m := indexModel{T: t, rnd: rand.New(rand.NewPCG(seed, 4))}
		h := newHouse(t, nil)
		h.SetIndexFrom(0)
		m.houses = []modelHouse{{house: h, listeners: make(map[int]*Listener)}}
		all := make(map[string]tree.Filter) // by group
		for n := range filters {
			l := h.listener("/l", "")
			f := m.filter()
			l.read.Query = tree.Query{OrderBy: tree.ByKey, Filter: f}
			if err := l.Attach(t.Context()); err != nil {
				t.Fatal(err)
			}
			l.resync()
			m.houses[0].listeners[n], all[l.read.Query.ID()] = l, f
		}
		children, visited, matching := make(map[string]tree.Node), 0, 0
		for range 100 {
			key := m.key()
			before, after := children[key], m.node(m.pick(m.value(), m.leaf(), `{"n":"b"}`))
			children[key], m.houses[0].visited = after, nil
			path := tree.MustParsePath("l").Child(key)
			if err := h.commit(func(b *Batch) error {
				return m.change(0, b, []tree.ResolvedWrite{{Target: tree.Target{Path: path}, Node: after}})
			}, false); err != nil {
				t.Fatal(err)
			}
			for id, f := range all {
				matches := func(n tree.Node) bool { return !n.IsEmpty() && matchesAlone(f, key, n) }
				if !matches(before) && !matches(after) {
					continue
				}
				if matching++; !slices.Contains(m.houses[0].visited, groupName{tree.MustParsePath("l"), id}) {
					t.Fatalf("seed %d: %s is not visited when %s becomes %s at %q", seed, f.Text(), before.JSON(), after.JSON(), key)
				}
			}
			visited += len(m.houses[0].visited)
		}
		if matching == 0 || visited > 2*matching {
			t.Errorf("seed %d: %d visits, and %d filters match", seed, visited, matching)
		}
		for _, l := range m.houses[0].listeners {
			l.Close()
		}
	}
}

// matchesAlone reports whether a filter matches a child that is at hand.
func matchesAlone(f tree.Filter, key string, child tree.Node) bool {
	ok, _, err := f.Match(tree.OneChild{Key: key, Child: child}, tree.Root, key, tree.MaxLooked)
	return ok && err == nil
}
