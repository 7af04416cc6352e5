package sync

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/audience"
)

// TestWindows lets random writes meet random queries, indexed and not. After
// each of them every listener shows what a fresh query finds, and so does every
// window that is kept. Writes may read many, few or no rows for their listeners, and find
// them with an index or without it.
func TestWindows(t *testing.T) {
	tier.Unraced(t)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := Options{}
			if seed%2 == 1 {
				o.Rules = parseRules(t, `{"rules":{".read":true,".write":true,"l":{".indexOn":["n",".value"]}}}`)
			}
			w := windowTest{t: t, db: openTest(t, o), rnd: rand.New(rand.NewPCG(seed, 1))}
			w.db.audience.PublishRows = []int{audience.MaxPublishRows, 30, 0}[seed/2%3]
			w.db.audience.SetIndexFrom([]int{audience.IndexFrom, 0}[seed/6])
			w.many = 4 + 8*int(seed/2%2) // entries of few windows are looked up for each
			w.run(400)
		})
	}
}

type windowTest struct {
	t     *testing.T
	db    *Database
	rnd   *rand.Rand
	m     *mirror
	tag   int
	many  int // windows
	steps []string
}

func (w *windowTest) run(steps int) {
	w.m = newMirror(connect(w.t, w.db, "w", 1500))
	defer w.m.session.Close()
	for range steps {
		switch {
		case w.tag < w.many:
			w.listen()
		case w.rnd.IntN(20) == 0:
			w.unlisten()
		default:
			w.write()
		}
		if w.rnd.IntN(3) == 0 {
			continue // let more come together
		}
		w.m.read()
		compareViews(w.t, w.db, w.m, "")
		checkAudience(w.t, w.db)
		if w.t.Failed() {
			w.t.Fatalf("after\n\t%s", strings.Join(w.steps[max(0, len(w.steps)-12):], "\n\t"))
		}
	}
}

func (w *windowTest) note(format string, args ...any) string {
	s := fmt.Sprintf(format, args...)
	w.steps = append(w.steps, s)
	return s
}

func (w *windowTest) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }

func (w *windowTest) key() string {
	return w.pick("a", "b", "c", "d", "e", "f", "g", "1", "10", "9", "-1", "é", "😀", "\uffee")
}

func (w *windowTest) listen() {
	w.tag++
	order := w.pick("n", ".key", ".value", ".priority", "n/deep")
	q := fmt.Sprintf(`{"i":%q`, order)
	for _, side := range []string{"s", "e"} {
		if w.rnd.IntN(3) > 0 {
			continue
		}
		value := w.leaf()
		if order == ".key" {
			value = fmt.Sprintf("%q", w.key())
		}
		q += fmt.Sprintf(`,"%sp":%s,"%sin":%v`, side, value, side, w.rnd.IntN(2) == 0)
		if order != ".key" && w.rnd.IntN(2) == 0 {
			q += fmt.Sprintf(`,"%sn":%q`, side, w.key())
		}
	}
	if w.rnd.IntN(4) > 0 {
		q += fmt.Sprintf(`,"l":%d,"vf":%q`, 1+w.rnd.IntN(4), w.pick("l", "r"))
	}
	if w.rnd.IntN(2) == 0 {
		q += fmt.Sprintf(`,"w":%q`, w.pick("data.child('n').val() == "+w.pick("1", "2", "null"), "data.child('other').exists()", "key > 'b'", "data.isNumber() || data.child('n').isNumber()", "data.getPriority() == 1", "false"))
	}
	w.m.follow(w.note(`{"r":1,"a":"q","b":{"p":"/l","q":%s},"t":%d,"h":""}}`, q, w.tag))
}

func (w *windowTest) unlisten() {
	for key := range w.m.views {
		w.m.read()
		w.m.send(w.note(`{"r":1,"a":"n","b":{"p":"/l","t":%d}}`, key.tag))
		w.m.read()
		delete(w.m.views, key)
		w.listen()
		return
	}
}

func (w *windowTest) leaf() string {
	return w.pick("null", "true", "1", "2", "3", "2.5", `"a"`, `"b"`)
}

func (w *windowTest) value() string {
	switch w.rnd.IntN(6) {
	case 0:
		return "null"
	case 1:
		return w.leaf()
	case 2:
		return fmt.Sprintf(`{".value":%s,".priority":%s}`, w.pick("1", `"x"`), w.pick("1", "2", `"p"`))
	case 3:
		return fmt.Sprintf(`{"n":%s,"long":%q}`, w.leaf(), strings.Repeat("x", 700))
	}
	return fmt.Sprintf(`{"n":%s,".priority":%s}`, w.pick(w.leaf(), fmt.Sprintf(`{"deep":%s}`, w.leaf())), w.pick("null", "1", "2", `"p"`))
}

func (w *windowTest) write() {
	switch w.rnd.IntN(10) {
	case 0:
		w.set(w.pick("/l", "/", "/l/.priority"), func(path string) string {
			switch path {
			case "/l/.priority":
				return w.pick("null", "1", `"p"`)
			case "/":
				return fmt.Sprintf(`{"l":{%s},"x":1}`, w.members())
			}
			return w.pick("null", `"leaf"`, "{"+w.members()+"}")
		})
	case 1, 2, 3:
		if _, err := w.db.Write(w.t.Context(), updateOf(w.t, "/l", w.note("{%s}", w.members()))); err != nil {
			w.t.Fatal(err)
		}
	case 4:
		w.set("/l/"+w.key()+w.pick("/n", "/n/deep", "/other"), func(string) string { return w.leaf() })
	case 5:
		w.set("/l/"+w.key()+"/.priority", func(string) string { return w.pick("null", "1", "2", `"p"`) })
	default:
		w.set("/l/"+w.key(), func(string) string { return w.value() })
	}
}

func (w *windowTest) set(path string, value func(path string) string) {
	v := value(path)
	w.note("%s = %s", path, v)
	set(w.t, w.db, path, v)
}

// members returns some children as members of an object.
func (w *windowTest) members() string {
	var list []string
	seen := make(map[string]bool)
	for range w.rnd.IntN(8) {
		if key := w.key(); !seen[key] {
			seen[key] = true
			list = append(list, fmt.Sprintf("%q:%s", key, w.value()))
		}
	}
	return strings.Join(list, ",")
}
