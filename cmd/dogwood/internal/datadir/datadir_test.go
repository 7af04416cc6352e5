package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestExplainFlag(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(file string, errno syscall.Errno) error {
		return fmt.Errorf("open database: %s: %w", file, &fs.PathError{Op: "open", Path: file, Err: errno})
	}
	other := errors.New("another")
	for _, c := range []struct {
		dir  string
		err  error
		want string
	}{
		{dir, open(filepath.Join(dir, "new"), syscall.EACCES), fmt.Sprintf("--data %s: not writable by user %d", dir, os.Geteuid())},
		{dir, open(there, syscall.EACCES), fmt.Sprintf("--data %s: open %s: permission denied; this is user %d: run as the user who owns the file, or give the whole directory to this user", dir, there, os.Geteuid())},
		{dir, open(there, syscall.EIO), fmt.Sprintf("--data %s: open %s: input/output error", dir, there)},
		{there, open(there+"/x", syscall.ENOTDIR), fmt.Sprintf("--data %s: not a directory", there)},
		{dir + "/sub", &fs.PathError{Op: "mkdir", Path: dir + "/sub", Err: syscall.EACCES}, fmt.Sprintf("--data %s/sub: it cannot be created: permission denied", dir)},
		{dir, open("/elsewhere/keys", syscall.ENOENT), "open database: /elsewhere/keys: open /elsewhere/keys: no such file or directory"},
		{dir, other, "another"},
	} {
		if got := ExplainFlag(c.dir, c.err); got.Error() != c.want {
			t.Errorf("%v of %s: %v, want %s", c.err, c.dir, got, c.want)
		}
	}
}
