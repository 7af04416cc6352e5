package sync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// A handover is a client that begins and ends listens, one inside of the other, as it likes. It keeps
// one tree of what it is sent, as the SDKs do for listens without a tag, also of listens that it has
// ended. It is sent things late, and looks at them later.
type handover struct {
	t       *testing.T
	db      *Database
	c       *client
	rnd     *rand.Rand
	node    tree.Node
	inbox   []string
	listens map[string]bool
	request int
	steps   []string
}

var handoverPlaces = []string{"/a", "/a/b", "/a/b/c", "/a/d", "/"}

// TestHandover: whatever the client does, and whatever it says by hashes that it has, its tree is
// right in the end where it listens. Values come back again and again, so hashes do.
func TestHandover(t *testing.T) {
	steps := tier.Count("DOGWOOD_MODEL_STEPS", 1500, 4_000, 200_000) / 10
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := Options{}
			if seed%2 == 1 {
				inFile(t, &o) // with a log, which tells what has changed
			}
			h := &handover{t: t, db: openTest(t, o), rnd: rand.New(rand.NewPCG(seed, 1)), listens: map[string]bool{}}
			h.c = connect(t, h.db, "a", []int{0, 1200, 600}[seed/2%3]) // some overflow
			defer h.c.session.Close()
			for range steps {
				h.step()
				if t.Failed() {
					t.Fatalf("after\n\t%s", strings.Join(h.steps[max(0, len(h.steps)-25):], "\n\t"))
				}
			}
		})
	}
}

