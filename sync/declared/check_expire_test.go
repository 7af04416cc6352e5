package declared_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/kept"
)

// TestCheckOfExpiry: a check finds nodes that expire at another time than follows, never, or without a reason.
func TestCheckOfExpiry(t *testing.T) {
	d := openDB(t, open)
	due := time.Now().Add(time.Hour).UnixMilli()
	d.deploy(`"at": {"expire": "/at/$k", "at": "= data.val()", "where": "data.val() > 5"}, "after": {"expire": "/after/$k", "after": "1h"}`)
	d.set(fmt.Sprintf(`at {"a": %d, "b": 1, "c": "never"}`, due), `after {"x": 1}`)
	d.close()
	defer d.open() // to be closed
	s, err := store.Open(filepath.Join(d.dir, "db"), store.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   kept.ID
		path string
		due  int64
		want string
	}{
		{1, "at/a", due, ""},
		{1, "at/a", due + 1, "at: /at/a expires at "},
		{1, "at/a", due - 1, "at: /at/a expires at "},
		{1, "at/a", 0, "at: /at/a has no time to expire at"},
		{1, "at/b", due, "at: /at/b expires at "},
		{1, "at/c", due, "at: /at/c expires at "},
		{2, "after/x", due + 9, ""},
		{2, "after/x", 0, "after: /after/x has no time to expire at"},
	} {
		var found []string
		errUndone := errors.New("undone")
		err := s.Update(func(tx *store.Tx) error {
			if _, err := store.Kept(tx).SetTimer(kept.Timer{ID: c.id, Path: tree.MustParsePath(c.path), Due: c.due}); err != nil {
				return err
			}
			err := declared.Check(t.Context(), tx, time.Now(), func(definition, text string) { found = append(found, definition+": "+text) })
			return errors.Join(err, errUndone)
		})
		if text := strings.Join(found, "\n"); !errors.Is(err, errUndone) || !strings.HasPrefix(text, c.want) || len(found) != min(len(c.want), 1) {
			t.Errorf("%s at %d: %v %s, want %q", c.path, c.due, err, text, c.want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
