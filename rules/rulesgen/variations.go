package rulesgen

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// maxText bounds the texts that are as long as a number of the rules says.
const maxText = 10_000

// A Varier makes operations that differ a little from given ones. With equal
// seeds it makes equal ones.
//
// It belongs to one goroutine. Its values come from the data and from the
// rules, because random ones would nearly all be refused by the first condition
// and so compare nothing.
//
// Vary, Setup and Split draw from rnd, so what they return depends on the calls before. Each and
// Setups are systematic and do not.
type Varier struct {
	words  *Words
	rnd    *rand.Rand
	edges  []string // JSON of values that the rules may take for a special case
	leaves []string // edges, and the leaves and keys of the data
	clocks []int64  // milliseconds that a rule may compare now with
}

// NewVarier returns a varier for rules with these words, tried on this data by
// these actors. Around each number of the rules there are the number, one less and one more, and
// texts of these lengths: a rule such as length <= 80 differs from one with < at 80 only.
func NewVarier(w *Words, world rulestest.World, actors []rulestest.Actor, seed uint64) *Varier {
	v := &Varier{words: w, rnd: rand.New(rand.NewPCG(seed, 1))}
	v.edges = []string{"null", "true", "false", "0", "1", "-1", `""`, `"x"`, `{"x":1}`, `{".sv":"timestamp"}`}
	for _, s := range w.texts {
		v.edges = appendNew(v.edges, jsonc.Quote(s))
	}
	for _, n := range w.numbers {
		v.clocks = append(v.clocks, int64(n))
		for _, d := range []float64{-1, 0, 1} {
			v.edges = appendNew(v.edges, tree.Number(n+d).JSON())
			if length := int(n + d); length > 1 && length <= maxText {
				v.edges = append(v.edges, `"`+strings.Repeat("x", length)+`"`)
			}
		}
	}
	for _, a := range actors {
		if a.Auth.UID != "" {
			v.edges = appendNew(v.edges, jsonc.Quote(a.Auth.UID))
		}
	}
	v.leaves = slices.Clone(v.edges)
	v.collect(world.Root)
	return v
}

// collect notes the leaves of the data, about 1,000 with the edges: more would make the useful
// ones rare. Numbers above 1e12, milliseconds of 2001 or later, are taken for times.
func (v *Varier) collect(n tree.Node) {
	for key, c := range n.Children() {
		if s := jsonc.Quote(key); len(v.leaves) < 1000 {
			v.leaves = appendNew(v.leaves, s)
		}
		v.collect(c)
	}
	if n.IsLeaf() && len(v.leaves) < 1000 {
		v.leaves = appendNew(v.leaves, n.Value().JSON())
	}
	if t, ok := n.NumberValue(); ok && t > 1e12 && len(v.clocks) < 100 {
		v.clocks = appendNew(v.clocks, int64(t))
	}
}

func pick[T any](v *Varier, list []T) T { return list[v.rnd.IntN(len(list))] }

// Vary returns an operation that differs from op in one or two things: the actor, the clock, or
// what it reads or writes. ok is false if it cannot be done; another call may succeed, since it
// draws anew. As is emptied with the actor, because it is the name of the former one.
func (v *Varier) Vary(op rulestest.Op, actors []rulestest.Actor) (_ rulestest.Op, ok bool) {
	for n := 1 + v.rnd.IntN(2); n > 0; n-- {
		switch v.rnd.IntN(6) {
		case 0:
			op.Who, op.As = pick(v, actors), ""
		case 1:
			if len(v.clocks) > 0 && v.rnd.IntN(3) == 0 {
				op.Now = pick(v, v.clocks) + int64(v.rnd.IntN(3)) - 1
			}
		default:
			if op, ok = v.content(op); !ok {
				return op, false
			}
		}
	}
	return op, true
}

// content changes what an operation reads or writes. It works on the text of operations and
// parses the result, so that nothing invalid gets past: only Parse knows what is valid.
func (v *Varier) content(op rulestest.Op) (rulestest.Op, bool) {
	t := rulestest.OpText{Kind: op.Kind.String(), Path: tree.Target{Path: op.Path, Priority: op.Priority}.String(), Value: op.Value, Socket: op.Socket}
	switch op.Kind {
	case rulestest.Read:
		t.Query = rulestest.QueryText(&op)
		if v.rnd.IntN(2) == 0 {
			t.Path = v.path(t.Path)
		} else {
			t.Query = v.query(t.Query)
		}
	case rulestest.Write:
		if v.rnd.IntN(4) == 0 {
			t.Path = v.path(t.Path)
		} else {
			t.Value = v.json(t.Value)
		}
	case rulestest.Update:
		t.Value = v.update(t.Value)
		if v.rnd.IntN(8) == 0 { // one of its writes alone
			path, value := v.member(t.Value)
			t = rulestest.OpText{Kind: "write", Path: strings.TrimSuffix(t.Path, "/") + "/" + path, Value: value}
		}
	default:
		return op, false
	}
	out, err := t.Parse()
	if err != nil {
		return op, false
	}
	out.Who, out.As, out.Now = op.Who, op.As, op.Now
	return out, true
}

// path changes a path: one key becomes another, or it becomes longer or shorter.
func (v *Varier) path(path string) string {
	keys := strings.Split(strings.Trim(path, "/"), "/")
	switch v.rnd.IntN(4) {
	case 0:
		keys = append(keys, v.key())
	case 1:
		keys = keys[:len(keys)-1]
	default:
		keys[v.rnd.IntN(len(keys))] = v.key()
	}
	return "/" + strings.Join(keys, "/")
}

