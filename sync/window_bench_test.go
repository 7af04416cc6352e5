package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/outbox"
)

// BenchmarkManyWindows is a write below a path that is followed by many different
// queries, few or all of which see it.
func BenchmarkManyWindows(b *testing.B) {
	for _, c := range []struct {
		name  string
		query func(n int) string
	}{
		{"equal", func(n int) string { return fmt.Sprintf(`{"i":"owner","sp":"u%d","ep":"u%d"}`, n, n) }},
		{"limited elsewhere", func(n int) string { return fmt.Sprintf(`{"i":"owner","sp":"u%d","l":50,"vf":"l"}`, n) }},
		{"first 50", func(n int) string { return fmt.Sprintf(`{"i":".key","ep":"m%09d","l":50,"vf":"l"}`, n) }},
		{"filter", func(n int) string {
			return fmt.Sprintf(`{"i":".key","w":"data.child('owner').val() == 'u%d'"}`, n+5000)
		}},
		{"filter by range", func(n int) string {
			return fmt.Sprintf(`{"i":".key","w":"data.child('text').val().length > %d"}`, n+5000)
		}},
		{"filter by comparison", func(n int) string {
			return fmt.Sprintf(`{"i":".key","w":"data.child('owner').val() > 'v%d'"}`, n)
		}},
		{"filter by one of two", func(n int) string {
			return fmt.Sprintf(`{"i":".key","w":"data.child('owner').val().toLowerCase() == 'v%d' || data.child('text').val().words().has('@%[1]d')"}`, n)
		}},
		{"filter by pattern", func(n int) string {
			return fmt.Sprintf(`{"i":".key","w":"data.child('text').val().matches(/w%d/)"}`, n)
		}},
		{"filter by words", func(n int) string {
			return fmt.Sprintf(`{"i":".key","w":"data.child('text').val().words().has('w%d')"}`, n)
		}},
		{"last n", func(n int) string { return fmt.Sprintf(`{"i":".key","l":%d,"vf":"r"}`, n+1) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			const windows = 1000
			db := openTest(b, Options{})
			members := "{"
			for i := range 2000 {
				members += fmt.Sprintf(`"m%09d":{"owner":"u%d","text":"hello"},`, i, i)
			}
			set(b, db, "/chat", members+`"z":1}`)
			var outboxes []*outbox.Outbox
			for i := range windows {
				outboxes = append(outboxes, listenAll(b, db, 1, "/chat", `,"t":1,"q":`+c.query(i))...)
			}
			benchmarkWrite(b, db, outboxes, func(n int) Write {
				return putOf(b, fmt.Sprintf("/chat/m%09d/text", 1999-n%10), fmt.Sprintf(`"hello %d"`, n))
			})
		})
	}
}

// BenchmarkWindowsByInterval is a write that concerns one of the queries at a path, which are
// one or many: the child is in the range of one, or moves through the window of one.
func BenchmarkWindowsByInterval(b *testing.B) {
	for _, c := range []struct {
		name  string
		query func(n int) string
		write func(n int) (path, value string)
	}{
		{"equal", func(n int) string { return fmt.Sprintf(`{"i":"owner","sp":%d,"ep":%d}`, n, n) }, func(n int) (string, string) {
			return "/chat/m000000000/text", fmt.Sprintf(`"hello %d"`, n)
		}},
		{"first 2", func(n int) string {
			if n == 0 {
				return `{"i":"owner","sp":0,"l":2,"vf":"l"}`
			}
			return fmt.Sprintf(`{"i":"owner","sp":%g,"l":2,"vf":"l"}`, -2-float64(n)/10)
		}, func(n int) (string, string) {
			return fmt.Sprintf("/chat/m%09d", n%2), []string{"null", `{"owner":0.5}`}[n/2%2]
		}},
	} {
		for _, windows := range []int{1, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/windows=%d", c.name, windows), func(b *testing.B) {
				db := openTest(b, Options{Rules: parseRules(b, `{"rules":{".read":true,".write":true,"chat":{".indexOn":"owner"}}}`), Windows: MaxPathWindows})
				set(b, db, "/chat", owned(20_000))
				benchmarkWrite(b, db, manyWindows(b, db, windows, c.query), func(n int) Write {
					path, value := c.write(n)
					return putOf(b, path, value)
				})
			})
		}
	}
}

// owned returns messages of different owners. One half of the owners is below zero.
func owned(n int) string {
	var members strings.Builder
	for i := range n / 2 {
		fmt.Fprintf(&members, `"m%09d":{"owner":%d,"text":"hello"},"n%09d":{"owner":-%d.5},`, i, i, i, i)
	}
	return "{" + members.String() + `"z":1}`
}

// manyWindows has as few sessions as possible follow the queries.
func manyWindows(b *testing.B, db *Database, windows int, query func(n int) string) (outboxes []*outbox.Outbox) {
	var c *client
	for i := range windows {
		if i%maxWindows == 0 {
			c = connect(b, db, fmt.Sprint("c", i), 0)
			b.Cleanup(c.session.Close)
			outboxes = append(outboxes, c.out)
		}
		c.send(fmt.Sprintf(`{"r":1,"a":"q","b":{"p":"/chat","h":"","t":%d,"q":%s}}`, i+1, query(i)))
		c.frames()
	}
	return outboxes
}
