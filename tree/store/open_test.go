package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// written returns a closed file with some data in it.
func written(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	put(t, s, func(tx *Tx) error {
		for i := range 50 {
			p := tree.MustParsePath(fmt.Sprintf("list/k%d", i))
			if _, err := tx.Put(p, tree.String(strings.Repeat("text ", 500))); err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func wantOpenError(t *testing.T, file string, want error) {
	t.Helper()
	s, err := Open(file, Options{})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, want) {
		t.Errorf("Open = %v, want %v", err, want)
	}
	if err != nil && !strings.Contains(err.Error(), filepath.Base(file)) {
		t.Errorf("the error %q does not name the file", err)
	}
}

func TestOpenRefusesASecondOpener(t *testing.T) {
	t.Parallel() // it waits for a lock
	file := written(t)
	s := open(t, file)
	defer s.Close()
	wantOpenError(t, file, ErrLocked)
}

func TestOpenRefusesTruncatedFiles(t *testing.T) {
	file := written(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	used := len(usedPages(t, file)) // behind the pages in use the file is empty
	for size := 1; size < used; size += 1 + used/40 {
		if err := os.WriteFile(file, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(file, Options{})
		if err == nil {
			s.Close()
			t.Errorf("a file cut to %d of %d bytes was opened", size, used)
		} else if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
			t.Errorf("a file cut to %d of %d bytes: %v", size, used, err)
		}
	}
}

func TestOpenRefusesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database\n"), 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, text, ErrForeign)

	other := filepath.Join(dir, "other.db")
	db, err := bolt.Open(other, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("somebody else's"))
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(other)
	wantOpenError(t, other, ErrForeign)
	if after, _ := os.ReadFile(other); !bytes.Equal(before, after) {
		t.Error("opening a foreign file changed it")
	}
	wantOpenError(t, dir, ErrForeign)
}

// TestOpenRefusesDamagedPages fills one page after the other with noise. What
// opens in spite of it was a page that nothing uses.
func TestOpenRefusesDamagedPages(t *testing.T) {
	file := written(t)
	whole, size := usedPages(t, file), os.Getpagesize()
	refused := 0
	for page := 2; page < len(whole)/size; page++ {
		broken := bytes.Clone(whole)
		for i := range size {
			broken[page*size+i] = byte(i*7 + page)
		}
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(file, Options{})
		switch {
		case err == nil:
			s.Close()
		case errors.Is(err, ErrDamaged):
			refused++
			if strings.Contains(err.Error(), "freepages") {
				t.Errorf("page %d was left for bbolt to find: %v", page, err)
			}
		default:
			t.Errorf("page %d: %v", page, err)
		}
	}
	if refused == 0 {
		t.Error("no damaged page was found")
	}
}

func TestOpenRefusesAnEmptyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, file, ErrDamaged)
}

func TestOpenRefusesAnotherFormat(t *testing.T) {
	file := written(t)
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte{byte(kv.Meta)}).Put([]byte("format"), []byte("dogwood 99"))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, file, ErrFormat)
}

func TestPendingOperations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	put(t, s, func(tx *Tx) error {
		for _, p := range []Pending{{"b", 2, []byte("b2")}, {"a", 1, []byte("a1")}, {"b", 1, []byte("b1")}, {"ab", 1, []byte("ab1")}} {
			if err := tx.Disconnects().Put(p); err != nil {
				return err
			}
		}
		return tx.Disconnects().Delete("ab", 1)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file)
	defer s.Close()
	put(t, s, func(tx *Tx) error { return deleteAll(tx.Disconnects(), "a") })
	var got []string
	view(t, s, func(tx *Tx) error {
		for p, err := range tx.Disconnects().All() {
			if err != nil {
				return err
			}
			got = append(got, fmt.Sprint(p.Session, p.Number, string(p.Data)))
		}
		return nil
	})
	if want := "[b1b1 b2b2]"; fmt.Sprint(got) != want {
		t.Errorf("pending operations %v, want %s", got, want)
	}
}