// key returns a text from the data or the rules that can be a key.
func (v *Varier) key() string {
	for range 10 {
		var s string
		if json.Unmarshal([]byte(pick(v, v.leaves)), &s) == nil && tree.ValidKey(s) && len(s) < 100 {
			return s
		}
	}
	return "other"
}

// query changes a query.
func (v *Varier) query(text string) string {
	q := map[string]any{}
	if text != "" {
		_ = json.Unmarshal([]byte(text), &q) // it was printed by us
	}
	switch v.rnd.IntN(5) {
	case 0:
		return ""
	case 1:
		delete(q, "limitToFirst")
		delete(q, "limitToLast")
		limits := []float64{1, 2, 1000}
		for _, n := range v.words.numbers {
			if n >= 1 && n < 1e6 {
				limits = append(limits, n, n+1)
			}
		}
		q[pick(v, []string{"limitToFirst", "limitToLast"})] = pick(v, limits)
	case 2:
		delete(q, "startAt")
		delete(q, "endAt")
		q["equalTo"] = json.RawMessage(pick(v, v.leaves))
	case 3:
		maps.DeleteFunc(q, func(name string, _ any) bool { return strings.HasPrefix(name, "orderBy") })
		q["orderByChild"] = v.key()
	default:
		for _, name := range slices.Sorted(maps.Keys(q)) {
			if v.rnd.IntN(len(q)) == 0 {
				delete(q, name)
				break
			}
		}
	}
	return encode(q)
}

// update changes the values of an update, or leaves one out.
func (v *Varier) update(text string) string {
	values := object(text)
	if len(values) == 0 {
		return text
	}
	path := pick(v, slices.Sorted(maps.Keys(values)))
	switch v.rnd.IntN(4) {
	case 0:
		delete(values, path)
	case 1:
		values[path] = json.RawMessage("null")
	case 2:
		values[path] = json.RawMessage(v.json(string(values[path])))
	default:
		values[strings.Trim(v.path(path), "/")] = values[path]
		if v.rnd.IntN(2) == 0 {
			delete(values, path)
		}
	}
	return encode(values)
}

// member returns one of the writes of an update.
func (v *Varier) member(text string) (path, value string) {
	values := object(text)
	if len(values) == 0 {
		return "x", "null"
	}
	path = pick(v, slices.Sorted(maps.Keys(values)))
	return path, string(values[path])
}

// json changes a value: a leaf in it, or it gets a child more or less.
func (v *Varier) json(text string) string {
	members := object(text)
	if len(members) == 0 || members[".sv"] != nil {
		return pick(v, v.leaves)
	}
	key := pick(v, slices.Sorted(maps.Keys(members)))
	switch v.rnd.IntN(4) {
	case 0:
		delete(members, key)
	case 1:
		members[v.key()] = json.RawMessage(pick(v, v.leaves))
	case 2:
		return pick(v, v.leaves)
	default:
		members[key] = json.RawMessage(v.json(string(members[key])))
	}
	return encode(members)
}

// Setup returns a write that changes what an operation finds: the node at a path.
// It may be one that does not do anything. The actor is an administrator, as in Split. ok is false
// if the draw is of no use, such as a server value.
func (v *Varier) Setup(world rulestest.World, path tree.Path) (rulestest.Op, bool) {
	value := "null"
	if n := world.Root.Get(path); v.rnd.IntN(3) > 0 {
		value = v.json(n.JSON())
	}
	if strings.Contains(value, ".sv") {
		return rulestest.Op{}, false
	}
	op, err := rulestest.OpText{Kind: "write", Path: path.String(), Value: value}.Parse()
	op.Who = rulestest.Actor{Admin: true}
	return op, err == nil
}

// Split divides an update in two: what an administrator does of it before, and
// the rest. So a rule that demands several writes at once can be asked about one
// of them.
//
// Values of before are resolved as of op.Now: an increment there becomes its sum, so that
// both parts together have the effect of the whole. Neither part is empty. ok is false if op is
// no update, has one path, or cannot be resolved in world.
func (v *Varier) Split(world rulestest.World, op rulestest.Op) (before, rest rulestest.Op, ok bool) {
	values := object(op.Value)
	if op.Kind != rulestest.Update || len(values) < 2 {
		return before, rest, false
	}
	writes, err := world.Resolve(op.Update, op.Now)
	if err != nil {
		return before, rest, false
	}
	done, left := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for i, path := range slices.Sorted(maps.Keys(values)) {
		if v.rnd.IntN(2) == 0 && len(done) < len(values)-1 || i == len(values)-1 && len(done) == 0 {
			p, err := tree.ParsePath(path)
			if err != nil {
				return before, rest, false
			}
			j := slices.IndexFunc(writes, func(w tree.ResolvedWrite) bool { return w.Path == op.Path.Join(p) })
			if j < 0 {
				return before, rest, false
			}
			done[path] = json.RawMessage(writes[j].Node.JSON())
		} else {
			left[path] = values[path]
		}
	}
	before, err1 := rulestest.OpText{Kind: "update", Path: op.Path.String(), Value: encode(done)}.Parse()
	rest, err2 := rulestest.OpText{Kind: "update", Path: op.Path.String(), Value: encode(left)}.Parse()
	before.Who = rulestest.Actor{Admin: true}
	rest.Who, rest.As, rest.Now = op.Who, op.As, op.Now
	return before, rest, err1 == nil && err2 == nil && len(left) > 0
}

// object returns the members of an object, nil of any other value.
func object(text string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return m
}

// encode returns maps of strings, numbers and JSON as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // there is nothing else in it
	}
	return string(text)
}
