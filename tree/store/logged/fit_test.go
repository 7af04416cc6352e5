package logged

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

func (m *machine) put(key string) error {
	m.t.Helper()
	tx, err := m.store.Begin(true)
	if err != nil {
		m.t.Fatal(err)
	}
	defer tx.Rollback()
	return errors.Join(tx.Put(kv.Rows, []byte(key), []byte("1")), tx.Commit())
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// fill has the log use its segments again, with records of another database.
func (m *machine) fill() {
	m.t.Helper()
	f, err := kv.OpenFile(filepath.Join(m.t.TempDir(), "other.db"), kv.FileOptions{NoSync: true})
	m.must(err)
	m.must(f.Start())
	s, err := Open(f, m.log, Options{})
	m.must(err)
	for i := range 8 {
		tx, err := s.Begin(true)
		m.must(err)
		m.must(tx.Put(kv.Rows, fmt.Append(nil, i), make([]byte, 30_000)))
		m.must(tx.Commit())
		m.must(s.Apply())
	}
	m.must(s.Close())
}

// copied copies a file or the log's directory, as it is now, to another directory.
func (m *machine) copied(name, to string) {
	m.t.Helper()
	m.store.started.Wait()
	from := filepath.Join(m.dir, name)
	to = filepath.Join(to, name)
	m.must(os.RemoveAll(to))
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		m.must(os.CopyFS(to, os.DirFS(from)))
		return
	}
	b, err := os.ReadFile(from)
	m.must(err)
	m.must(os.WriteFile(to, b, 0o600))
}

// rest has the file need no log.
func (m *machine) rest() {
	m.t.Helper()
	m.must(m.store.Apply())
	m.must(m.store.rest())
}

