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
	return trace(contentCalls, log, program, args)
}

// TraceFolder is Trace, with the names of files, for a [Folder].
func TraceFolder(log, program string, args ...string) (*exec.Cmd, error) {
	return trace(contentCalls+",openat,renameat,unlinkat", log, program, args)
}

// contentCalls are the system calls that change what files have.
const contentCalls = "pwrite64,pwritev,pwritev2,ftruncate,fsync,fdatasync"

func trace(calls, log, program string, args []string) (*exec.Cmd, error) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		return nil, err
	}
	flags := []string{"-f", "-y", "-xx", "-ttt", "-s", "4194304", "-o", log,
		"-e", "trace=" + calls, "-e", "signal=none", program}
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
		if named, err := tracedName(line); named != nil || err != nil {
			if err != nil {
				return nil, fmt.Errorf("%.200s: %w", line, err)
			}
			events = append(events, *named)
			continue
		}
		call := tracedCall.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		if call[5] == "-1" && !isSync(call[2]) && call[2] != "pwritev2" {
			continue // it changed nothing
		}
		e, err := tracedEvent(call)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", line, err)
		}
		events = append(events, e)
	}
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
	if strings.HasPrefix(call[2], "pwritev") {
		return tracedVector(e, call)
	}
	args := strings.Split(call[4], ", ") // "", data, length, offset
	if len(args) != 4 {
		return e, fmt.Errorf("%d arguments", len(args))
	}
	e.Do, e.Data = Write, unhex(args[1])
	if e.At, err = strconv.ParseInt(args[3], 10, 64); err == nil && strconv.Itoa(len(e.Data)) != call[5] {
		err = fmt.Errorf("%d bytes recorded, %s written", len(e.Data), call[5])
	}
	return e, err
}

// vectorArguments matches those of a pwritev2 with one buffer: data, offset and flags. pwritev
// has no flags.
var vectorArguments = regexp.MustCompile(`^, \[\{iov_base=("[^"]*"), iov_len=\d+\}\], 1, (\d+)(?:, (\w+))?$`)

func tracedVector(e Event, call []string) (Event, error) {
	args := vectorArguments.FindStringSubmatch(call[4])
	if args == nil || (call[2] == "pwritev2") != (args[3] == "RWF_DSYNC") {
		return e, errors.New("unknown arguments")
	}
	var err error
	switch e.Data = unhex(args[1]); {
	case args[3] == "":
		e.Do = Write
	case call[5] == "-1":
		e.Do = FailedWriteSync
	default:
		e.Do = WriteSync
	}
	if e.At, err = strconv.ParseInt(args[2], 10, 64); err == nil && call[5] != "-1" && strconv.Itoa(len(e.Data)) != call[5] {
		err = fmt.Errorf("%d bytes recorded, %s written", len(e.Data), call[5])
	}
	return e, err
}

// tracedNaming matches a system call about names, which worked.
var tracedNaming = regexp.MustCompile(`^\d+ +(\d+\.\d+) (openat|renameat|unlinkat)\(AT_FDCWD(?:<[^>]*>)?, ("[^"]*"), (.*)\) += \d+`)

// tracedName reads a call that changes a name, nil if the line is none.
func tracedName(line string) (*Event, error) {
	call := tracedNaming.FindStringSubmatch(line)
	if call == nil {
		return nil, nil
	}
	at, err := tracedTime(call[1])
	e := &Event{File: string(unhex(call[3])), Time: at}
	switch call[2] {
	case "unlinkat":
		e.Do = Remove
	case "renameat":
		to := strings.LastIndex(call[4], `"`+`\x`)
		if to < 0 {
			return nil, errors.New("unknown arguments")
		}
		e.Do, e.To = Rename, string(unhex(call[4][to:]))
	default:
		if !strings.Contains(call[4], "O_CREAT") {
			return nil, nil
		}
		e.Do = Create
		if strings.Contains(call[4], "O_TRUNC") {
			e.Do = CreateEmpty
		}
	}
	return e, err
}

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
