package chat

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

// However many messages come, a tail keeps and listens to few of them, also if this
// client alone posts.
func TestTailStaysSmall(t *testing.T) {
	const view, posts = 50, 400
	for _, poster := range []string{"mchen", "hmadi"} {
		db := modeltest.Open("chat")
		reader := db.As("hmadi")
		author := New(reader, "hmadi")
		if poster != "hmadi" {
			author = New(db.As(poster), poster)
		}
		told, most := 0, 0
		tl := tail{db: reader, list: reader.Ref("messages/one"), size: 1, most: view}
		tl.yield = func(m Message) bool {
			most = max(most, len(tl.told)+len(tl.earlier))
			if told++; told > posts {
				return false
			}
			if _, err := author.PostMessage(t.Context(), "one", "again"); err != nil {
				t.Fatal(err)
			}
			return true
		}
		if err := tl.run(t.Context()); !errors.Is(err, errLeft) {
			t.Fatal(err)
		}
		shown, err := tl.since().Snapshot(t.Context())
		if err != nil || shown.NumChildren() > 2*view {
			t.Errorf("%s posts: the view has %d messages, %v, want %d at most", poster, shown.NumChildren(), err, 2*view)
		}
		if most > 4*view {
			t.Errorf("%s posts: %d keys are kept, want %d at most", poster, most, 4*view)
		}
		db.Close()
	}
}
