package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// openLogged opens a store with the log of a directory, which is closed with the test.
func openLogged(t *testing.T, dir, name string, freeze int64) *Store {
	t.Helper()
	log, err := logged.OpenLog(LogDir(dir), logged.LogOptions{SegmentBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(filepath.Join(dir, name), Options{NoSync: true, Log: log, FreezeBytes: freeze})
	if err != nil {
		t.Fatal(errors.Join(err, log.Close()))
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), log.Close()); err != nil && !t.Failed() {
			t.Log(err) // it was closed by the test
		}
	})
	return s
}

// killedCopy returns a copy of a directory as a process leaves it that is killed. Nothing may be
// applied meanwhile: a copy is not made at one moment.
func killedCopy(t *testing.T, s *Store, dir string) string {
	t.Helper()
	to := t.TempDir()
	err := s.logged.Paused(func() error { return os.CopyFS(to, os.DirFS(dir)) })
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestModelLogged: a store with a log in front of its file is what one without is, also when
// its process is killed again and again, and opened with a log or without.
func TestModelLogged(t *testing.T) {
	for _, freeze := range []int64{1 << 10, 64 << 10, 8 << 20} {
		t.Run(fmt.Sprint(freeze), func(t *testing.T) {
			t.Parallel()
			for seed := range tier.Pick[uint64](1, 1, 3) {
				runLogged(t, seed, freeze)
			}
		})
	}
}

func runLogged(t *testing.T, seed uint64, freeze int64) {
	dir := t.TempDir()
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 5)), store: openLogged(t, dir, "a.db", freeze)}
	for i := range modelSteps() {
		m.step()
		if i%10 == 0 {
			m.compare()
		}
		if i%200 == 0 {
			check(t, m.store)
		}
		switch m.rnd.IntN(40) {
		case 0:
			m.log = append(m.log, "kill")
			dir = killedCopy(t, m.store, dir)
			if m.rnd.IntN(3) == 0 { // one run without a log in between
				if err := open(t, filepath.Join(dir, "a.db")).Close(); err != nil {
					t.Fatal(err)
				}
			}
			m.store = openLogged(t, dir, "a.db", freeze)
		case 1:
			m.log = append(m.log, "backup")
			copied := filepath.Join(t.TempDir(), "b.db")
			backUp(t, m.store, copied)
			of := &model{t: t, rnd: m.rnd, store: open(t, copied), want: m.want, log: m.log}
			of.compare()
			check(t, of.store)
			if err := of.store.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d, step %d\n%s", seed, i, m.tail())
		}
	}
	if findings, err := CheckFile(filepath.Join(killedCopy(t, m.store, dir), "a.db")); len(findings) > 0 || err != nil {
		t.Error("of a file that was not closed:", findings, err)
	}
}

