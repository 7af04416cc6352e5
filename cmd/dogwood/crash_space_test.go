package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// A space is what only one client writes: /c/ID, /a/ID and /z/ID. The
// server carries out the client's writes in order, so after a crash the space has
// what some of the first ones make of it, all acknowledged ones among them.
type space struct {
	id   string
	rnd  *rand.Rand
	then *hindsight

	mu    sync.Mutex
	base  tree.Node // the value before ops
	tip   tree.Node // the value after all of them
	ops   []crashOp
	acked int // how many of the first ones took effect for sure
	n     int // counts ops
}

// A crashOp is one write.
type crashOp struct {
	path    string
	merge   bool
	data    string
	hash    string // of what it depends on; "" on nothing
	stale   bool   // the hash is of something else
	changes []crashChange
}

// A crashChange is what an op does at one path.
type crashChange struct {
	path tree.Path
	to   tree.Node
	add  bool // one
}

func newSpace(id string, seed uint64) *space {
	var h uint64
	for _, b := range []byte(id) {
		h = h*131 + uint64(b)
	}
	return &space{id: id, rnd: rand.New(rand.NewPCG(seed, h))}
}

// crashIncrement is the server value that adds one.
const crashIncrement = `{".sv":{"increment":1}}`

// next makes up an op, which is sent next. i is its number.
func (s *space) next() (op crashOp, i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	switch s.rnd.IntN(12) {
	case 0, 1:
		op = s.put(s.key(), tree.Empty)
	case 2, 3:
		op = s.increment()
	case 4:
		op = s.update()
	case 5, 6, 7:
		op = s.fanOut()
	case 8:
		op = s.put(s.key(), s.value())
		op.hash = s.tip.Get(op.changes[0].path).Hash()
	case 9:
		op = s.stalePut()
	default:
		op = s.put(s.key(), s.value())
	}
	s.tip = op.apply(s.tip)
	s.ops = append(s.ops, op)
	return op, len(s.ops) - 1
}

func (s *space) key() string { return fmt.Sprintf("c/%s/k%c", s.id, 'a'+rune(s.rnd.IntN(12))) }

// value returns one of every size that is stored in another way.
func (s *space) value() tree.Node {
	switch s.rnd.IntN(8) {
	case 0:
		return tree.String(strings.Repeat(fmt.Sprint(s.n, " "), 700))
	case 1:
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `,"r%d":{"n":%d,"text":"%060d"}`, i, s.n, i)
		}
		return tree.MustParseNode("{" + b.String()[1:] + "}")
	case 2, 3:
		return tree.String(fmt.Sprint("text ", s.n))
	}
	return tree.MustParseNode(fmt.Sprintf(`{"deep":{"er":[%d,true]},"n":%[1]d}`, s.n))
}

func (s *space) put(path string, to tree.Node) crashOp {
	return crashOp{path: path, data: to.JSON(), changes: []crashChange{{path: tree.MustParsePath(path), to: to}}}
}

func (s *space) increment() crashOp {
	path := "c/" + s.id + "/sum"
	return crashOp{path: path, data: crashIncrement, changes: []crashChange{{path: tree.MustParsePath(path), add: true}}}
}

// stalePut depends on something that is not there.
func (s *space) stalePut() crashOp {
	op := s.put(s.key(), tree.String("must not be there"))
	op.hash, op.stale, op.changes = tree.String("something else").Hash(), true, nil
	return op
}

// update writes several places of /c/ID.
func (s *space) update() crashOp {
	op := crashOp{path: "c/" + s.id, merge: true}
	var parts []string
	for _, key := range []string{"ka", "kb", "k" + string('c'+rune(s.rnd.IntN(10)))} {
		to := s.value()
		parts = append(parts, fmt.Sprintf("%q:%s", key, to.JSON()))
		op.changes = append(op.changes, crashChange{path: tree.MustParsePath(op.path + "/" + key), to: to})
	}
	op.data = "{" + strings.Join(parts, ",") + "}"
	return op
}

// fanOut writes one number far apart.
func (s *space) fanOut() crashOp {
	op := crashOp{path: "", merge: true, data: fmt.Sprintf(`{"a/%[1]s":%[2]d,"c/%[1]s/fan":%[2]d,"z/%[1]s":%[2]d}`, s.id, s.n)}
	for _, path := range []string{"a/" + s.id, "c/" + s.id + "/fan", "z/" + s.id} {
		op.changes = append(op.changes, crashChange{path: tree.MustParsePath(path), to: tree.Number(float64(s.n))})
	}
	return op
}

func (op crashOp) apply(to tree.Node) tree.Node {
	for _, c := range op.changes {
		value := c.to
		if c.add {
			n, _ := to.Get(c.path).NumberValue()
			value = tree.Number(n + 1)
		}
		to = to.With(c.path, value)
	}
	return to
}

// ack notes that op i is acknowledged, and so all before it are carried out.
func (s *space) ack(i int) {
	s.then.note(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acked = max(s.acked, i+1)
	})
}

// of returns the space as it is in a database.
func (s *space) of(root tree.Node) (got tree.Node) {
	for _, path := range []string{"a/" + s.id, "c/" + s.id, "z/" + s.id} {
		p := tree.MustParsePath(path)
		got = got.With(p, root.Get(p))
	}
	return got
}

// compare wants what some of the first ops make. It returns how many more than
// the acknowledged ones these are.
func (s *space) compare(root tree.Node) (survived int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	got, state := s.of(root), s.base
	for k := 0; ; k++ {
		if k >= s.acked && state == got {
			return k - s.acked, nil
		}
		if k == len(s.ops) {
			break
		}
		state = s.ops[k].apply(state)
	}
	return 0, fmt.Errorf("client %s: %d writes were acknowledged, %d sent, and no number of them makes what is there:\n%.1500s\nafter all there would be\n%.1500s",
		s.id, s.acked, len(s.ops), got.JSON(), s.tip.JSON())
}

// begin begins anew with the stored values.
func (s *space) begin(root tree.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = s.of(root)
	s.tip, s.ops, s.acked = s.base, nil, 0
}

// The comparison finds what it is there for.
func TestSpaceCompare(t *testing.T) {
	write := func(acked int) (s *space, root tree.Node) {
		s = newSpace("x", 7)
		for i := range 40 {
			op, _ := s.next()
			if root = op.apply(root); i < acked {
				s.ack(i)
			}
		}
		return s, root
	}
	taken := func(s *space, root tree.Node) bool {
		_, err := s.compare(root)
		return err == nil
	}
	if s, root := write(40); !taken(s, root) {
		t.Error("what is complete is not taken")
	}
	if s, _ := write(0); !taken(s, tree.Empty) {
		t.Error("what has no acknowledged write is not taken")
	}
	s, root := write(40)
	s.n++
	s.ops = append(s.ops, s.fanOut())
	part := root.With(tree.MustParsePath("a/x"), tree.Number(41))
	if taken(s, part) {
		t.Error("a part of an update is taken")
	}
	s, _ = write(40)
	state := tree.Empty
	for _, op := range s.ops[:39] {
		state = op.apply(state)
	}
	s.ops = append(s.ops, s.put("c/x/last", tree.Bool(true)))
	if s.ack(40); taken(s, state) {
		t.Error("an acknowledged write is missing and that is taken")
	}
	s, root = write(40)
	if taken(s, root.With(tree.MustParsePath("c/x/ka"), tree.String("must not be there"))) {
		t.Error("what nobody wrote is taken")
	}
}
