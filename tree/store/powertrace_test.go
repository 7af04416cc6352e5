//go:build linux

package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const tracedCommits = 40

// TestMain runs the part of TestPowerLossTraced that is traced.
func TestMain(m *testing.M) {
	if file := os.Getenv("DOGWOOD_TRACED_FILE"); file != "" {
		if err := tracedWork(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// tracedWork writes to a store in a file and tells another file what is
// committed.
func tracedWork(file string) error {
	acks, err := os.Create(file + ".acks")
	if err != nil {
		return err
	}
	s, err := Open(file, Options{})
	if err != nil {
		return err
	}
	acked := func(n int) error {
		_, err := acks.WriteAt([]byte(strconv.Itoa(n)), 0)
		return err
	}
	if err := acked(0); err != nil {
		return err
	}
	return errors.Join(crashWork(s, tracedCommits, acked), s.Close(), acks.Close())
}

// TestPowerLossTraced has strace record what a process does to its file and
// when it syncs it.
func TestPowerLossTraced(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	dir := t.TempDir()
	file, log := filepath.Join(dir, "data.db"), filepath.Join(dir, "trace")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(strace, "-f", "-y", "-xx", "-s", "4194304", "-o", log,
		"-e", "trace=pwrite64,ftruncate,fsync,fdatasync", "-e", "signal=none", self)
	cmd.Env = append(os.Environ(), "DOGWOOD_TRACED_FILE="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("strace cannot trace here: %v\n%s", err, out)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := readTrace(f)
	if err != nil {
		t.Fatal(err)
	}
	cutPower(t, events, tracedCommits, 2*modelSteps()/800)
}

// tracedCall matches a system call on one of our files. The paths are in
// hexadecimal.
var tracedCall = regexp.MustCompile(`^\d+ +(\w+)\(\d+<([^>]*)>(.*)\) += (\d+)`)

// readTrace reads what strace has recorded.
func readTrace(r io.Reader) (events []diskEvent, err error) {
	halves := make(map[string]string) // calls that others interrupted, by process
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return events, ignoreEOF(err)
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
		call := tracedCall.FindStringSubmatch(line)
		if call == nil {
			continue
		}
		e, ok, err := tracedEvent(call)
		if err != nil {
			return nil, fmt.Errorf("%.200s: %w", line, err)
		}
		if ok {
			events = append(events, e)
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func tracedEvent(call []string) (e diskEvent, ok bool, err error) {
	path := string(unhex(call[2]))
	if strings.HasSuffix(path, ".acks") {
		args := strings.SplitN(call[3], ", ", 3)
		e.n, err = strconv.Atoi(string(unhex(args[1])))
		e.do = diskAck
		return e, true, err
	}
	if !strings.HasSuffix(path, ".db") {
		return e, false, nil
	}
	switch call[1] {
	case "fsync", "fdatasync":
		return diskEvent{do: diskSync}, true, nil
	case "ftruncate":
		e.do = diskTruncate
		e.at, err = strconv.ParseInt(strings.TrimPrefix(call[3], ", "), 10, 64)
		return e, true, err
	}
	args := strings.Split(call[3], ", ") // "", data, length, offset
	e.do, e.data = diskWrite, unhex(args[1])
	if e.at, err = strconv.ParseInt(args[3], 10, 64); err == nil && strconv.Itoa(len(e.data)) != call[4] {
		err = fmt.Errorf("%d bytes recorded, %s written", len(e.data), call[4])
	}
	return e, true, err
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
