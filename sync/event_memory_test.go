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
