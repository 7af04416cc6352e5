package sync

import (
	"fmt"
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
