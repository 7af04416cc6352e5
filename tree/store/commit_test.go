package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

var errDisk = errors.New("the disk failed")

// failing returns a store with one value in a file, and its faults.
func failing(t *testing.T) (*Store, *kv.Faults) {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "db"))
	t.Cleanup(func() {
		wantClean(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	putAt(t, s, "/a", `"old"`)
	return s, s.bolt.Inject()
}

func putAt(t *testing.T, s *Store, path, value string) {
	t.Helper()
	if err := tryPut(s, path, value); err != nil {
		t.Fatal(err)
	}
}

func tryPut(s *Store, path, value string) error {
	return s.Update(func(tx *Tx) error {
		_, err := tx.Put(tree.MustParsePath(path), tree.MustParseNode(value))
		return err
	})
}

// TestCommitIsTakenBack: a commit whose last sync fails did not take place, for
// readers that come meanwhile, for those that are older, and for what follows.
func TestCommitIsTakenBack(t *testing.T) {
	s, f := failing(t)
	old, err := s.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Rollback()
	seen := make(chan string)
	f.Commit = func() error {
		shown := make(chan struct{})
		go func() {
			defer close(seen)
			close(shown)
			seen <- exported(t, s, tree.Root)
		}()
		<-shown
		runtime.Gosched()
		return errDisk
	}
	f.PutBack = func() error {
		if got := exported(t, s, tree.Root); got != `{"a":"old"}` {
			t.Errorf("a reader while the commit is taken back has seen %s", got)
		}
		return nil
	}
	if err := tryPut(s, "/a", `"new"`); !errors.Is(err, errDisk) || errors.Is(err, ErrUnknown) {
		t.Fatalf("a commit that fails: %v", err)
	}
	if got := <-seen; got != `{"a":"old"}` {
		t.Errorf("a reader during the commit has seen %s", got)
	}
	f.Commit = nil
	for range 20 { // in pages that are free
		putAt(t, s, "/b", `"x"`)
	}
	if n, err := old.Get(tree.MustParsePath("/a")); err != nil || n.JSON() != `"old"` {
		t.Errorf("an older reader sees %s, %v", n.JSON(), err)
	}
	if got := exported(t, s, tree.Root); got != `{"a":"old","b":"x"}` {
		t.Errorf("in the end there is %s", got)
	}
}

// TestUnknownCommit: while a commit can be neither completed nor taken back, nothing
// is read or written. Then it did not take place.
func TestUnknownCommit(t *testing.T) {
	s, f := failing(t)
	_ = exported(t, s, tree.Root) // leaves a spare snapshot
	fail := func() error { return errDisk }
	f.Commit, f.PutBack = fail, fail
	if err := tryPut(s, "/a", `"new"`); !errors.Is(err, ErrUnknown) || !errors.Is(err, errDisk) {
		t.Fatalf("a commit that cannot be taken back: %v", err)
	}
	for range 2 {
		if _, err := s.Begin(false); !errors.Is(err, ErrFailed) {
			t.Errorf("a reader: %v", err)
		}
		if err := tryPut(s, "/b", `1`); !errors.Is(err, ErrFailed) {
			t.Errorf("a writer: %v", err)
		}
		if !s.Failed() {
			t.Error("the store has not failed")
		}
	}
	f.PutBack = nil
	if got := exported(t, s, tree.Root); got != `{"a":"old"}` {
		t.Errorf("when it was taken back there is %s", got)
	}
	f.Commit = nil
	putAt(t, s, "/a", `"newer"`)
	if got := exported(t, s, tree.Root); got != `{"a":"newer"}` || s.Failed() {
		t.Errorf("in the end there is %s", got)
	}
}

// TestMovedCommit: the store goes on from a commit during which its file was moved.
func TestMovedCommit(t *testing.T) {
	s, f := failing(t)
	f.Commit = func() error { return os.Rename(s.file, s.file+".away") }
	if err := tryPut(s, "/a", `"new"`); !errors.Is(err, ErrMoved) || !errors.Is(err, ErrUnknown) {
		t.Errorf("a commit while the file is moved: %v", err)
	}
	f.Commit = nil
	if err := tryPut(s, "/b", "1"); !errors.Is(err, ErrReplaced) || errors.Is(err, ErrUnknown) {
		t.Errorf("a commit after that: %v", err)
	}
	if err := os.Rename(s.file+".away", s.file); err != nil {
		t.Fatal(err)
	}
	putAt(t, s, "/b", "1")
	if got := exported(t, s, tree.Root); got != `{"a":"new","b":1}` {
		t.Errorf("there is %s", got)
	}
}

func metaPages(t *testing.T, file string) []byte {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return whole[:2*os.Getpagesize()]
}

// TestCloseFailed: a file that has failed is not written when it is closed, and opens
// with all or nothing of the commit.
func TestCloseFailed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	s := open(t, file)
	putAt(t, s, "/a", `"old"`)
	fail := func() error { return errDisk }
	*s.bolt.Inject() = kv.Faults{Commit: fail, PutBack: fail}
	if err := tryPut(s, "/a", `"new"`); !errors.Is(err, ErrUnknown) {
		t.Fatal(err)
	}
	before := metaPages(t, file)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := metaPages(t, file); !bytes.Equal(after, before) {
		t.Error("Close changed the meta pages")
	}
	s = open(t, file)
	defer s.Close()
	wantClean(t, s)
	if got := exported(t, s, tree.Root); got != `{"a":"old"}` {
		t.Errorf("there is %s", got)
	}
}
