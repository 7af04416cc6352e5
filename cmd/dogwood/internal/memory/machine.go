package memory

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A machine reads how much memory this process may have from the files of Linux. On
// other systems, which have none of these files, that is unknown.
type machine struct{ files fs.FS } // the root directory

// noLimit is from where on a number of bytes stands for no limit. Control groups of
// version 1 write the largest multiple of the page size.
const noLimit = 1 << 60

// memory returns the least of the memory of the machine and the limits of the control
// groups that this process is in, 0 if none of them is known. source says which it is.
func (m machine) memory() (bytes int64, source string) {
	bytes, source = m.total(), "machine"
	if limit := m.controlGroups(); limit > 0 && (bytes == 0 || limit < bytes) {
		return limit, "cgroup"
	}
	if bytes == 0 {
		return 0, "unknown"
	}
	return bytes, source
}

// total returns the memory of the machine, 0 if it is unknown.
func (m machine) total() int64 {
	for line := range m.lines("proc/meminfo") {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// controlGroups returns the least limit of the control groups, 0 if there is none.
func (m machine) controlGroups() int64 {
	least := int64(math.MaxInt64)
	for line := range m.lines("proc/self/cgroup") {
		parts := strings.SplitN(line, ":", 3) // id, controllers, path
		if len(parts) < 3 {
			continue
		}
		kind, names := "cgroup", []string{"memory.limit_in_bytes"}
		switch {
		case parts[1] == "":
			kind, names = "cgroup2", []string{"memory.max", "memory.high"}
		case !hasWord(parts[1], "memory"):
			continue
		}
		for dir := range m.ancestors(kind, parts[2]) {
			for _, name := range names {
				least = min(least, m.limit(path.Join(dir, name)))
			}
		}
	}
	if least >= noLimit {
		return 0
	}
	return least
}

// ancestors yields the directories of a group and of all groups around it, as far as
// this process sees them. Inside a container the group's path may be that of the host.
// Then only the part below the root of the mount exists.
func (m machine) ancestors(kind, group string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		root, mount, ok := m.mount(kind)
		if !ok {
			return
		}
		rel := path.Clean("/" + group)
		if root != "/" {
			rel = strings.TrimPrefix(rel, root)
		}
		for rel = path.Clean("/" + rel); yield(path.Join(mount, rel)) && rel != "/"; {
			rel = path.Dir(rel)
		}
	}
}

// mount returns where the memory controller of a version is mounted, and which group is
// the root of that mount. Paths of files have no slash in front, as those of an fs.FS.
func (m machine) mount(kind string) (root, dir string, ok bool) {
	for line := range m.lines("proc/self/mountinfo") {
		// 34 30 0:31 /group /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
		left, right, found := strings.Cut(line, " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if !found || len(before) < 5 || len(after) < 3 || after[0] != kind {
			continue
		}
		if kind == "cgroup2" || hasWord(after[2], "memory") {
			return before[3], strings.TrimPrefix(before[4], "/"), true
		}
	}
	return "", "", false
}

// limit returns what a file says, noLimit or more if there is none.
func (m machine) limit(file string) int64 {
	text, err := fs.ReadFile(m.files, file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 { // max
		return math.MaxInt64
	}
	return n
}

func (m machine) lines(file string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		text, err := fs.ReadFile(m.files, file)
		if err != nil {
			return
		}
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan() && yield(s.Text()); {
		}
	}
}

func hasWord(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }
