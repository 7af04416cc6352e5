package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestLinkIndexes: the indexes of the container that a load is linked into agree
// with it, if it comes new and if it comes in place of something else.
func TestLinkIndexes(t *testing.T) {
	for _, before := range []string{"null", "5", `{".priority":1,"name":"old"}`} {
		t.Run(before, func(t *testing.T) {
			s := open(t, "")
			defer s.Close()
			if err := s.Declare([]Index{{"/list", "name"}, {"/list", tree.ByValue}}); err != nil {
				t.Fatal(err)
			}
			put(t, s, func(tx *Tx) error {
				mustPut(t, tx, "list", containerNode())
				mustPut(t, tx, "list/x", tree.MustParseNode(before))
				return nil
			})
			build(t, s)
			large := fmt.Sprintf(`{".priority":2,"name":"new","pad":%q}`, strings.Repeat("x", 2*PackLimit))
			mustLoad(t, s, "list/x", LoadOptions{}, large)
			check(t, s)
		})
	}
}