func (h *handover) note(format string, args ...any) {
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

func (h *handover) pick(list ...string) string { return list[h.rnd.IntN(len(list))] }

func (h *handover) step() {
	switch h.rnd.IntN(20) {
	case 0:
		h.listen(h.pick(handoverPlaces...))
	case 1:
		h.unlisten(h.pick(handoverPlaces...))
	case 2, 3: // what the SDKs do
		h.handOver("/a", "/a/b")
	case 4, 5:
		h.handOver("/a/b", "/a")
	case 6, 7, 8, 9, 10, 11, 12:
		h.write()
	case 13, 14, 15, 16:
		h.receive(1)
	case 17, 18:
		h.look(1 + h.rnd.IntN(3))
	default:
		h.check()
	}
}

// handOver begins a listen and ends another one, at once or soon.
func (h *handover) handOver(from, to string) {
	h.listen(to)
	for range h.rnd.IntN(6) {
		if h.rnd.IntN(2) == 0 {
			h.write()
		} else {
			h.receive(1)
		}
	}
	h.unlisten(from)
}

// listen says by a hash what the client has now. It may be sent something else first.
func (h *handover) listen(place string) {
	n, hash, compound := h.node.Get(tree.MustParsePath(place)), "", ""
	if h.rnd.IntN(5) > 0 {
		hash = n.Hash()
	}
	if h.rnd.IntN(3) == 0 {
		if posts, hashes := n.CompoundHash(); len(posts) > 0 {
			compound = fmt.Sprintf(`,"ch":{"ps":[%s],"hs":[%s]}`, quotedList(posts), quotedList(hashes))
		}
	}
	h.note("listen to %s with %q%s of %s", place, hash, compound, n.JSON())
	h.request++
	h.listens[place] = true
	h.c.send(fmt.Sprintf(`{"r":%d,"a":"q","b":{"p":%q,"h":%q%s}}`, h.request, place, hash, compound))
}

func quotedList(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(quoted, ",")
}

func (h *handover) unlisten(place string) {
	h.note("unlisten %s", place)
	h.request++
	delete(h.listens, place)
	h.c.send(fmt.Sprintf(`{"r":%d,"a":"n","b":{"p":%q}}`, h.request, place))
}

func (h *handover) write() {
	place, value := h.pick("/a/b", "/a/b", "/a/b", "/a/b", "/a/b/c", "/a/d", "/a", "/x"), h.pick("0", "1")
	switch {
	case place == "/a":
		value = h.pick(`{"b":0,"d":1}`, `{"b":1,"d":1}`, `{"b":{"c":1}}`, "5", "null")
	case place == "/a/b" && h.rnd.IntN(5) == 0:
		value = h.pick(`{"c":0}`, "null")
	}
	h.note("%s = %s", place, value)
	set(h.t, h.db, place, value)
}

// receive has about so many bytes come to the client.
func (h *handover) receive(bytes int) (some bool) {
	msgs := h.c.out.Take(bytes)
	for _, msg := range msgs {
		h.inbox = append(h.inbox, unwrap(string(msg)))
		h.note("\tsent %s", h.inbox[len(h.inbox)-1])
	}
	return len(msgs) > 0
}

// look has the client look at some of what has come.
func (h *handover) look(n int) {
	n = min(n, len(h.inbox))
	for _, frame := range h.inbox[:n] {
		h.note("\tlooked at %s", frame)
		h.apply(gjson.Parse(frame))
	}
	h.inbox = slices.Delete(h.inbox, 0, n)
}

func (h *handover) apply(f gjson.Result) {
	if f.Get("r").Exists() {
		if f.Get("b.s").String() != "ok" {
			h.t.Errorf("refused: %s", f)
		}
		return
	}
	base, err := tree.ParseTarget(f.Get("b.p").String())
	if err != nil {
		h.t.Fatalf("%s: %v", f, err)
	}
	data := f.Get("b.d")
	switch f.Get("a").String() {
	case "d":
		h.node = h.node.WithTarget(base, nodeOf(h.t, data.Raw))
	case "m":
		data.ForEach(func(key, value gjson.Result) bool {
			part, err := tree.ParseTarget(key.String())
			if err != nil {
				h.t.Fatalf("%s: %v", f, err)
			}
			part.Path = base.Path.Join(part.Path)
			h.node = h.node.WithTarget(part, nodeOf(h.t, value.Raw))
			return true
		})
	case "rm":
		n := h.node.Get(base.Path)
		for _, m := range data.Array() {
			merge := tree.RangeMerge{Start: m.Get("s").String(), HasStart: m.Get("s").Exists(), End: m.Get("e").String(), HasEnd: m.Get("e").Exists(), Value: nodeOf(h.t, m.Get("m").Raw)}
			if n, err = merge.Apply(n); err != nil {
				h.t.Fatalf("%s: %v", f, err)
			}
		}
		h.node = h.node.WithTarget(base, n)
	default:
		h.t.Fatalf("not known: %s", f)
	}
}

// check compares what the client has with what there is.
func (h *handover) check() {
	for h.receive(1 << 20) {
	}
	h.look(len(h.inbox))
	for place := range h.listens {
		if got, want := h.node.Get(tree.MustParsePath(place)).JSON(), get(h.t, h.db, place); got != want {
			h.t.Errorf("the client has %s at %s, want %s", got, place, want)
		}
	}
}

// TestEventsBehindAView: older events of another listen behind a view end with its state. Where the rest
// of them is left out, because that listen ends, the view is sent again, and only then.
func TestEventsBehindAView(t *testing.T) {
	for name, c := range map[string]struct {
		hash  string
		taken int // of the view and the two events, when the listen of /a ends
	}{
		"sent":           {"", 2},
		"known":          {tree.Number(0).Hash(), 2},
		"nothing waits":  {"", 3},
		"known, nothing": {tree.Number(0).Hash(), 3},
	} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, Options{})
			set(t, db, "/a/b", "0")
			a := connect(t, db, "a", 0)
			defer a.session.Close()
			a.send(`{"r":1,"a":"q","b":{"p":"/a","h":""}}`)
			a.frames()
			a.send(fmt.Sprintf(`{"r":2,"a":"q","b":{"p":"/a/b","h":%q}}`, c.hash))
			set(t, db, "/a/b", "1")
			set(t, db, "/a/b", "0")
			var sent []string
			for range c.taken {
				for _, msg := range a.out.Take(1) {
					sent = append(sent, unwrap(string(msg)))
				}
			}
			a.send(`{"r":3,"a":"n","b":{"p":"/a"}}`)
			got := strings.Join(a.frames(), "\n")
			want := `{"r":3,"b":{"s":"ok","d":""}}`
			if c.taken < 3 {
				want += "\n" + `{"a":"d","b":{"p":"a/b","d":0}}`
			}
			if got != want {
				t.Errorf("behind\n%s\ncomes\n%s\nwant\n%s", strings.Join(sent, "\n"), got, want)
			}
		})
	}
}