// TestCheckFindsDamage breaks one thing at a time and wants it found.
func TestCheckFindsDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(tx *Tx) error
	}{
		{"stray row", func(tx *Tx) error { return tx.put(kv.Rows, rowKey(999, "x"), packedRow(tree.Bool(true)).encode()) }},
		{"stray chunk", func(tx *Tx) error { return tx.put(kv.Blobs, append(idKey(998), 0, 0, 0, 0), []byte("x")) }},
		{"missing chunk", func(tx *Tx) error {
			k, _ := tx.kv.Cursor(kv.Blobs).Seek(nil)
			return tx.delete(kv.Blobs, bytes.Clone(k))
		}},
		{"row that is not canonical", func(tx *Tx) error { return tx.put(kv.Rows, rowKey(1, "k"), []byte(`J{"b":1,"a":2}`)) }},
		{"unreadable row", func(tx *Tx) error { return tx.put(kv.Rows, rowKey(1, "k"), []byte("?")) }},
		{"stray index entry", func(tx *Tx) error { return tx.put(kv.Index, entryKey(0, 1, tree.Number(7), "nobody"), nil) }},
		{"missing index entry", func(tx *Tx) error { return tx.delete(kv.Index, entryKey(0, 1, tree.Number(3), "first")) }},
		{"empty container", func(tx *Tx) error {
			return tx.put(kv.Rows, rowKey(1, "e"), row{tag: tagContainer, id: tx.newID()}.encode())
		}},
		{"container used twice", func(tx *Tx) error { return tx.put(kv.Rows, rowKey(1, "e"), row{tag: tagContainer, id: 1}.encode()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, "")
			defer s.Close()
			put(t, s, func(tx *Tx) error {
				n := tree.MustParseNode(`{"first":{".value":1,".priority":3},"long":"` + strings.Repeat("x", 2*PackLimit) + `"}`)
				_, err := tx.Put(tree.Root, n)
				return err
			})
			check(t, s)
			put(t, s, c.damage)
			if findings, err := s.Check(); err != nil || len(findings) == 0 {
				t.Errorf("Check found nothing (%v)", err)
			}
		})
	}
}

// TestOpenRefusesDamagedMetas: the meta page that is left may be that of the commit before
// the last, and of a compacted file that of an empty one.
func TestOpenRefusesDamagedMetas(t *testing.T) {
	crashed, compacted := written(t), written(t)
	s := open(t, crashed)
	put(t, s, putNumber("n", 1))
	last := usedPages(t, crashed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(compacted, nil); err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	damages := map[string]func(f []byte, number int){
		"a bit":       func(f []byte, number int) { f[number*page+40] ^= 1 },
		"zeros":       func(f []byte, number int) { clear(f[number*page:][:page]) },
		"the other":   func(f []byte, number int) { copy(f[number*page:][:page], f[(1-number)*page:]) },
		"a data page": func(f []byte, number int) { copy(f[number*page:][:page], f[3*page:]) },
	}
	for file, whole := range map[string][]byte{"crashed": last, "compacted": usedPages(t, compacted)} {
		for name, damage := range damages {
			for number := range 2 {
				at := filepath.Join(t.TempDir(), file+".db")
				broken := bytes.Clone(whole)
				damage(broken, number)
				if err := os.WriteFile(at, broken, 0o600); err != nil {
					t.Fatal(err)
				}
				wantOpenError(t, at, ErrDamaged)
				findings, err := CheckFile(at)
				if err != nil || len(findings) == 0 || !strings.Contains(findings[0].Error(), fmt.Sprintf("page %d: the meta page", number)) {
					t.Errorf("%s, %s for meta page %d: check = %v, %v", file, name, number, findings, err)
				}
				if !bytes.Equal(contentOf(t, at), broken) {
					t.Errorf("%s, %s for meta page %d: the file has changed", file, name, number)
				}
			}
		}
	}
}

// TestOpenNewWithOneMeta: a power failure while a file is made may leave one of its two
// meta pages. It has nothing yet.
func TestOpenNewWithOneMeta(t *testing.T) {
	for number := range 2 {
		file := filepath.Join(t.TempDir(), "data.db")
		db, err := bolt.Open(file, 0o600, nil)
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		made := contentOf(t, file)
		clear(made[number*os.Getpagesize():][:os.Getpagesize()])
		if err := os.WriteFile(file, made, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, file)
		put(t, s, putNumber("n", 1))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := open(t, file).Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordsAreDropped: a file of an earlier version has records of commits, which are
// freed when it is opened.
func TestRecordsAreDropped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	put(t, s, func(tx *Tx) error {
		for n := range uint64(500) {
			if err := tx.put(kv.Journal, idKey(n+1), make([]byte, 3000)); err != nil {
				return err
			}
		}
		_, err := tx.Put(tree.MustParsePath("a"), tree.Number(1))
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file)
	defer s.Close()
	view(t, s, func(tx *Tx) error {
		if k, _ := tx.kv.Cursor(kv.Journal).Seek(nil); k != nil {
			t.Errorf("the record %x is there", k)
		}
		if v, err := tx.Get(tree.MustParsePath("a")); err != nil || v.JSON() != "1" {
			t.Errorf("Get = %s, %v", v.JSON(), err)
		}
		return nil
	})
	check(t, s)
}

// deleteAll deletes the operations of a session.
func deleteAll(d Disconnects, session string) error {
	var numbers []uint64
	for p, err := range d.All() {
		if err != nil {
			return err
		}
		if p.Session == session {
			numbers = append(numbers, p.Number)
		}
	}
	for _, n := range numbers {
		if err := d.Delete(session, n); err != nil {
			return err
		}
	}
	return nil
}
