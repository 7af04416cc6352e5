//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// anOwner is that of the directory in these tests.
var anOwner = owner{12345, 54321}

// ownedDir makes a directory that belongs to another user.
func ownedDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, anOwner.uid, anOwner.gid); errors.Is(err, fs.ErrPermission) {
		t.Skipf("root may not give files away here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantOwner wants a file, and not what a symbolic link names, to belong to an owner.
func wantOwner(t *testing.T, file string, want owner) {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := ownerOf(info); got != want {
		t.Errorf("%s belongs to %v, want %v", file, got, want)
	}
}

// TestRootGivesNewFilesAway: what root makes belongs to the owner of the directory.
func TestRootGivesNewFilesAway(t *testing.T) {
	dir := ownedDir(t)
	below := filepath.Join(dir, "a", "b")
	if err := MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("the directory has %v, %v", list, err)
	}
	f, err := OpenFile(filepath.Join(below, "opened"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(f.Close(),
		Create(filepath.Join(below, "created"), []byte("1"), 0o600),
		Replace(filepath.Join(below, "replaced"), []byte("1"), 0o600),
		os.Chown(filepath.Join(below, "replaced"), anOwner.uid, 777),
		Replace(filepath.Join(below, "replaced"), []byte("2"), 0o600),
		os.WriteFile(filepath.Join(below, "of-root"), nil, 0o600),
		Replace(filepath.Join(below, "of-root"), []byte("2"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]owner{
		"": anOwner, "..": anOwner, "opened": anOwner, "created": anOwner,
		"replaced": {anOwner.uid, 777}, // it keeps its group
		"of-root":  anOwner,
	} {
		wantOwner(t, filepath.Join(below, name), want)
	}
}

// TestRootKeepsWhatWasThere: neither a file that exists nor one that a symbolic link names
// is given away, since the owner of the directory could have them so.
func TestRootKeepsWhatWasThere(t *testing.T) {
	dir, elsewhere := ownedDir(t), t.TempDir()
	there, dangling := filepath.Join(dir, "there"), filepath.Join(dir, "dangling")
	err := errors.Join(
		os.WriteFile(there, nil, 0o600),
		os.WriteFile(filepath.Join(elsewhere, "file"), nil, 0o600),
		os.Symlink(filepath.Join(elsewhere, "none"), dangling),
		os.Symlink(filepath.Join(elsewhere, "file"), filepath.Join(dir, "link")),
		os.Symlink(elsewhere, filepath.Join(dir, "directory")),
		MkdirAll(filepath.Join(dir, "directory"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"there", "dangling", "link"} {
		f, err := OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{there, elsewhere, filepath.Join(elsewhere, "none"), filepath.Join(elsewhere, "file")} {
		if info, err := os.Lstat(file); err != nil || ownerOf(info).uid != 0 {
			t.Errorf("%s is given away: %v, %v", file, info, err)
		}
	}
	for _, name := range []string{"there", "link"} {
		if _, err := OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s is made once more: %v", name, err)
		}
	}
	if _, err := OpenFile(filepath.Join(dir, "none"), os.O_RDWR, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there is opened: %v", err)
	}
}
