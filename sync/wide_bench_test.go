package sync

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// BenchmarkWideUpdates is how long an update of as many paths as one may have takes.
func BenchmarkWideUpdates(b *testing.B) {
	for _, c := range []struct {
		name string
		key  func(i int) string
	}{
		{"in-100-rows", func(i int) string { return fmt.Sprintf("%d/%d/x", i%100, i) }},
		{"in-10000-rows", func(i int) string { return fmt.Sprintf("%d", i) }},
	} {
		for _, same := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/same=%v", c.name, same), func(b *testing.B) {
				db := openTest(b, Options{File: filepath.Join(b.TempDir(), "db"), Rules: parseRules(b, `{"rules":{".read":true,".write":true}}`)})
				base := tree.MustParsePath("wide")
				value := 1
				for b.Loop() {
					b.StopTimer()
					if !same {
						value++
					}
					var t strings.Builder
					for i := range MaxPaths {
						fmt.Fprintf(&t, `,"%s":%d`, c.key(i), value)
					}
					text := "{" + t.String()[1:] + "}"
					b.StartTimer()
					u, err := ParseUpdate(Caller{}, base, text, tree.Strict)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := db.Write(b.Context(), Write{Update: u, Merge: true, Base: base}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