// TestUnfit: a file is refused if the log is not that which it had when it was last written
// to: then commits would be missing in silence, or those of another file would come into it.
func TestUnfit(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for name, copies := range map[string]func(m *machine, dir string){
		"older log": func(m *machine, dir string) {
			m.must(m.put("a"))
			m.rest()
			m.copied("log", dir)
			m.must(m.put("b"))
			m.copied("a.db", dir)
		},
		"older log, applied": func(m *machine, dir string) {
			m.must(m.put("a"))
			m.copied("log", dir)
			m.must(m.put("b"))
			m.must(m.store.Apply())
			m.copied("a.db", dir)
		},
		"older file": func(m *machine, dir string) {
			m.must(m.put("a"))
			m.copied("a.db", dir)
			m.must(m.put("b"))
			m.must(m.store.Apply())
			m.fill()
			m.copied("log", dir)
		},
		"older file, not in use any more": func(m *machine, dir string) {
			m.must(m.put("a"))
			m.copied("a.db", dir)
			m.rest()
			m.fill()
			m.copied("log", dir)
		},
		"older file, and a commit past the log": func(m *machine, dir string) {
			m.must(m.put("a"))
			m.copied("a.db", dir)
			tx, err := m.store.Begin(true)
			m.must(err)
			m.must(tx.Put(kv.Rows, []byte("b"), make([]byte, maxRows)))
			m.must(tx.Commit())
			m.must(m.put("c"))
			m.copied("log", dir)
		},
		"file of a copied directory": func(m *machine, dir string) {
			m.must(m.put("a"))
			m.rest()
			twin := m.killed()
			m.must(m.put("b"))
			m.must(m.put("c"))
			m.must(twin.put("d"))
			m.must(twin.store.Apply())
			m.copied("log", dir)
			twin.copied("a.db", dir)
			twin.stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, dir := start(t, t.TempDir(), Options{}), t.TempDir()
			copies(m, dir)
			m.stop()
			for _, readOnly := range []bool{true, false} {
				log, err := OpenLog(filepath.Join(dir, "log"), LogOptions{ReadOnly: readOnly})
				if err != nil {
					t.Fatal(err)
				}
				f, err := kv.OpenFile(filepath.Join(dir, "a.db"), kv.FileOptions{ReadOnly: readOnly, NoSync: true})
				if err == nil && !readOnly {
					err = f.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := Open(f, log, Options{}); !errors.Is(err, ErrUnfit) {
					t.Errorf("read only %t: %v", readOnly, err)
				}
				if err := errors.Join(f.Close(), log.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestLogAway: when the directory of the log, or a file of it, is removed or exchanged while it
// is in use, commits are refused, and what was acknowledged is in the file, which needs no log.
// They go on when the directory is back.
func TestLogAway(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for name, takeAway := range map[string]func(m *machine, log string){
		"removed": func(m *machine, log string) {
			for { // the log may be making a segment for later meanwhile
				if err := os.RemoveAll(log); !errors.Is(err, syscall.ENOTEMPTY) {
					m.must(err)
					return
				}
			}
		},
		"moved":   func(m *machine, log string) { m.must(os.Rename(log, log+".moved")) },
		"segment": func(m *machine, log string) { removeAll(m, filepath.Join(log, "*.seg")) },
		"control": func(m *machine, log string) { removeAll(m, filepath.Join(log, "control")) },
		"exchanged": func(m *machine, log string) {
			m.must(os.CopyFS(log+".copy", os.DirFS(log)))
			m.must(os.Rename(log, log+".moved"))
			m.must(os.Rename(log+".copy", log))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := start(t, t.TempDir(), Options{})
			log := filepath.Join(m.dir, "log")
			m.must(m.put("a"))
			m.must(m.put("b"))
			takeAway(m, log)
			for range 2 {
				if err := m.put("refused"); !errors.Is(err, kv.ErrReplaced) || errors.Is(err, kv.ErrUnknown) {
					t.Error(err)
				}
			}
			dir := t.TempDir()
			m.copied("a.db", dir)
			next := start(t, dir, Options{})
			tx, err := next.store.Begin(false)
			next.must(err)
			for key, want := range map[string]string{"a": "1", "b": "1", "refused": ""} {
				if v, err := tx.Get(kv.Rows, []byte(key)); string(v) != want || err != nil {
					t.Errorf("%s is %q: %v", key, v, err)
				}
			}
			tx.Rollback()
			next.stop()
			if _, err := os.Stat(log + ".moved"); err == nil {
				m.must(os.RemoveAll(log))
				m.must(os.Rename(log+".moved", log))
				_ = m.put("refused") // it has the log begin a segment
				m.must(m.put("c"))
				next := m.killed()
				tx, err := next.store.Begin(false)
				next.must(err)
				for key, want := range map[string]string{"a": "1", "b": "1", "refused": "", "c": "1"} {
					if v, err := tx.Get(kv.Rows, []byte(key)); string(v) != want || err != nil {
						t.Errorf("back, and %s is %q: %v", key, v, err)
					}
				}
				tx.Rollback()
				next.stop()
			}
			m.must(m.store.Close())
			_ = m.log.Close() // its files may be gone
		})
	}
}

func removeAll(m *machine, pattern string) {
	names, err := filepath.Glob(pattern)
	m.must(err)
	for _, name := range names {
		m.must(os.Remove(name))
	}
}

// another opens a file of the directory.
func (m *machine) another(name string) *Store {
	m.t.Helper()
	f, err := kv.OpenFile(filepath.Join(m.dir, name), kv.FileOptions{NoSync: true})
	m.must(err)
	m.must(f.Start())
	s, err := Open(f, m.log, Options{})
	m.must(err)
	return s
}

// TestCopiesInTurn: a file and its copy in one directory that are open one after the other are
// two databases of the log, also when the log need not keep the commits of the first one, so
// that each of them gets its own after a crash.
func TestCopiesInTurn(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	m.must(m.put("a"))
	m.must(m.store.Close())
	b, err := os.ReadFile(filepath.Join(m.dir, "a.db"))
	m.must(err)
	m.must(os.WriteFile(filepath.Join(m.dir, "b.db"), b, 0o600))
	copied := &machine{t: t, store: m.another("b.db")}
	m.must(copied.put("copied"))
	m.must(copied.store.Close())
	m.store = m.another("a.db")
	if m.store.Database() == copied.store.Database() {
		t.Error("the copy is the same database")
	}
	m.must(m.put("b"))
	next := m.killed()
	tx, err := next.store.Begin(false)
	m.must(err)
	for key, want := range map[string]string{"a": "1", "b": "1", "copied": ""} {
		if v, err := tx.Get(kv.Rows, []byte(key)); string(v) != want || err != nil {
			t.Errorf("%s is %q: %v", key, v, err)
		}
	}
	tx.Rollback()
	next.stop()
	m.stop()
}

// TestOrigin: a file is of the database that it was first, also if it is a copy that became another
// one, has left its log, or was written by a version that notes no origin.
func TestOrigin(t *testing.T) {
	m := start(t, t.TempDir(), Options{})
	wants := func(name string, want uint64) {
		t.Helper()
		f, err := kv.OpenFile(filepath.Join(m.dir, name), kv.FileOptions{ReadOnly: true, Peek: true})
		m.must(err)
		if got, err := OriginOf(f); got != want || err != nil {
			t.Errorf("%s is of %016x, %v, want %016x", name, got, err, want)
		}
		m.must(f.Close())
	}
	change := func(name string, f func(file *kv.File) error) {
		t.Helper()
		file, err := kv.OpenFile(filepath.Join(m.dir, name), kv.FileOptions{NoSync: true})
		m.must(err)
		m.must(errors.Join(file.Start(), f(file), file.Close()))
	}
	forget := func(file *kv.File) error {
		tx, err := file.Begin(true)
		m.must(err)
		return errors.Join(tx.Delete(kv.Meta, originKey), tx.Commit())
	}
	m.must(m.put("a"))
	m.must(m.store.Close())
	origin := m.store.Database()
	wants("a.db", origin)
	b, err := os.ReadFile(filepath.Join(m.dir, "a.db"))
	m.must(err)
	m.store = m.another("a.db")
	m.must(m.put("b"))
	for name, before := range map[string][]func(file *kv.File) error{
		"copied.db":       nil,
		"older.db":        {forget},
		"restored.db":     {Leave},
		"restored old.db": {forget, Leave},
	} {
		m.must(os.WriteFile(filepath.Join(m.dir, name), b, 0o600))
		for _, f := range before {
			change(name, f)
		}
		wants(name, origin)
		other := &machine{t: t, store: m.another(name)}
		m.must(other.put("c"))
		m.must(other.store.Close())
		if other.store.Database() == origin {
			t.Errorf("%s is the same database", name)
		}
		wants(name, origin)
	}
	m.stop()
	wants("a.db", origin)
}

// TestRestsLater: a file that could not be completed, because of a write transaction that then
// committed nothing, is completed later.
func TestRestsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t, t.TempDir(), Options{})
		m.must(m.put("a"))
		tx, err := m.store.Begin(true)
		m.must(err)
		time.Sleep(applyAfter + time.Second)
		synctest.Wait()
		if _, needs := stand(m.store); !needs {
			t.Error("the file was completed while a transaction could commit")
		}
		tx.Rollback()
		time.Sleep(applyAfter)
		synctest.Wait()
		if _, needs := stand(m.store); needs {
			t.Error("the file still needs the log")
		}
		m.stop()
	})
}
