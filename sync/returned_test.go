package sync

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A large write returns its sums as a small one does, and both only those that the caller
// may read.
func TestReturnedSums(t *testing.T) {
	tier.Unraced(t)
	const most = maxReturned / 2
	for name, values := range map[string]int{"small": 10, "large": 100_000} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, Options{Rules: parseRules(t, `{"rules":{".write":true,"a":{"open":{".read":true}}}}`)})
			var b strings.Builder
			for i := range values {
				fmt.Fprintf(&b, `"a%d":"some text",`, i)
			}
			var sums []string
			for i := range most {
				sums = append(sums, fmt.Sprintf(`"n%d":{".sv":{"increment":%d}}`, i, i))
			}
			object := "{" + b.String() + strings.Join(sums, ",") + "}"
			w := asUser(putOf(t, "/a", `{"open":`+object+`,"shut":`+object+`}`))
			if large := isLarge(w); large != (name == "large") {
				t.Fatalf("the write is large: %t", large)
			}
			w.Returns = true
			c, err := db.Write(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Returned) != most {
				t.Errorf("%d sums, want %d", len(c.Returned), most)
			}
			for _, r := range c.Returned {
				if at := r.At.String(); at != "/open/n"+r.Value.JSON() {
					t.Errorf("%s is %s", at, r.Value.JSON())
				}
			}
		})
	}
}
