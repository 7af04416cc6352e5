package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a terminal: what a person sees, and the file that
// programs write to.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("no terminals here:", err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// Answers and errors of a server are escaped on a terminal and stay as they are elsewhere.
func TestServersDoNotControlTerminals(t *testing.T) {
	const evil = "\"a\u009b31m\u202eb\x1b]0;title\x07\""
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/shut") {
			w.Header().Set("Location", "http://elsewhere/\u009b2J")
			w.WriteHeader(http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, evil)
	}))
	defer ts.Close()
	person, program := openTerminal(t)
	seen := bufio.NewReader(person)
	e := &console.Env{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: console.ScreenOf(program), Stderr: console.ScreenOf(program)}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"get", "/"}, `"a\u009b31m\u202eb\u001b]0;title\u0007"`},
		{[]string{"push", "/", "-d", "1"}, `dogwood: `},
		{[]string{"get", "/shut"}, `dogwood: `},
	} {
		run(e, append(c.args, "--url", ts.URL))
		line, err := seen.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); err != nil || !strings.HasPrefix(line, c.want) || strings.ContainsAny(line, "\u009b\u202e\x1b\x07") {
			t.Errorf("%q shows %q, %v, want %q", c.args, line, err, c.want)
		}
	}
	if status, stdout, _ := runCommand(t, "", "get", "/", "--url", ts.URL); status != 0 || stdout != evil+"\n" {
		t.Errorf("elsewhere: %d %q, want %q", status, stdout, evil)
	}
}
