package disktest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trace returns a command under which strace records what a program, and what it
// starts, does to files. An error says that strace is not installed.
func Trace(log, program string, args ...string) (*exec.Cmd, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, err
	}
	flags := []string{"-f", "-y", "-xx", "-ttt", "-s", "4194304", "-o", log,
		"-e", "trace=write,pwrite64,pwritev,pwritev2,ftruncate,fsync,fdatasync,openat,renameat,renameat2,unlinkat", "-e", "signal=none", program}
	return exec.Command(strace, append(flags, args...)...), nil
}

// FailSyncs has a command of Trace see syncs fail: of each thread those that when
// names, counted from 1 for fsync and fdatasync each, as in strace(1): 3, 3..4, 3+.
func FailSyncs(cmd *exec.Cmd, when string) {
	Inject(cmd, "fsync,fdatasync", "EIO", when)
}

// Inject has a command of Trace see system calls fail with an error, as FailSyncs does.
func Inject(cmd *exec.Cmd, calls, errno, when string) {
	cmd.Args = slices.Insert(cmd.Args, 1, "-e", "inject="+calls+":error="+errno+":when="+when)
}

// tracedCall matches the start of a system call on a file. Paths are in
// hexadecimal.
var tracedCall = regexp.MustCompile(`^\d+ +(\d+\.\d+) (\w+)\(\d+<([^>]*)>(.*)\) += (\d+|-1)`)

// ReadTrace reads what a command of Trace has recorded, in the order in which
// the calls returned.
func ReadTrace(log string) ([]Event, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readTrace(f)
}

func readTrace(r io.Reader) (events []Event, err error) {
	halves := make(map[string]string) // calls that others interrupted, by process
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return events, nil // a line that is cut off is a call that did not return
		}
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		pid, _, _ := strings.Cut(line, " ")
		if half, ok := strings.CutSuffix(line, "<unfinished ...>"); ok {
			halves[pid] = strings.TrimSpace(half)
			continue
		}
		if i := strings.Index(line, " resumed>"); i >= 0 {
			line = halves[pid] + line[i+len(" resumed>"):]
		}
		if named, ok := tracedName(line); ok {
			events = append(events, named)
			continue
		}
		call := tracedCall.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		synced := call[2] == "pwritev2" && strings.Contains(call[4], "RWF_DSYNC")
		if call[5] == "-1" && !isSync(call[2]) && !synced {
			continue // it changed nothing
		}
		e, err := tracedEvent(call)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", line, err)
		}
		events = append(events, e)
		if synced { // if it failed, the write may have been taken
			do := Sync
			if call[5] == "-1" {
				do = FailedSync
			}
			events = append(events, Event{Do: do, File: e.File, Time: e.Time})
		}
	}
}

var (
	// tracedNames matches the start of a system call on names that succeeded.
	tracedNames = regexp.MustCompile(`^\d+ +(\d+\.\d+) (openat|renameat2?|unlinkat)\((.*)\) += \d+`)
	quoted      = regexp.MustCompile(`"(?:\\x[0-9a-f]{2})*"`)
)

// tracedName reads a line about a name that is made, changed or removed.
func tracedName(line string) (e Event, ok bool) {
	call := tracedNames.FindStringSubmatch(line)
	if call == nil || call[2] == "openat" && !strings.Contains(call[3], "O_CREAT") {
		return e, false
	}
	var names []string
	for _, name := range quoted.FindAllString(call[3], -1) {
		names = append(names, string(unhex(name)))
	}
	if len(names) == 0 {
		return e, false
	}
	e.File = names[0]
	e.Time, _ = tracedTime(call[1]) // only a call on a file needs it
	switch {
	case call[2] == "openat":
		e.Do = Create
	case call[2] == "unlinkat":
		e.Do = Remove
	default:
		e.Do, e.To = Rename, names[len(names)-1]
	}
	return e, true
}

func tracedEvent(call []string) (e Event, err error) {
	e.File = string(unhex(call[3]))
	if e.Time, err = tracedTime(call[1]); err != nil {
		return e, err
	}
	switch {
	case isSync(call[2]) && call[5] == "-1":
		e.Do = FailedSync
		return e, nil
	case isSync(call[2]):
		e.Do = Sync
		return e, nil
	case call[2] == "ftruncate":
		e.Do = Truncate
		e.At, err = strconv.ParseInt(strings.TrimPrefix(call[4], ", "), 10, 64)
		return e, err
	}
	if strings.HasPrefix(call[2], "pwritev") { // "", [{iov_base=data, iov_len=length}], 1, offset, flags
		call[4] = vector.ReplaceAllString(call[4], "$1, $2$3")
	}
	if call[2] == "write" { // "", data, length
		e.Do, call[4] = Append, call[4]+", 0"
	}
	args := strings.Split(call[4], ", ") // "", data, length, offset
	if len(args) != 4 {
		return e, fmt.Errorf("%d arguments", len(args))
	}
	if e.Data = unhex(args[1]); e.Do != Append {
		e.Do = Write
	}
	if e.At, err = strconv.ParseInt(args[3], 10, 64); err == nil && call[5] != "-1" && strconv.Itoa(len(e.Data)) != call[5] {
		err = fmt.Errorf("%d bytes recorded, %s written", len(e.Data), call[5])
	}
	return e, err
}

// vector matches what pwritev and pwritev2 have in the place of data and length, and the flags.
var vector = regexp.MustCompile(`\[\{iov_base=("[^"]*"), iov_len=(\d+)\}\], 1(, \d+)(, \w+)?$`)

func isSync(call string) bool { return call == "fsync" || call == "fdatasync" }

// tracedTime reads seconds since 1970.
func tracedTime(s string) (time.Time, error) {
	whole, part, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	micros, err := strconv.ParseInt(part, 10, 64)
	if err != nil || len(part) != 6 {
		return time.Time{}, fmt.Errorf("time %s", s)
	}
	return time.Unix(seconds, micros*1000), nil
}

// unhex reads "\x61\x62"; other text stays as it is.
func unhex(s string) []byte {
	s = strings.Trim(s, `"`)
	if !strings.HasPrefix(s, `\x`) {
		return []byte(s)
	}
	out := make([]byte, 0, len(s)/4)
	for i := 2; i+2 <= len(s); i += 4 {
		b, err := strconv.ParseUint(s[i:i+2], 16, 8)
		if err != nil {
			return []byte(s)
		}
		out = append(out, byte(b))
	}
	return out
}
