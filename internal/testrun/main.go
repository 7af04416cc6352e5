// Testrun runs "go test" and reports the slowest tests. It also runs commands at the same time.
//
//	testrun -times FILE -- ARG…   run "go test ARG…", print what it would print, and add
//	                              the time of each test to FILE
//	testrun -times FILE -top 10   print the ten slowest tests in FILE
//	testrun -together ./test.sh A B
//	                              run "./test.sh A" and "./test.sh B" at the same time
//
// The exit code is that of "go test", or of the command that failed first.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	times := flag.String("times", "", "file that collects the times of the tests")
	top := flag.Int("top", 0, "print so many of the slowest tests, and run none")
	command := flag.String("together", "", "command to run with each argument at the same time")
	flag.Parse()
	code, err := 0, error(nil)
	switch {
	case *top > 0:
		err = printSlowest(os.Stdout, *times, *top)
	case *command != "":
		code, err = together(os.Stdout, *command, flag.Args())
	default:
		code, err = run(os.Stdout, *times, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		code = cmp.Or(code, 1)
	}
	os.Exit(code)
}

// run runs "go test" and returns its exit code.
func run(w io.Writer, times string, args []string) (code int, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	r := newReport(w)
	err = r.read(out)
	if exit := (*exec.ExitError)(nil); errors.As(cmd.Wait(), &exit) {
		code = cmp.Or(max(exit.ExitCode(), 0), 1) // a signal has no code
	}
	return code, errors.Join(err, appendTimes(times, r.times))
}

// A testTime is how long a test took.
type testTime struct {
	Seconds float64
	Name    string // package and test
}

func appendTimes(file string, times []testTime) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	var lines []byte
	for _, t := range times {
		lines = fmt.Appendf(lines, "%.2f %s\n", t.Seconds, t.Name)
	}
	_, err = f.Write(lines) // one write: another run may append at the same time
	return errors.Join(err, f.Close())
}

// printSlowest prints the n slowest tests in a file.
func printSlowest(w io.Writer, file string, n int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var times []testTime
	for line := range strings.Lines(string(text)) {
		var t testTime
		if _, err := fmt.Sscanf(line, "%g %s", &t.Seconds, &t.Name); err != nil {
			return fmt.Errorf("%s: %q: %w", file, line, err)
		}
		times = append(times, t)
	}
	slices.SortStableFunc(times, func(a, b testTime) int { return cmp.Compare(b.Seconds, a.Seconds) })
	for _, t := range times[:min(n, len(times))] {
		fmt.Fprintf(w, "%7.2f s  %s\n", t.Seconds, t.Name)
	}
	return nil
}
