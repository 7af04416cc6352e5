package sync

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// TestResumeModel: a client comes back again and again, after connections that broke in the middle
// of what was sent, and after restarts of the database. With the positions that it was told, each
// of its views is what a fresh query finds, after every step.
func TestResumeModel(t *testing.T) {
	tier.Unraced(t)
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := &resumeTest{windowTest: windowTest{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), many: 5}, now: time.UnixMilli(1_700_000_000_000)}
			r.options = Options{Now: func() time.Time { return r.now }, Rules: parseRules(t, `{"rules":{".read":true,".write":true,"l":{".indexOn":["n",".value"]}}}`)}
			inFile(t, &r.options)
			r.open()
			defer func() { r.close() }()
			r.run(300)
			t.Logf("%d views were brought up to date by %d bytes, %d were sent again by %d", r.kept, r.keptBytes, r.again, r.againBytes)
			if r.kept < 20 || r.again == 0 {
				t.Errorf("%d views were brought up to date, and %d were sent again", r.kept, r.again)
			}
		})
	}
}

// A resumeTest is a client that comes back.
type resumeTest struct {
	windowTest
	options Options
	now     time.Time
	listens map[listenKey]*resumed

	kept, keptBytes, again, againBytes int
}

// A resumed is a listen over the connections of its client.
type resumed struct {
	request string // with a place for its id and its position
	id      int64
	good    bool   // it was answered on this connection
	since   string // position
}

func (r *resumeTest) open() {
	db, err := openExact(r.options)
	if err != nil {
		r.t.Fatal(err)
	}
	r.db = db
}

func (r *resumeTest) close() {
	checkTest(r.t, r.db)
	if err := r.db.Close(); err != nil {
		r.t.Error(err)
	}
}

func (r *resumeTest) run(steps int) {
	r.listens = make(map[listenKey]*resumed)
	r.m = newMirror(connect(r.t, r.db, "first", 1500))
	r.begin(listenKey{tree.MustParsePath(r.pick("/l", "/l/a", "/")), 0}, `{"p":"%s","h":"","since":%%q}`)
	for i := range steps {
		r.now = r.now.Add(time.Duration(r.rnd.IntN(900)) * time.Millisecond)
		switch n := r.rnd.IntN(30); {
		case len(r.listens) < r.many:
			r.query()
		case n < 6:
			r.comeBack(i, n == 0)
		default:
			r.small()
		}
		if r.rnd.IntN(3) == 0 {
			continue
		}
		r.read(-1)
		compareViews(r.t, r.db, r.m, "")
		checkAudience(r.t, r.db)
		if r.t.Failed() {
			r.t.Fatalf("after\n\t%s", strings.Join(r.steps[max(0, len(r.steps)-20):], "\n\t"))
		}
	}
	r.m.session.Close()
}

// query begins a listen with a random query, mostly without a limit.
func (r *resumeTest) query() {
	r.tag++
	order := r.pick("n", ".key", ".priority")
	q := fmt.Sprintf(`{"i":%q`, order)
	if start := r.pick("1", "2", "null"); order == ".key" {
		q += fmt.Sprintf(`,"sp":%q`, r.key())
	} else if start != "null" {
		q += `,"sp":` + start
	}
	if r.rnd.IntN(3) == 0 {
		q += fmt.Sprintf(`,"l":%d,"vf":"r"`, 1+r.rnd.IntN(12))
	}
	if r.rnd.IntN(4) == 0 {
		q += `,"w":"data.child('n').val() == 1"`
	}
	r.begin(listenKey{tree.MustParsePath("/l"), int64(r.tag)}, `{"p":"%s","t":%d,"q":`+q+`},"h":"","since":%%q}`)
}

func (r *resumeTest) begin(key listenKey, body string) {
	args := []any{key.path}
	if key.tag > 0 {
		args = append(args, key.tag)
	}
	r.listens[key] = &resumed{request: `{"r":%d,"a":"q","b":` + fmt.Sprintf(body, args...) + `}`}
	r.m.views[key] = &mirrorView{}
	r.listen(key)
}

