package chat

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

// However many messages come, a tail keeps and listens to few of them, also if nobody
// but this client posts.
func TestTailStaysSmall(t *testing.T) {
	const posts = 8 * minView
	for _, poster := range []string{"mchen", "hmadi"} {
		db := modeltest.Open("chat")
		reader := db.As("hmadi")
		author := New(reader, "hmadi")
		if poster != "hmadi" {
			author = New(db.As(poster), poster)
		}
		told, most := 0, 0
		tl := tail{db: reader, list: reader.Ref("messages/one"), size: 1}
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
		view, err := tl.since().Snapshot(t.Context())
		if err != nil || view.NumChildren() > 2*minView {
			t.Errorf("%s posts: the view has %d messages, %v, want %d at most", poster, view.NumChildren(), err, 2*minView)
		}
		if most > 4*minView {
			t.Errorf("%s posts: %d keys are kept, want %d at most", poster, most, 4*minView)
		}
		db.Close()
	}
}
