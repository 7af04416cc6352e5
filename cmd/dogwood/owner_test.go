//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRootInDataOfAService: all files and directories that commands of root make in the data
// directory of a service, and in that of its backups, belong to the user of the service. If
// the directory of revocations belonged to root, for example, the service would refuse all users.
func TestRootInDataOfAService(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	const service = 12345
	dir := t.TempDir()
	data, backups := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
	for _, of := range []string{data, backups} {
		if err := os.Mkdir(of, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(of, service, service); errors.Is(err, fs.ErrPermission) {
			t.Skipf("root may not give files away here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("dogwood", args...).CombinedOutput(); err != nil {
			t.Fatalf("dogwood %q: %v\n%s", args, err, out)
		}
	}
	world, backup := writeTemp(t, "world.json", oldWorld), filepath.Join(dir, "copy.db")
	run("import", "/", world, "--data", data, "--force")
	run("backup", backup, "--data", data)
	run("restore", backup, "--data", data, "--namespace", "restored")
	run("restore", backup, "--data", data, "--force")
	run("compact", "--data", data)
	run("token", "revoke", "--uid", "ana", "--data", data)
	run("serviceaccount", "create", "backend", "--out", filepath.Join(dir, "key.json"), "--data", data)
	s := startServer(t, "--data", data, "--namespace", "new")
	wantAnswer(t, "PUT", s.url+"/a.json?auth="+secretOf(t, data), "1", 200, "1")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	run("backup", filepath.Join(backups, "copy.db"), "--data", data)
	found := 0
	for _, of := range []string{data, backups} {
		err := filepath.WalkDir(of, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if stat := info.Sys().(*syscall.Stat_t); stat.Uid != service || stat.Gid != service {
				t.Errorf("%s belongs to %d:%d", path, stat.Uid, stat.Gid)
			}
			found++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 15 {
		t.Errorf("%d files and directories", found)
	}
}
