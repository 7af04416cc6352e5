package sync

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestOutgrowModel lets random writes meet random listens where the rules have limits
// inside of each other. After each write those listens are left that show no node which is
// too large, whether the committer may read many rows for listeners, few or none.
func TestOutgrowModel(t *testing.T) {
	tier.Unraced(t)
	const document = `{"rules":{".read":true,".write":true,"l":{".limit":4,".indexOn":"a",
		"$k":{".limit":3,"a":{},"$x":{".limit":2}}, "fixed":{"deep":{"$y":{".limit":1}}}}}}`
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			db := openTest(t, Options{Rules: parseRules(t, document)})
			db.audience.PublishRows = []int{audience.MaxPublishRows, 12, 0}[seed%3]
			if seed >= 9 {
				db.audience.SetIndexFrom(0)
			}
			o := &outgrowTest{T: t, db: db, rnd: rand.New(rand.NewPCG(seed, 2))}
			for range 400 {
				o.listen()
				o.step()
			}
			if o.ended < 10 || o.stayed < 10 {
				t.Errorf("%d listens ended and %d stayed: the test shows little", o.ended, o.stayed)
			}
			for _, c := range o.clients {
				c.session.Close()
			}
		})
	}
}

type outgrowTest struct {
	*testing.T
	rnd           *rand.Rand
	db            *Database
	clients       []*client
	ended, stayed int
}

func (o *outgrowTest) pick(list ...string) string { return list[o.rnd.IntN(len(list))] }

func (o *outgrowTest) path() string {
	p := ""
	for range o.rnd.IntN(5) {
		p += "/" + o.pick("a", "b", "c", "d", "e")
	}
	return "/l" + o.pick("", "", "/fixed", "/fixed/deep") + p
}

func (o *outgrowTest) value(depth int) string {
	if depth == 0 || o.rnd.IntN(3) == 0 {
		return o.pick("1", "2", "null", `"x"`)
	}
	var children []string
	for _, key := range []string{"a", "b", "c", "d", "fixed"} {
		if o.rnd.IntN(3) == 0 {
			children = append(children, fmt.Sprintf("%q:%s", key, o.value(depth-1)))
		}
	}
	return "{" + strings.Join(children, ",") + "}"
}

// listen keeps up a few listens, each of a client of its own.
func (o *outgrowTest) listen() {
	for len(o.clients) < 6 {
		c := connect(o, o.db, fmt.Sprint("c", o.rnd.Int()), 0)
		q := ""
		if o.rnd.IntN(2) == 0 {
			q = fmt.Sprintf(`,"q":{"i":%q,"l":%d,"vf":%q},"t":1`, o.pick("a", ".key", ".value", "b"), 1+o.rnd.IntN(5), o.pick("l", "r"))
		} else if o.rnd.IntN(3) == 0 {
			q = `,"q":{"i":".key","sp":"b"},"t":1`
		}
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":%q%s,"h":""}}`, o.pick("/", "/l", o.path()), q))
		c.frames()
		if o.only(c) == nil {
			c.session.Close()
			continue
		}
		o.clients = append(o.clients, c)
	}
}

// only returns the listen of a client, if it goes on.
func (o *outgrowTest) only(c *client) *audience.Listener {
	for l := range c.session.listens.all() {
		if !l.Ended() {
			return l.Listener
		}
	}
	return nil
}

func (o *outgrowTest) step() {
	path, value := o.path(), o.value(3)
	switch o.rnd.IntN(12) {
	case 0, 1:
		path, value = "/l", o.value(2)
	case 2:
		path, value = "/l", o.value(4)
	case 3:
		o.clients[0].session.Close()
		o.clients = o.clients[1:]
	}
	if o.rnd.IntN(3) == 0 {
		path, value = "/l", fmt.Sprintf(`{%q:%s,%q:%s}`, "a"+o.pick("", "/b", "/c/d"), o.value(2), "c"+o.pick("", "/b", "/a/d"), o.value(2))
		if _, err := o.db.Write(o.Context(), updateOf(o, path, value)); err != nil {
			o.Fatal(err)
		}
	} else {
		set(o, o.db, path, value)
	}
	var left []*client
	for _, c := range o.clients {
		c.frames()
		l := o.only(c)
		var listened *listen
		for listened = range c.session.listens.all() {
		}
		large := o.isLarge(listened.Follows())
		if large != (l == nil) {
			o.Fatalf("after %s = %s: the listen to %s %s goes on: %v, too large: %v\n%s", path, value, listened.key.path, listened.Follows().Query.ID(), l != nil, large, get(o, o.db, "/"))
		}
		if l == nil {
			o.ended++
			c.session.Close()
			continue
		}
		o.stayed++
		left = append(left, c)
	}
	o.clients = left
}

func (o *outgrowTest) isLarge(r Read) (large bool) {
	err := o.db.store.View(func(tx *store.Tx) error {
		x, err := o.db.Rules().Excess(tx, r.Path, r.Query, false)
		large = x != nil
		return err
	})
	if err != nil {
		o.Fatal(err)
	}
	return large
}

// TestWritesMeasureWhatTheyWrite: below a node with many children, each of which has a
// limit, a write measures the child that it writes or that enters a window.
func TestWritesMeasureWhatTheyWrite(t *testing.T) {
	tier.Unraced(t)
	db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".read":true,".write":true,"rooms":{"$r":{".limit":100}}}}`)})
	const rooms = 2000
	set(t, db, "/rooms", manyChildren(rooms))
	for i, query := range []string{`{}`, `{"i":".key","l":500,"vf":"l"}`, `{"i":".key","l":500,"vf":"r"}`, `{"i":".key","sp":"k00100"}`} {
		c := connect(t, db, fmt.Sprint("c", i), 0)
		defer c.session.Close()
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/rooms","q":%s,"t":1,"h":""}}`, query))
		c.frames()
	}
	for _, w := range []struct {
		path, value string
		most        int
	}{
		{"/rooms/k01500/m", `{"text":"hello"}`, 60},
		{"/rooms/k01500", `{"text":"hello","more":{"x":1}}`, 60},
		{"/rooms/z", `{"text":"hello"}`, 60},
		{"/rooms/a", `{"text":"hello"}`, 60},
		{"/rooms/z", "null", 600}, // the window of the last is read again
	} {
		rows := rowsReadBy(db, func() { set(t, db, w.path, w.value) })
		t.Logf("%s: %d rows", w.path, rows)
		if rows > w.most {
			t.Errorf("%s = %s reads %d rows, want at most %d", w.path, w.value, rows, w.most)
		}
	}
	if n := db.Stats().Listeners; n != 4 {
		t.Errorf("%d listeners are left, want 4", n)
	}
	set(t, db, "/rooms/k01990", manyChildren(101))
	if n := db.Stats().Listeners; n != 1 { // the first 500 do not show it
		t.Errorf("%d listeners are left of a view that is too large, want 1", n)
	}
}
