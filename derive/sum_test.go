package derive_test

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// Whole numbers are added exactly, in any order, and no write takes a sum to where they cannot be. It can be
// taken back from there.
func TestSumIsExact(t *testing.T) {
	doc := parse(t, `"spent": {"sum": "/orders/$u/$o", "of": "= data.child('n').val()", "to": "/spent/$u"}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"orders":{"ann":{"a":{"n":5}},"old":{"a":{"n":1e17},"b":{"n":1e17}}},"spent":{"ann":5,"old":2e17}}`)}}
	for _, c := range []struct {
		writes []tree.ResolvedWrite
		want   string // what is spent by the user that is written, or "refused"
	}{
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "1e17")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "-1e17")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "1e17"), put("orders/ann/c/n", "-1e17")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "9007199254740991")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "9007199254740986")}, "9007199254740991"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "9007199254740986"), put("orders/ann/c/n", "1")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "9007199254740991"), put("orders/ann/c/n", "2"), put("orders/ann/d/n", "-9007199254740991")}, "7"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "9007199254740993")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "9007199254740986"), put("orders/ann/c/n", "2")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/b/n", "1e308"), put("orders/ann/c/n", "1e308")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/ann/a", "null")}, "null"},
		{[]tree.ResolvedWrite{put("orders/old/a/text", `"x"`)}, "2e17"},
		{[]tree.ResolvedWrite{put("orders/old/a", "null")}, "1e17"},
		{[]tree.ResolvedWrite{put("orders/old/a/n", "2e17")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/old/c/n", "1e16")}, "refused"},
		{[]tree.ResolvedWrite{put("orders/old", "null")}, "null"},
	} {
		for _, admin := range []bool{false, true} {
			r, err := doc.Derive(&derive.Change{Before: s, Writes: c.writes, Admin: admin})
			if c.want == "refused" {
				if got := refusal(t, err); got.Reason != derive.TooLarge || !strings.Contains(got.Error(), "the sum spent would go beyond") {
					t.Errorf("%v: %v", c.writes, got)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%v: %v", c.writes, err)
			}
			_, below, _ := c.writes[0].Path.Cut()
			user, _, _ := below.Cut()
			if got := s.After(r.Writes).Root.Child("spent").Child(user); got != tree.MustParseNode(c.want) {
				t.Errorf("%v makes %s, want %s", c.writes, got.JSON(), c.want)
			}
		}
	}
}