func (r *resumeTest) listen(key listenKey) {
	l := r.listens[key]
	l.id, l.good = int64(100+10*len(r.steps)+len(r.listens)), false
	for other, have := range r.listens {
		if other != key && have.id >= l.id {
			l.id = have.id + 1
		}
	}
	r.m.send(r.note(l.request, l.id, l.since))
}

// read applies what was sent, or only so many messages of it.
func (r *resumeTest) read(most int) {
	frames := r.m.frames()
	if most >= 0 {
		frames = frames[:min(most, len(frames))]
	}
	pushed := make(map[int64]int) // bytes since the last answer, by tag
	for _, frame := range frames {
		f := gjson.Parse(frame)
		switch id := f.Get("r"); {
		case id.Exists():
			for key, l := range r.listens {
				if l.id == id.Int() {
					l.good = true
					r.count(l, pushed[key.tag])
				}
			}
			clear(pushed)
		case f.Get("a").String() == "at":
			for _, l := range r.listens {
				if l.good {
					l.since = f.Get("b.d").String()
				}
			}
		default:
			pushed[f.Get("b.t").Int()] = len(frame)
			if f.Get("a").String() == "d" && r.isWhole(f) {
				pushed[f.Get("b.t").Int()] = -len(frame)
			}
			r.m.apply(f)
		}
	}
}

// isWhole reports whether a push has a whole view.
func (r *resumeTest) isWhole(f gjson.Result) bool {
	for key := range r.listens {
		if key.tag == f.Get("b.t").Int() {
			return key.path.Clean() == f.Get("b.p").String()
		}
	}
	return false
}

func (r *resumeTest) count(l *resumed, bytes int) {
	switch {
	case l.since == "":
	case bytes < 0:
		r.again, r.againBytes = r.again+1, r.againBytes-bytes
	default:
		r.kept, r.keptBytes = r.kept+1, r.keptBytes+bytes
	}
}

// comeBack has the connection break, and a new one follow, with some writes in between, and
// perhaps a restart.
func (r *resumeTest) comeBack(step int, restart bool) {
	r.read(r.rnd.IntN(12))
	r.m.session.Close()
	r.note("the connection broke; restart: %t", restart)
	for range r.rnd.IntN(8) {
		r.small()
	}
	if restart {
		r.close()
		r.open()
	}
	for range r.rnd.IntN(2) {
		r.small()
	}
	views := r.m.views
	r.m = newMirror(connect(r.t, r.db, fmt.Sprint("client", step), 1500))
	for key := range r.listens {
		r.m.views[key] = &mirrorView{node: views[key].node, first: r.listens[key].since != ""}
	}
	keys := make([]listenKey, 0, len(r.listens))
	for key := range r.listens {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b listenKey) int { return int(a.tag - b.tag) })
	for _, key := range keys {
		r.listen(key)
		if r.rnd.IntN(3) == 0 {
			r.small()
		}
	}
}

// small writes little, mostly: what is replaced whole, and what is small, is sent again.
func (r *resumeTest) small() {
	key := r.pick("b", "b", r.key())
	switch r.rnd.IntN(20) {
	case 0:
		r.write()
		set(r.t, r.db, "/l/a/base", fmt.Sprintf("%q", strings.Repeat("x", 3000)))
	case 1:
		r.set("/l/"+key+r.pick("", "/x")+"/.priority", func(string) string { return r.pick("null", "1") })
	case 2:
		r.set("/l/"+key, func(string) string {
			return r.pick(`{"n":1,".priority":1}`, `{"n":2}`, `{"x":{"y":1,".priority":2}}`, r.leaf())
		})
	default:
		r.set("/l/"+key+r.pick("/n", "/x/y", "/x/z", "/n"), func(string) string { return r.pick("null", "null", r.leaf()) })
	}
}
