package sync

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// TestEventsDoNotKeepRequests: what waits for a client that reads nothing, and what a window
// knows of its children, is no part of the requests that it came with, however much more
// there was in these.
func TestEventsDoNotKeepRequests(t *testing.T) {
	tier.Unraced(t)
	const padding, requests = 512 << 10, 32
	pad := strings.Repeat(" ", padding)
	var wide strings.Builder
	for i := 0; wide.Len() < padding; i++ {
		fmt.Fprintf(&wide, `,"other/%s%d":null`, strings.Repeat("k", 700), i)
	}
	for name, request := range map[string]func(i int) string{
		"a wide update":      func(i int) string { return fmt.Sprintf(`"m","b":{"p":"/","d":{"x/k%d":1%s}}`, i, wide.String()) },
		"a string":           func(i int) string { return fmt.Sprintf(`"p","b":{"p":"x/k%d","d":"text"},"pad":[%s]`, i, pad) },
		"an object":          func(i int) string { return fmt.Sprintf(`"p","b":{"p":"x/k%d","d":{"a":%s1}}`, i, pad) },
		"a part of a string": func(i int) string { return fmt.Sprintf(`"m","b":{"p":"x","d":{"k%d":"text"}%s}`, i, pad) },
	} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, Options{})
			slow := connect(t, db, "slow", 1<<20)
			defer slow.session.Close()
			slow.send(`{"r":1,"a":"q","b":{"p":"/x","h":""}}`)
			slow.send(`{"r":2,"a":"q","b":{"p":"/x","q":{"i":".key","l":100,"vf":"r"},"t":1,"h":""}}`)
			slow.frames()
			writer := connect(t, db, "writer", 1<<20)
			defer writer.session.Close()
			before := heap()
			for i := range requests {
				writer.send(fmt.Sprintf(`{"r":%d,"a":%s}`, i, request(i)))
				writer.settle()
				if got := strings.Join(writer.frames(), ""); !strings.Contains(got, `"s":"ok"`) {
					t.Fatal(got)
				}
			}
			if kept := heap() - before; kept > requests*padding/4 {
				t.Errorf("%d small events keep %d bytes", requests, kept)
			}
			if messages, _ := slow.out.Backlog(); messages != 2*requests {
				t.Errorf("%d messages wait, want %d", messages, 2*requests)
			}
			runtime.KeepAlive(db)
		})
	}
}

// TestWindowsDoNotKeepRows: a window without an index keeps what orders its children, and not their rows.
func TestWindowsDoNotKeepRows(t *testing.T) {
	tier.Unraced(t)
	const children, row = 2000, 1500
	db := openTest(t, Options{})
	var b strings.Builder
	for i := range children {
		fmt.Fprintf(&b, `,"k%d":{"n":%d,"pad":"%s"}`, i, i, strings.Repeat("x", row))
	}
	set(t, db, "/l", "{"+b.String()[1:]+"}")
	c := connect(t, db, "c", 0)
	before := heap()
	c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/l","q":{"i":"n","l":%d,"vf":"l"},"t":1,"chg":1}}`, children))
	if got := strings.Join(c.frames(), ""); !strings.Contains(got, `"s":"ok"`) {
		t.Fatalf("%.200s", got)
	}
	if kept := heap() - before; kept > children*row/4 {
		t.Errorf("a window of %d children keeps %d bytes", children, kept)
	}
	c.session.Close()
	runtime.KeepAlive(db)
}

// TestWaitingReadsAreCounted: reads that wait for a client that reads nothing take no more memory than
// they count for.
func TestWaitingReadsAreCounted(t *testing.T) {
	tier.Unraced(t)
	batch := func(entry string, n int) string {
		return `"a":"bg","b":{"g":[` + strings.Repeat(entry+",", n-1) + entry + `]}`
	}
	for name, c := range map[string]struct {
		request string
		n       int
	}{
		"a get":                         {`"a":"g","b":{"p":"/"}`, 3000},
		"a get of a query":              {`"a":"g","b":{"p":"/abcd","q":{"i":"x/y","sp":"from","sn":"k1","ep":1e20,"en":"k2","l":10,"vf":"r"}}`, 3000},
		"a get with a hash":             {`"a":"g","b":{"p":"/abcd","h":"0123456789012345678901234567"}`, 3000},
		"a count":                       {`"a":"cn","b":{"p":"/"}`, 3000},
		"a page of children":            {`"a":"ls","b":{"p":"/"}`, 3000},
		"an explanation":                {`"a":"x","b":{"p":"/"}`, 3000},
		"a batch get":                   {batch(`{"p":""}`, MaxLookups), 30},
		"a batch get of joins":          {batch(`{"k":"","c":"$key/a/a/a/a/a/a"}`, MaxLookups), 30},
		"a batch get of queries":        {batch(`{"p":"","q":{"sp":1e20,"ep":1e21}}`, MaxLookups), 30},
		"a batch get in a long message": {batch(`{"p":""}`, 1) + `,"pad":"` + strings.Repeat("x", 64<<10) + `"`, 100},
	} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, Options{})
			slow := connect(t, db, "slow", 0)
			defer slow.session.Close()
			request := func(i int) { slow.send(fmt.Sprintf(`{"r":%d,%s}`, i, c.request)) }
			request(0)
			before := heap()
			_, bytes := slow.out.Backlog()
			for i := range c.n {
				request(i + 1)
			}
			kept := heap() - before
			messages, after := slow.out.Backlog()
			if messages != c.n+1 {
				t.Fatalf("%d messages wait, want %d", messages, c.n+1)
			}
			counted := after - bytes + 64*c.n // half of what a place in the queue counts is its size
			if kept > counted*5/4+64<<10 {    // the heap rounds the length of texts
				t.Errorf("%d bytes are kept for each, and %d counted", kept/c.n, counted/c.n)
			}
			runtime.KeepAlive(db)
		})
	}
}
