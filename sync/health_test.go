package sync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// fullLog fails to append while it is full.
type fullLog struct{ full bool }

func (l *fullLog) Append(_ context.Context, _ string, revision uint64, _ []byte) (uint64, error) {
	if l.full {
		return 0, &fs.PathError{Op: "write", Path: "log", Err: syscall.ENOSPC}
	}
	return revision + 1, nil
}

// TestHealth: a store that fails is tried again once a second, and a commit that
// works makes it healthy again.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		log := &fullLog{}
		db, err := Open(Options{Change: log})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Health(ctx); err != nil {
			t.Errorf("of a new database: %v", err)
		}
		log.full = true
		if _, err := db.Write(ctx, Write{Caller: Admin, Update: update(t, "/a", "1")}); !errors.Is(err, fault.ErrUnavailable) {
			t.Fatalf("a write that cannot be stored: %v", err)
		}
		if n := db.Stats().Failed; n != 1 {
			t.Errorf("%d attempts to commit failed, want 1", n)
		}
		if err := db.Health(ctx); !errors.Is(err, fault.ErrUnavailable) {
			t.Errorf("after a failure: %v, want %v", err, fault.ErrUnavailable)
		}
		log.full = false
		time.Sleep(probeEvery / 2)
		if err := db.Health(ctx); !errors.Is(err, fault.ErrUnavailable) {
			t.Errorf("before it may be tried again: %v, want %v", err, fault.ErrUnavailable)
		}
		time.Sleep(probeEvery)
		if err := db.Health(ctx); err != nil {
			t.Errorf("when it was tried again: %v", err)
		}
		if err := db.Health(ctx); err != nil {
			t.Errorf("after it worked: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Health(ctx); !errors.Is(err, fault.ErrClosed) {
			t.Errorf("of a closed database: %v, want %v", err, fault.ErrClosed)
		}
	})
}

// Administrators are told that the disk is full. Other clients are not.
func TestFullDiskIsNamed(t *testing.T) {
	db := openTest(t, Options{Change: &fullLog{full: true}, Rules: rules.Open()})
	const text = `{"r":2,"b":{"s":"unavailable","d":"The service is temporarily unavailable.%s"}}`
	for token, want := range map[string]string{"owner": " There is no room on the server's disk.", "user ana": ""} {
		c := connect(t, db, token, 0)
		c.send(`{"r":1,"a":"gauth","b":{"cred":"` + token + `"}}`)
		c.frames()
		c.send(`{"r":2,"a":"p","b":{"p":"/a","d":1}}`)
		c.settle()
		wantFrames(t, c, fmt.Sprintf(text, want))
		c.session.Close()
	}
}