func backUp(t *testing.T, s *Store, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err == nil {
		_, err = s.Backup(f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestReclaimLogged: rows that were deleted are freed in the file, when the log is applied.
func TestReclaimLogged(t *testing.T) {
	dir := t.TempDir()
	s := openLogged(t, dir, "a.db", 64<<10)
	var rows strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&rows, `,"k%05d":"%s"`, i, strings.Repeat("x", 200))
	}
	putAt(t, s, "/a", "{"+rows.String()[1:]+"}")
	if err := s.logged.Apply(); err != nil {
		t.Fatal(err)
	}
	putAt(t, s, "/a", "null")
	s.logged.StartUpkeep()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openLogged(t, dir, "a.db", 64<<10)
	for range 20 {
		if err := s.logged.Apply(); err != nil {
			t.Fatal(err)
		}
		putAt(t, s, "/b", "1")
		putAt(t, s, "/b", "2")
	}
	u, err := s.Usage()
	if err != nil || u.Reclaim > 0 || u.FreeBytes < 500_000 {
		t.Errorf("%+v, %v", u, err)
	}
	check(t, s)
}

// TestUpkeepBetweenSteps: wherever a process is killed while commits are put into the file, upkeep that comes
// before the rest of them leaves nothing that belongs to nothing. Here a commit puts a row into an old
// container, and takes away what that is in.
func TestUpkeepBetweenSteps(t *testing.T) {
	const freeze = 16 << 10 // steps have four entries
	dir := t.TempDir()
	s := openLogged(t, dir, "a.db", freeze)
	if err := s.Declare([]Index{{"/rooms/$room/messages", "time"}}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		put(t, s, func(tx *Tx) error { mustPut(t, tx, fmt.Sprint("rooms/r", i), messages(100)); return nil })
	}
	build(t, s)
	if err := s.logged.Apply(); err != nil {
		t.Fatal(err)
	}
	var killed []string
	inject := func(commit func() error) {
		t.Helper()
		err := s.logged.Paused(func() error { s.logged.File().Inject().Commit = commit; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	inject(func() error {
		to := t.TempDir()
		killed = append(killed, to)
		return os.CopyFS(to, os.DirFS(dir))
	})
	put(t, s, func(tx *Tx) error {
		mustPut(t, tx, "rooms/r1/messages/new", tree.MustParseNode(`{"time":0}`))
		mustPut(t, tx, "rooms/r1", tree.Empty)
		tx.SetRevision(2)
		return nil
	})
	if err := s.logged.Apply(); err != nil {
		t.Fatal(err)
	}
	inject(nil)
	if len(killed) < 2 {
		t.Fatalf("the commit was put into the file in %d steps", len(killed))
	}
	for i, dir := range killed {
		s := openLogged(t, dir, "a.db", freeze)
		err := s.logged.Paused(func() error { return freeAll(s) })
		if err = errors.Join(err, s.logged.Apply()); err != nil {
			t.Fatal(err)
		}
		if check(t, s); t.Failed() {
			t.Fatalf("it was killed behind step %d of %d", i+1, len(killed))
		}
		if err := s.logged.Paused(func() error { return freeAll(s) }); err != nil {
			t.Fatal(err)
		}
		check(t, s)
	}
}

// freeAll does all upkeep of the file.
func freeAll(s *Store) error {
	for more := true; more; {
		k, err := s.bolt.Begin(true)
		if err != nil {
			return err
		}
		if more, err = s.reclaimApplied(k, 0); err != nil {
			k.Rollback()
			return err
		}
		if err := k.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// TestCopiedFile: a copy of a file that needs the log is a database of its own.
func TestCopiedFile(t *testing.T) {
	dir := t.TempDir()
	s := openLogged(t, dir, "a.db", 1<<20)
	putAt(t, s, "/a", "1")
	dir = killedCopy(t, s, dir)
	text, err := os.ReadFile(filepath.Join(dir, "a.db"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "b.db"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := logged.OpenLog(LogDir(dir), logged.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var stores []*Store
	for _, name := range []string{"a.db", "b.db"} {
		s, err := Open(filepath.Join(dir, name), Options{NoSync: true, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
		putAt(t, s, "/name", `"`+name+`"`)
	}
	dir = killedCopy(t, stores[0], dir)
	for _, s := range stores {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"b.db", "a.db"} {
		s := open(t, filepath.Join(dir, name))
		wantTree(t, s, tree.Root, tree.MustParseNode(`{"a":1,"name":"`+name+`"}`))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLogMissing: a file whose last commits are in a log that is gone is not opened.
func TestLogMissing(t *testing.T) {
	dir := t.TempDir()
	s := openLogged(t, dir, "a.db", 1<<20)
	putAt(t, s, "/a", "1")
	dir = killedCopy(t, s, dir)
	log := LogDir(dir)
	if err := os.Rename(log, log+".away"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a.db")
	for _, o := range []Options{{}, {ReadOnly: true}} {
		if _, err := Open(file, o); !errors.Is(err, logged.ErrOtherLog) || !strings.Contains(err.Error(), "put the log back") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := os.Rename(log+".away", log); err != nil {
		t.Fatal(err)
	}
	s, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	wantTree(t, s, tree.Root, tree.MustParseNode(`{"a":1}`))
	if _, err := s.Backup(new(strings.Builder)); !errors.Is(err, ErrNotApplied) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestUncleanFormat: a file that lacks commits has a format that versions without a log
// refuse, and has theirs again when it was closed.
func TestUncleanFormat(t *testing.T) {
	dir := t.TempDir()
	s := openLogged(t, dir, "a.db", 1<<20)
	putAt(t, s, "/a", "1")
	killed := filepath.Join(killedCopy(t, s, dir), "a.db")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{killed: "dogwood 3", filepath.Join(dir, "a.db"): "dogwood 2"} {
		k, err := kv.OpenFile(file, kv.FileOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		tx, err := k.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		if format, err := kv.ReadFormat(tx); format != want || err != nil {
			t.Errorf("format %q, want %q: %v", format, want, err)
		}
		tx.Rollback()
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDatabaseOf: a copy says which database it is of, from the first commit on, also when it was
// restored, which makes it another database of the log. Damage on the way is an error, and elsewhere
// it does not matter.
func TestDatabaseOf(t *testing.T) {
	s := openLogged(t, t.TempDir(), "a.db", 0)
	file := filepath.Join(t.TempDir(), "copy.db")
	want := func(what string, want uint64) {
		t.Helper()
		if id, err := DatabaseOf(file); id != want || err != nil {
			t.Errorf("%s: %016x, %v, want %016x", what, id, err, want)
		}
	}
	backUp(t, s, file)
	want("without a commit", 0)
	for _, value := range []string{"1", "2"} {
		putAt(t, s, "/a", value)
		backUp(t, s, file)
		want("a copy", s.Database())
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	for at := 2 * os.Getpagesize(); at < len(whole); at += os.Getpagesize() {
		damaged := slices.Clone(whole)
		copy(damaged[at:], strings.Repeat("\xff", 64))
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		switch id, err := DatabaseOf(file); {
		case err != nil:
			bad++
		case id != s.Database():
			t.Errorf("with damage at %d: %016x", at, id)
		}
	}
	if bad == 0 {
		t.Error("no damage is an error")
	}
	dir := t.TempDir()
	restored := filepath.Join(dir, "a.db")
	if err := errors.Join(os.WriteFile(restored, whole, 0o600), LeaveLog(restored)); err != nil {
		t.Fatal(err)
	}
	again := openLogged(t, dir, "a.db", 0)
	if again.Database() == s.Database() {
		t.Error("a restored database has the id of the one before in the log")
	}
	backUp(t, again, file)
	want("a copy that is restored", s.Database())
	putAt(t, again, "/a", "3")
	backUp(t, again, file)
	want("with a commit", s.Database())
}
