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
