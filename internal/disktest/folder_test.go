package disktest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolder: names that were synced are always there, with what was synced in their
// files; of the others, none is there without those before it.
func TestFolder(t *testing.T) {
	const trace = `1 1795300000.000001 openat(AT_FDCWD</d>, "\x2f\x64\x2f\x61", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 3<\x2f\x64\x2f\x61>
1 1795300000.000002 pwritev2(3<\x2f\x64\x2f\x61>, [{iov_base="\x78", iov_len=1}], 1, 0, RWF_DSYNC) = 1
1 1795300000.000003 fsync(4<\x2f\x64>) = 0
1 1795300000.000004 openat(AT_FDCWD, "\x2f\x64\x2f\x63", O_RDONLY) = -1 ENOENT (No such file or directory)
1 1795300000.000005 openat(AT_FDCWD, "\x2f\x64\x2f\x62", O_RDWR|O_CREAT|O_TRUNC, 0600) = 3<\x2f\x64\x2f\x62>
1 1795300000.000006 pwrite64(3<\x2f\x64\x2f\x62>, "\x79", 1, 0) = 1
1 1795300000.000007 fdatasync(3<\x2f\x64\x2f\x62>) = 0
1 1795300000.000008 renameat(AT_FDCWD, "\x2f\x64\x2f\x62", AT_FDCWD, "\x2f\x64\x2f\x61") = 0
1 1795300000.000009 unlinkat(AT_FDCWD, "\x2f\x64\x2f\x61", 0) = 0
`
	events, err := readTrace(strings.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	f := NewFolder("/d")
	for _, e := range events {
		f.Run(e)
	}
	rnd, seen := rand.New(rand.NewPCG(1, 2)), make(map[string]int)
	for range 100 {
		dir, kind := t.TempDir(), ""
		if err := f.Crash(rnd, dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				kind += name + "=" + string(text) + " "
			}
		}
		seen[kind]++
	}
	if len(seen) != 4 || seen["a=x "] == 0 || seen["a=x b=y "] == 0 || seen["a=y "] == 0 || seen[""] == 0 {
		t.Errorf("the power failures leave %v", seen)
	}
}
