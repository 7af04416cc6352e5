package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/internal/tier"
)

// workerVariable makes a process of this binary a worker.
const workerVariable = "TESTSCRIPT_WORKER"

// dogwoodMain is main, or what a worker does.
func dogwoodMain() {
	// To find that they are no settings takes a server the model of all commands.
	for _, name := range []string{tier.Variable, "DOGWOOD_BIN", "DOGWOOD_RUN"} {
		_ = os.Unsetenv(name)
	}
	if os.Getenv(workerVariable) != "" {
		work(os.Stdin, os.Stdout)
		return
	}
	main()
}

// A worker carries out the command lines of a script in one process, one after the other. To
// start a process takes twenty times as long as most of them need.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	to     *json.Encoder
	from   *json.Decoder
	stderr bytes.Buffer
}

// A workerTask is a command line, and a workerResult what came of it.
type (
	workerTask struct {
		Dir  string
		Env  []string
		Args []string
	}
	workerResult struct {
		Code           int
		Stdout, Stderr []byte
	}
)

// startWorker starts one with the environment of a script.
func startWorker(env []string) (*worker, error) {
	w := &worker{cmd: exec.Command("dogwood")}
	w.cmd.Env = append(env, workerVariable+"=1")
	w.cmd.Stderr = &w.stderr
	stdin, err := w.cmd.StdinPipe()
	stdout, err2 := w.cmd.StdoutPipe()
	if err := errors.Join(err, err2, w.cmd.Start()); err != nil {
		return nil, err
	}
	w.stdin, w.to, w.from = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	return w, nil
}

func (w *worker) do(task workerTask) (r workerResult, err error) {
	if err = w.to.Encode(task); err == nil {
		err = w.from.Decode(&r)
	}
	if err != nil {
		w.stop()
		err = fmt.Errorf("the process that carries out commands: %w\n%s", err, &w.stderr)
	}
	return r, err
}

func (w *worker) stop() {
	_ = w.stdin.Close()
	_ = w.cmd.Wait() // if it failed, the answers have said so
}

// work is what a worker does: tasks until there are no more.
func work(tasks io.Reader, results io.Writer) {
	from, to := json.NewDecoder(tasks), json.NewEncoder(results)
	for {
		var task workerTask
		err := from.Decode(&task)
		if err == io.EOF {
			return
		}
		if err == nil {
			err = to.Encode(task.run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
}

// run does what main does in a process of its own.
func (t workerTask) run() workerResult {
	os.Clearenv()
	for _, pair := range t.Env {
		name, value, _ := strings.Cut(pair, "=")
		_ = os.Setenv(name, value) // it comes from an environment
	}
	if err := os.Chdir(t.Dir); err != nil {
		return workerResult{Code: 3, Stderr: []byte(err.Error())}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer http.DefaultClient.CloseIdleConnections()
	dropEmptyVariables()
	var out, err lockedBuffer
	code := run(&console.Env{Ctx: ctx, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err}, t.Args)
	return workerResult{code, out.bytes(), err.bytes()}
}

// A lockedBuffer takes what goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text.Bytes())
}

// ownProcess are commands that run in a process of their own if they do not fail, because they
// change it: servers set limits of its memory.
var ownProcess = []string{"serve", "dev"}

// The lines of a script that run a command, and those that give it input.
var (
	execLine   = pattern(`^((?:\[[^\]]*\] *)*(! )?)exec dogwood( .*|)$`)
	statusLine = pattern(`^(status \d+)( .*)$`)
	inputLine  = pattern(`^(?:\[[^\]]*\] *)*(?:stdin|ttyin) `)
)

// setting matches a variable that a script sets.
var setting = pattern(`\b(\w+)=`)

// workerScripts returns scripts whose commands a worker carries out: "exec dogwood" of these
// becomes "worker", and "status" becomes "workerstatus". Commands with input stay.
func workerScripts(t *testing.T, dir string) (files, variables []string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	to := t.TempDir()
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		changed, set := workerScript(string(text))
		file := filepath.Join(to, filepath.Base(script))
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		files, variables = append(files, file), append(variables, set...)
	}
	return files, variables
}

func workerScript(text string) (changed string, variables []string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "-- ") {
			break // the files of the script
		}
		if rest, ok := strings.CutPrefix(line, "env "); ok {
			for _, m := range setting().FindAllStringSubmatch(rest, -1) {
				variables = append(variables, m[1])
			}
		}
		if i > 0 && inputLine().MatchString(lines[i-1]) {
			continue
		}
		if m := statusLine().FindStringSubmatch(line); m != nil {
			lines[i] = "worker" + line
		} else if m := execLine().FindStringSubmatch(line); m != nil && (m[2] != "" || !changesProcess(m[3])) {
			lines[i] = m[1] + "worker" + m[3]
		}
	}
	return strings.Join(lines, "\n"), variables
}

func changesProcess(args string) bool {
	words := strings.Fields(args)
	return len(words) > 0 && slices.Contains(ownProcess, words[0])
}

// inOneProcess carries out a command in the worker of the script.
func inOneProcess(ts *testscript.TestScript, neg bool, args []string) {
	code, err := worldOf(ts).inside(ts, args)
	switch {
	case err != nil:
		ts.Fatalf("%v", err)
	case code != 0 && !neg:
		ts.Fatalf("unexpected command failure: exit code %d", code)
	case code == 0 && neg:
		ts.Fatalf("unexpected command success")
	}
}

// workerStatus is status in the worker of the script.
func workerStatus(ts *testscript.TestScript, args []string) error {
	code, err := worldOf(ts).inside(ts, args[1:])
	if err == nil && strconv.Itoa(code) != args[0] {
		err = fmt.Errorf("exit code %d, want %s", code, args[0])
	}
	return err
}

// inside carries out a command and returns its exit code.
func (w *world) inside(ts *testscript.TestScript, args []string) (code int, err error) {
	dir := ts.MkAbs(".")
	env := []string{"PWD=" + dir}
	for _, name := range w.variables {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if w.worker == nil {
		if w.worker, err = startWorker(env); err != nil {
			return 0, err
		}
		ts.Defer(w.worker.stop)
	}
	r, err := w.worker.do(workerTask{Dir: dir, Env: env, Args: args})
	if err == nil {
		_, err = ts.Stdout().Write(r.Stdout)
	}
	if err == nil {
		_, err = ts.Stderr().Write(r.Stderr)
	}
	return r.Code, err
}

// namesOf returns the names of variables that an environment has, and that of the address of
// the last server.
func namesOf(env []string) []string {
	names := []string{"DOGWOOD_URL"}
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	return names
}
