package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// messages returns a room with n messages, which are a container.
func messages(n int) tree.Node {
	var list tree.Builder
	for i := range n {
		list.Child(fmt.Sprintf("m%03d", i), tree.MustParseNode(fmt.Sprintf(`{"pad":"%s","time":%d}`, strings.Repeat("x", 30), n-i)))
	}
	return tree.Empty.With(tree.MustParsePath("messages"), list.Node())
}

// TestBuildBehindWhatIsGone: if the node that a build stopped in goes or changes before the next step, the
// nodes behind it are built from their first child.
func TestBuildBehindWhatIsGone(t *testing.T) {
	byTime := Index{"/rooms/$room/messages", "time"}
	stopped := tree.MustParsePath("rooms/r1")
	for name, r1 := range map[string]tree.Node{
		"removed": tree.Empty,
		"a leaf":  tree.Bool(true),
		"packed":  tree.MustParseNode(`{"messages":{"m001":{"time":1}}}`),
		"other":   tree.Empty.With(tree.MustParsePath("other"), messages(100)),
		"shorter": messages(70),
		"another": messages(100),
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, "")
			defer s.Close()
			put(t, s, func(tx *Tx) error {
				for i := range 4 {
					mustPut(t, tx, fmt.Sprint("rooms/r", i), messages(100))
				}
				return nil
			})
			if err := s.Declare([]Index{byTime}); err != nil {
				t.Fatal(err)
			}
			for inside := false; !inside; {
				if more, err := s.Build(40); !more || err != nil {
					t.Fatal("the build ended:", err)
				}
				view(t, s, func(tx *Tx) error {
					u, _, err := tx.Indexes().Usage(byTime, 0)
					inside = stopped.Contains(u.At) && u.At.Len() == 4 && u.At.Clean() > "rooms/r1/messages/m050"
					return err
				})
			}
			put(t, s, func(tx *Tx) error { _, err := tx.Put(stopped, r1); return err })
			build(t, s)
			wantClean(t, s)
			view(t, s, func(tx *Tx) error {
				found, err := tx.Query(tree.MustParsePath("rooms/r2/messages"), tree.Query{OrderBy: "time"})
				if len(found) != 100 {
					t.Errorf("the index of the next room has %d messages, want 100", len(found))
				}
				return err
			})
		})
	}
}
