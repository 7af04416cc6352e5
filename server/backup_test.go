package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A backupTest is a server whose databases are backed up, in a bubble whose
// clock begins at midnight UTC, 2000-01-01.
type backupTest struct {
	*Server
	t    *testing.T
	dir  string // of the backups
	log  bytes.Buffer
	stop func()

	mu   sync.Mutex
	fail error // of the check
}

func newBackupTest(t *testing.T, dir string, every time.Duration, keep int) *backupTest {
	b := &backupTest{t: t, dir: dir}
	s, err := New(Options{Dir: t.TempDir(), Namespaces: []string{"shop", "shop-2"}, Deactivated: []string{"off"}, Log: textLog(&b.log)})
	if err != nil {
		t.Fatal(err)
	}
	b.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		s.RunBackups(ctx, Backups{Dir: b.dir, Every: every, Keep: keep, Check: b.check})
	})
	b.stop = func() {
		cancel()
		running.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return b
}

func (b *backupTest) check(context.Context, string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fail
}

// failWith makes checks fail from now on, or no longer.
func (b *backupTest) failWith(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

// want waits for a while and then wants these backups and no other files.
func (b *backupTest) want(after time.Duration, files ...string) {
	b.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	entries, err := os.ReadDir(b.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, files) {
		b.t.Errorf("at %s the files are\n%v, want\n%v\n%s", time.Now().UTC().Format(backupTime), got, files, &b.log)
	}
}

func TestBackupsOnSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackupTest(t, filepath.Join(t.TempDir(), "backups"), 24*time.Hour, 2)
		defer b.stop()
		b.want(0, "shop-2-20000101T000000Z.db", "shop-20000101T000000Z.db")
		b.want(24*time.Hour-time.Second, "shop-2-20000101T000000Z.db", "shop-20000101T000000Z.db")
		b.want(time.Second,
			"shop-2-20000101T000000Z.db", "shop-2-20000102T000000Z.db", "shop-20000101T000000Z.db", "shop-20000102T000000Z.db")
		b.want(5*24*time.Hour,
			"shop-2-20000106T000000Z.db", "shop-2-20000107T000000Z.db", "shop-20000106T000000Z.db", "shop-20000107T000000Z.db")
		if got := b.BackupStats(); got.Done != 14 || got.Failed != 0 || got.LastBytes == 0 || !got.Last.Equal(time.Now()) {
			t.Errorf("stats %+v", got)
		}
		if !strings.Contains(b.log.String(), `msg="backed up" namespace=shop file=`) {
			t.Errorf("log: %s", &b.log)
		}
	})
}

// TestBackupsGoOnAfterARestart counts from the last one, removes what a crash has
// left, and leaves other files alone.
func TestBackupsGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{"shop-20000101T000000Z.db", "shop-20000101T000500Z.db.part", "shop-2-20000101T003000Z.db", "shop-notes.txt", "other-20000101T000000Z.db"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(40 * time.Minute)
		b := newBackupTest(t, dir, time.Hour, 1)
		defer b.stop()
		b.want(19*time.Minute,
			"other-20000101T000000Z.db", "shop-2-20000101T003000Z.db", "shop-20000101T000000Z.db", "shop-20000101T000500Z.db.part", "shop-notes.txt")
		b.want(time.Minute,
			"other-20000101T000000Z.db", "shop-2-20000101T003000Z.db", "shop-20000101T010000Z.db", "shop-notes.txt")
		b.want(30*time.Minute,
			"other-20000101T000000Z.db", "shop-2-20000101T013000Z.db", "shop-20000101T010000Z.db", "shop-notes.txt")
	})
}

// TestBackupThatFails is tried again, and leaves nothing that looks like a
// backup.
func TestBackupThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackupTest(t, filepath.Join(t.TempDir(), "backups"), 24*time.Hour, 2)
		defer b.stop()
		b.want(0, "shop-2-20000101T000000Z.db", "shop-20000101T000000Z.db")
		b.failWith(errors.New("page 7 is torn"))
		b.want(24*time.Hour, "shop-2-20000101T000000Z.db", "shop-20000101T000000Z.db")
		b.want(backupRetry, "shop-2-20000101T000000Z.db", "shop-20000101T000000Z.db")
		if got := b.BackupStats(); got.Done != 2 || got.Failed != 4 {
			t.Errorf("stats %+v", got)
		}
		if !strings.Contains(b.log.String(), "the copy is damaged: page 7 is torn") {
			t.Errorf("log: %s", &b.log)
		}
		b.failWith(nil)
		b.want(backupRetry,
			"shop-2-20000101T000000Z.db", "shop-2-20000102T002000Z.db", "shop-20000101T000000Z.db", "shop-20000102T002000Z.db")
	})
}
