package sync

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree/store"
)

// An unknownLog has commits end as when a disk fails, but for those of pieces of large writes.
type unknownLog struct{}

func (unknownLog) Append(_ context.Context, _ string, prev uint64, entries []byte) (uint64, error) {
	if bytes.Contains(entries, []byte("\n{\"part\":")) {
		return prev + 1, nil
	}
	return 0, store.ErrUnknown
}

// TestUnknownOutcome: a write of unknown outcome is not answered: its connection
// ends. One that is told by the function is told that.
func TestUnknownOutcome(t *testing.T) {
	db := openTest(t, Options{Change: unknownLog{}})
	if _, err := db.Write(t.Context(), putOf(t, "/x", "1")); !errors.Is(err, fault.ErrUnknown) || errors.Is(err, fault.ErrUnavailable) {
		t.Errorf("Write() = %v, want %v", err, fault.ErrUnknown)
	}
	c := connect(t, db, "a", 0)
	c.send(`{"r":1,"a":"p","b":{"p":"/x","d":1}}`)
	c.settle()
	wantFrames(t, c)
	if err := c.out.Closing(); !errors.Is(err, fault.ErrUnknown) {
		t.Errorf("the connection ends for %v, want %v", err, fault.ErrUnknown)
	}
	c.session.Close()
}
