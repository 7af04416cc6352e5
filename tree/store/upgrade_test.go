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

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// withoutSums takes the checksums off a closed file, as files of format 1 have none.
func withoutSums(t *testing.T, file string) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range kv.Buckets {
			k := tx.Bucket([]byte{byte(b)})
			values := make(map[string][]byte)
			err := k.ForEach(func(key, v []byte) error {
				if b != kv.Meta || string(key) != "format" {
					values[string(key)] = append([]byte{}, v[:len(v)-kv.SumBytes]...)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for key, v := range values {
				if err := k.Put([]byte(key), v); err != nil {
					return err
				}
			}
		}
		return tx.Bucket([]byte{byte(kv.Meta)}).Put([]byte("format"), []byte("dogwood 1"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUpgrade opens a file without checksums, to read and to write, and has them
// added a few at a time, between writes and with restarts.
func TestUpgrade(t *testing.T) {
	tier.Unraced(t)
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	damageable(t, s)
	want := answers(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	withoutSums(t, file)
	old, err := Open(file, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if bad := compareAnswers(t, "only read", want, answers(t, old)); bad > 0 {
		t.Errorf("%d answers of an old file are errors", bad)
	}
	old.Close()
	if findings, err := CheckFile(file); len(findings) > 0 || err != nil {
		t.Errorf("check of an old file: %v, %v", findings, err)
	}
	s = open(t, file)
	note := tree.MustParsePath("note")
	for n, more := 0, true; more; n++ {
		put(t, s, func(tx *Tx) error { _, err := tx.Put(note, tree.Number(float64(n))); return err })
		if more, err = s.Upgrade(97); err != nil {
			t.Fatal(err)
		}
		if n%20 == 7 {
			if bad := compareAnswers(t, "meanwhile", want, answers(t, s)); bad > 0 {
				t.Errorf("%d answers are errors", bad)
			}
			check(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, file)
		}
	}
	compareAnswers(t, "in the end", want, answers(t, s))
	check(t, s)
	if more, err := s.Upgrade(10); more || err != nil {
		t.Errorf("Upgrade again = %t, %v", more, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file)
	defer s.Close()
	if s.bolt.Plain() {
		t.Error("the upgrade has not ended")
	}
}

// TestCheckNamesDamage damages the value of one row and of a chunk and wants check to
// name their paths, readers of others to be served, and a write there to fail.
func TestCheckNamesDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	mustLoad(t, s, "users", LoadOptions{}, `{"ann": "`+strings.Repeat("a", 1500)+`", "bob": "`+strings.Repeat("b", 1500)+`", "eve": "`+strings.Repeat("e", 5000)+`"}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole := usedPages(t, file)
	for user, text := range map[string]string{"bob": "bbbbbbbb", "eve": "eeeeeeee"} {
		broken := strings.ReplaceAll(string(whole), text, "DDDDDDDD")
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		findings, err := CheckFile(file)
		if err != nil || len(findings) != 1 || !strings.HasPrefix(findings[0].Error(), "/users/"+user+": ") {
			t.Errorf("check = %v, %v, want /users/%s", findings, err, user)
		}
		var told []error
		s, err := Open(file, Options{OnDamage: func(err error) { told = append(told, err) }})
		if err != nil {
			t.Fatal(err)
		}
		err = s.View(func(tx *Tx) error { _, err := tx.Get(tree.MustParsePath("users/" + user)); return err })
		if err == nil || len(told) == 0 || s.Damaged() == 0 {
			t.Errorf("read of damage = %v, told %v, counted %d", err, told, s.Damaged())
		}
		wantTree(t, s, tree.MustParsePath("users/ann"), tree.String(strings.Repeat("a", 1500)))
		s.Close()
	}
}

// TestCheckNamesAllDamage: of a file that cannot be opened, check names what is on
// damaged pages, what is missing at its end, and entries with wrong checksums elsewhere.
func TestCheckNamesAllDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	damageable(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(file, nil); err != nil {
		t.Fatal(err)
	}
	whole := usedPages(t, file)
	page := os.Getpagesize()
	pageOf := func(f []byte, text string) []byte {
		at := bytes.Index(f, []byte(text)) / page * page
		return f[at:][:page]
	}
	for _, c := range []struct {
		name   string
		damage func(f []byte) []byte
		want   []string
	}{
		{"a page of zeros and a byte", func(f []byte) []byte {
			clear(pageOf(f, "user number 99"))
			f[bytes.Index(f, []byte("user number 300"))] = 'X'
			f[bytes.Index(f, []byte("data 0"))] = 'X'
			return f
		}, []string{"/users/k00000", " up to /users/k00001", "/users/k0000300: ", "onDisconnect operations: "}},
		{"cut short", func(f []byte) []byte {
			return f[:bytes.Index(f, []byte("user number 200"))/page*page]
		}, []string{"bytes, should have", "is missing at the end of the file"}},
		{"the format", func(f []byte) []byte {
			return bytes.ReplaceAll(f, []byte("dogwood 2"), []byte("dogwood 1"))
		}, []string{"unreadable state"}},
	} {
		if err := os.WriteFile(file, c.damage(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		wantOpenError(t, file, ErrDamaged)
		findings, err := CheckFile(file)
		all := fmt.Sprintln(errors.Join(findings...))
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: check = %s, %v; want %q", c.name, all, err, want)
			}
		}
	}
}

// TestPathsOfAPage: containers are in the order of their ids.
func TestPathsOfAPage(t *testing.T) {
	s := sumScan{
		places:  map[uint64]rowPlace{5: {0, "b"}, 6: {0, "z"}, 7: {0, "a"}, 8: {0, "c"}, 9: {0, "text"}},
		chunked: map[uint64]bool{7: true, 9: true},
	}
	for id, place := range s.places {
		place.key = string(rowKey(0, place.key)[8:])
		s.places[id] = place
	}
	s.places[0] = rowPlace{}
	for _, c := range []struct {
		page kv.BadPage
		want string
	}{
		{kv.BadPage{Bucket: kv.Rows, Min: rowKey(5, "k"), Max: rowKey(5, "m")}, "/b/k up to /b/m"},
		{kv.BadPage{Bucket: kv.Rows, Min: rowKey(5, "k"), Max: rowKey(8, "m")}, "/b/k and what follows there, /z, /c up to /c/m"},
		{kv.BadPage{Bucket: kv.Rows, Min: rowKey(6, "k")}, "/z/k and what follows there, /c, what was stored last"},
		{kv.BadPage{Bucket: kv.Blobs, Min: idKey(6), Max: idKey(9)}, "/z, /a"},
		{kv.BadPage{Bucket: kv.Rows}, "all of the values"},
		{kv.BadPage{Bucket: kv.Writers, Min: idKey(6)}, "a part of write ids"},
	} {
		if got := s.on(c.page); got != c.want {
			t.Errorf("%+v is %q, want %q", c.page, got, c.want)
		}
	}
}
