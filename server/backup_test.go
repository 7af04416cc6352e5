package server

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/space"
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
	fail error         // of the check
	off  time.Duration // by which the clock of the machine is wrong
}

func newBackupTest(t *testing.T, dir string, every time.Duration, keep int) *backupTest {
	return newBackupTestOf(t, t.TempDir(), dir, every, keep)
}

// newBackupTestOf is newBackupTest for data that there may be already.
func newBackupTestOf(t *testing.T, data, dir string, every time.Duration, keep int) *backupTest {
	b := &backupTest{t: t, dir: dir}
	// In development mode nothing is revoked, so no watch looks for it five times in each
	// second of the days that pass here. Nor is the disk asked in each of them.
	roomy := func(string) (space.Stat, error) { return space.Stat{Free: 1 << 40, Size: 1 << 40}, nil }
	s, err := New(Options{Dev: true, Dir: data, Namespaces: []string{"shop", "shop-2"}, Deactivated: []string{"off"}, Log: textLog(&b.log), statDisk: roomy})
	if err != nil {
		t.Fatal(err)
	}
	b.Server = s
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		s.RunBackups(ctx, Backups{Dir: b.dir, Every: every, Keep: keep, Check: b.check, Now: b.now})
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

// now is the clock of the machine. Timers go by another one, which is never set.
func (b *backupTest) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Add(b.off)
}

// setClock makes the clock wrong from now on.
func (b *backupTest) setClock(off time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.off = off
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
		if !strings.Contains(b.log.String(), "check of the copy: page 7 is torn") {
			t.Errorf("log: %s", &b.log)
		}
		b.failWith(nil)
		b.want(backupRetry,
			"shop-2-20000101T000000Z.db", "shop-2-20000102T002000Z.db", "shop-20000101T000000Z.db", "shop-20000102T002000Z.db")
	})
}

// shop wants these backups of one database.
func (b *backupTest) shop(after time.Duration, stamps ...string) {
	b.t.Helper()
	var files []string
	for _, ns := range []string{"shop-2", "shop"} {
		for _, stamp := range stamps {
			files = append(files, ns+"-"+stamp+".db")
		}
	}
	slices.Sort(files)
	b.want(after, files...)
}

// TestBackupsOfTheFuture: backups that were made while the clock was wrong neither
// stop others nor have them deleted, and go when there are enough newer ones.
func TestBackupsOfTheFuture(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for _, ns := range []string{"shop", "shop-2"} {
			for _, stamp := range []string{"19991230T000000Z", "20990101T000000Z", "20990102T000000Z"} {
				if err := os.WriteFile(filepath.Join(dir, ns+"-"+stamp+".db"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		b := newBackupTest(t, dir, 24*time.Hour, 2)
		defer b.stop()
		b.shop(0, "19991230T000000Z", "20000101T000000Z", "20990102T000000Z")
		b.shop(24*time.Hour, "20000101T000000Z", "20000102T000000Z")
		b.shop(24*time.Hour, "20000102T000000Z", "20000103T000000Z")
		if n := strings.Count(b.log.String(), "backups have times in the future"); n != 2 {
			t.Errorf("%d warnings of two databases: %s", n, &b.log)
		}
	})
}

// TestBackupsWhileTheClockJumps: the schedule goes on, and the newest are kept,
// whatever their names say.
func TestBackupsWhileTheClockJumps(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	synctest.Test(t, func(t *testing.T) {
		b := newBackupTest(t, filepath.Join(t.TempDir(), "backups"), 24*time.Hour, 2)
		defer b.stop()
		b.shop(0, "20000101T000000Z")
		b.setClock(366 * 24 * time.Hour) // on the day after
		b.shop(23*time.Hour, "20000101T000000Z")
		b.shop(time.Hour, "20000101T000000Z", "20010102T000000Z")
		b.setClock(-48 * time.Hour)
		b.shop(24*time.Hour, "20000101T000001Z", "20010102T000000Z")
		b.shop(24*time.Hour, "20000101T000001Z", "20000102T000000Z")
		b.setClock(0)
		b.shop(24*time.Hour, "20000102T000000Z", "20000105T000000Z")
		if got := b.BackupStats(); got.Done != 10 || got.Failed != 0 {
			t.Errorf("stats %+v", got)
		}
	})
}

// write commits something in each database.
func (b *backupTest) write() {
	b.t.Helper()
	for _, ns := range []string{"shop", "shop-2"} {
		r := localRequest("PUT", "/x.json?ns="+ns, strings.NewReader("1"))
		r.Header.Set("Authorization", "Bearer owner")
		w := httptest.NewRecorder()
		if b.ServeHTTP(w, r); w.Code != 200 {
			b.t.Fatalf("a write to %s: %d %s", ns, w.Code, w.Body)
		}
	}
}

// TestBackupsOfAnotherDatabase: the disk of the data is not mounted for some days, so a new
// database gets the name. Its backups do not push out those of the one before it.
func TestBackupsOfAnotherDatabase(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	synctest.Test(t, func(t *testing.T) {
		mounted, dir := t.TempDir(), t.TempDir()
		b := newBackupTestOf(t, mounted, dir, 24*time.Hour, 2)
		b.shop(0, "20000101T000000Z")
		b.write()
		b.shop(24*time.Hour, "20000101T000000Z", "20000102T000000Z")
		b.shop(24*time.Hour, "20000102T000000Z", "20000103T000000Z")
		b.stop()

		b = newBackupTest(t, dir, 24*time.Hour, 2)
		b.shop(24*time.Hour, "20000102T000000Z", "20000103T000000Z", "20000104T000000Z")
		b.shop(5*24*time.Hour, "20000102T000000Z", "20000103T000000Z", "20000108T000000Z", "20000109T000000Z")
		b.write()
		b.shop(24*time.Hour, "20000102T000000Z", "20000103T000000Z", "20000109T000000Z", "20000110T000000Z")
		if n := strings.Count(b.log.String(), "backups of another database of this name"); n != 2 {
			t.Errorf("%d warnings of two databases: %s", n, &b.log)
		}
		b.stop()

		// It is mounted again. The backups without a commit may be its own, and go first.
		b = newBackupTestOf(t, mounted, dir, 24*time.Hour, 2)
		defer b.stop()
		b.shop(24*time.Hour, "20000103T000000Z", "20000110T000000Z", "20000111T000000Z")
		b.shop(24*time.Hour, "20000110T000000Z", "20000111T000000Z", "20000112T000000Z")
	})
}
