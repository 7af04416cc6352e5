package dogwood_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// The Go tutorial, docs/tutorial-go.md, is followed as a reader would, but for the path of the
// checkout: under the name ../dogwood, all of it would be compiled once more. Go blocks are
// files, named by their first line; sh blocks are commands; text blocks are what these have
// printed.
func TestTutorial(t *testing.T) {
	tier.Need(t, tier.Full)
	text, err := os.ReadFile(filepath.Join("..", "docs", "tutorial-go.md"))
	want(t, err)
	root, err := filepath.Abs("..")
	want(t, err)
	r := &reader{t: t, dir: t.TempDir(), checkout: root}
	parts := strings.Split("\n"+string(text), "\n```")
	for i := 1; i < len(parts); i += 2 {
		language, block, _ := strings.Cut(parts[i], "\n")
		switch language {
		case "go":
			r.save(block)
		case "sh":
			r.printed.Reset()
			for line := range strings.Lines(block) {
				r.run(strings.TrimSpace(line))
			}
		case "text":
			r.compare(block)
		default:
			t.Errorf("nobody runs this:\n%s", block)
		}
	}
	if len(parts) < 20 {
		t.Errorf("%d blocks", len(parts)/2)
	}
}

// A reader does what the tutorial says.
type reader struct {
	t          *testing.T
	dir        string
	checkout   string
	host       string        // of the server, instead of localhost:9000
	printed    bytes.Buffer  // by the commands of a block
	background *bufio.Reader // what a program prints that still runs
}

// save makes a file of a block.
func (r *reader) save(block string) {
	r.t.Helper()
	first, _, _ := strings.Cut(block, "\n")
	name, ok := strings.CutPrefix(first, "// ")
	if !ok {
		r.t.Fatalf("this names no file:\n%s", block)
	}
	file := filepath.Join(r.dir, filepath.FromSlash(name))
	want(r.t, os.MkdirAll(filepath.Dir(file), 0o700))
	want(r.t, os.WriteFile(file, []byte(strings.ReplaceAll(block, "localhost:9000", r.host)+"\n"), 0o600))
}

// run runs a command. Programs that go on are built before they are started, because
// "go run" would leave them behind when it is killed.
func (r *reader) run(line string) {
	r.t.Helper()
	line = strings.ReplaceAll(line, "../dogwood", r.checkout)
	switch words := strings.Fields(line); {
	case words[0] == "cd":
		r.dir = filepath.Join(r.dir, words[1])
	case strings.HasPrefix(line, "go run ") && words[len(words)-1] == "dev":
		out := r.start(words[2], append(words[3:], "--port", "0")...)
		_, url, found := strings.Cut(r.line(out), "Listening on http://")
		if r.host = url; !found {
			r.t.Fatal("the server does not say where it listens")
		}
	case words[len(words)-1] == "&":
		r.background = r.start(words[2])
		r.line(r.background) // so it does listen before the next command
	default:
		r.printed.Write(r.command("sh", "-c", line))
	}
}

// command runs a command to its end and returns what it prints.
func (r *reader) command(name string, args ...string) []byte {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	r.prepare(cmd)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, problems.Bytes())
	}
	return out
}

// start builds a program and runs it until the test ends. To link the server takes seconds, so it is the one
// that DOGWOOD_BIN names, but in tier long.
func (r *reader) start(program string, args ...string) *bufio.Reader {
	r.t.Helper()
	binary := os.Getenv("DOGWOOD_BIN")
	if binary == "" || !strings.HasSuffix(program, "/cmd/dogwood") || tier.Current() == tier.Long {
		binary = filepath.Join(r.t.TempDir(), "program")
		r.command("go", "build", "-o", binary, program)
	}
	cmd := exec.Command(binary, args...)
	r.prepare(cmd)
	out, err := cmd.StdoutPipe()
	want(r.t, err)
	want(r.t, cmd.Start())
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // which says that it was killed
	})
	return bufio.NewReader(out)
}

func (r *reader) prepare(cmd *exec.Cmd) {
	cmd.Dir = r.dir
	// As ./test.sh builds: other flags would have everything compiled anew.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -ldflags=-s", "GOWORK=")
}

// line waits for the next line that a program prints.
func (r *reader) line(from *bufio.Reader) string {
	r.t.Helper()
	text, err := from.ReadString('\n')
	if err != nil && err != io.EOF {
		r.t.Fatal(err)
	}
	if from == r.background {
		r.printed.WriteString(text)
	}
	return strings.TrimSpace(text)
}

// compare compares what was printed with what the tutorial shows.
func (r *reader) compare(block string) {
	r.t.Helper()
	for r.background != nil && strings.Count(r.printed.String(), "\n") < strings.Count(block, "\n")+1 {
		if r.line(r.background) == "" {
			break
		}
	}
	r.background = nil
	if got := strings.TrimSpace(r.printed.String()); got != strings.TrimSpace(block) {
		r.t.Errorf("printed:\n%s\nthe tutorial shows:\n%s", got, block)
	}
}
