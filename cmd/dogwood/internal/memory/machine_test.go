package memory

import (
	"math"
	"os"
	"testing"
	"testing/fstest"
)

// The limit of memory is found in both versions of control groups, in those around the
// own one, and inside of containers with and without a namespace of their own.
func TestMachineMemory(t *testing.T) {
	const (
		meminfo = "MemTotal:       24683520 kB\nMemFree:        1 kB\n"
		v2      = "30 22 0:27 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
		v1      = "33 30 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		none    = "9223372036854771712\n"
	)
	type files map[string]string
	for _, test := range []struct {
		name   string
		files  files
		want   int64
		source string
	}{
		{"nothing known", files{}, 0, "unknown"},
		{"the machine", files{"proc/meminfo": meminfo}, 24683520 << 10, "machine"},
		{"version 2", files{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/memory.max": "536870912\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 512 << 20, "cgroup"},
		{"a group around it", files{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"}, 1 << 30, "cgroup"},
		{"memory.high", files{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": "1073741824\n", "sys/fs/cgroup/a/memory.high": "805306368\n"}, 768 << 20, "cgroup"},
		{"a namespace", files{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20, "cgroup"},
		{"outside of the namespace", files{"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20, "cgroup"},
		{"a container that sees the path of the host", files{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/1f\n",
			"proc/self/mountinfo":      "30 22 0:27 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20, "cgroup"},
		{"version 1", files{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu:/\n4:cpuacct,memory:/a\n0::/\n",
			"proc/self/mountinfo":                          v1 + "40 30 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none}, 512 << 20, "cgroup"},
		{"version 1 without a limit", files{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes": none}, 24683520 << 10, "machine"},
		{"a limit above the machine", files{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": "1099511627776\n"}, 24683520 << 10, "machine"},
		{"damaged files", files{"proc/meminfo": "MemTotal:\n", "proc/self/cgroup": "x\n\n4:memory\n", "proc/self/mountinfo": "- cgroup2\n"}, 0, "unknown"},
	} {
		fsys := fstest.MapFS{}
		for name, text := range test.files {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, source := (machine{fsys}).memory(); got != test.want || source != test.source {
			t.Errorf("%s: memory() = %d, %s, want %d, %s", test.name, got, source, test.want, test.source)
		}
	}
	if got, source := (machine{os.DirFS("/")}).memory(); got < 0 || got == math.MaxInt64 {
		t.Errorf("this machine has %d bytes by its %s", got, source)
	}
}
