package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"dogwood": dogwoodMain, "poster": poster})
}

// pattern is an expression that is compiled when it is first used. The tests start their own
// binary as dogwood, more than a thousand times, and each start would compile them all.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// TestScripts runs testdata/cli. Scripts that wait, or start many
// processes, begin with "[!full] skip", which leaves
// them out of quick runs, and [redis] tells whether redis-server is installed. In addition to the commands of testscript there are
//
//	start NAME ARG…         run a server in the background and wait until it listens;
//	                        DOGWOOD_URL is its address
//	run NAME ARG…           run any command in the background; NAME.out and NAME.err get its output
//	await FILE REGEXP       wait until a file matches
//	signal NAME [SIGNAL]    send a signal, SIGTERM if not given
//	ended NAME [CODE]       wait for the exit code, 0 if not given
//	halt NAME [SIGNAL]      both, for a process that ends well
//	refused                 wait until DOGWOOD_URL accepts no connections
//	status CODE ARG…        run dogwood in the foreground and check its exit code
//	freeport VARIABLE       find a port that is not in use
//	crowd N REGEXP ARG…     run N dogwoods at the same time; at least one fails, with
//	                        an error that matches
//	mode MODE FILE          check permissions
//	poke FILE OLD NEW       replace bytes of a file
//	plant FILE PATH VALUE   write into a data file, past definitions and rules
//	upload PATH TEXT        begin a PUT and wait until the server reads its body
//	uploaded TEXT           send the rest of it and wait for success
//	putas STATUS PATH TOKENFILE NAMESPACE
//	                        write with the user's token in a file and check the status
//
// Commands of a script run in one process, except servers and those with input. In tier long
// each has a process of its own.
func TestScripts(t *testing.T) {
	dir, files, variables := "../../testdata/cli", []string(nil), []string(nil)
	if tier.Current() < tier.Long {
		files, variables = workerScripts(t, dir)
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			switch name {
			case tier.Full.String():
				return tier.Current() >= tier.Full, nil
			case "redis":
				_, err := exec.LookPath("redis-server")
				return err == nil, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			w := &world{procs: make(map[string]*process)}
			e.Values["world"] = w
			// Under the race detector a process would wait for a second at its
			// end, which a hundred of them add up to minutes.
			e.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
			if tier.Current() < tier.Long {
				// Commands that scripts wait for start in two thirds of the processor time.
				// Those in the background do not get it.
				e.Setenv("GOMAXPROCS", "1")
				w.variables = append(namesOf(e.Vars), variables...)
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"worker":       inOneProcess,
			"workerstatus": command(2, workerStatus),
			"start":        command(2, start),
			"run":          command(2, func(ts *testscript.TestScript, args []string) error { return runBackground(ts, args[0], args[1:]) }),
			"await":        command(2, await),
			"signal":       command(1, sendSignal),
			"ended":        command(1, ended),
			"halt":         command(1, halt),
			"refused":      command(0, refused),
			"status":       command(2, status),
			"freeport":     command(1, freePort),
			"crowd":        command(3, crowd),
			"mode":         command(2, mode),
			"poke":         command(3, poke),
			"plant":        command(3, plant),
			"upload":       command(2, upload),
			"uploaded":     command(1, uploaded),
			"putas":        command(4, putAs),
			"deletewith":   command(3, deleteWith),
		},
	})
}

// patience is how long a script waits for what must come.
const patience = time.Minute

// world is what a script has going.
type world struct {
	procs  map[string]*process
	body   *io.PipeWriter
	result chan error // of the upload

	variables []string // that the environment may have, for a worker
	worker    *worker  // nil: none yet
}

func worldOf(ts *testscript.TestScript) *world { return ts.Value("world").(*world) }

// A process runs in the background of a script.
type process struct {
	*exec.Cmd
	ended chan error // gets the result, once
}

// command makes a testscript command of a function that takes at least min
// arguments.
func command(min int, f func(*testscript.TestScript, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < min {
			ts.Fatalf("wrong use: not negated, and with %d arguments", min)
		}
		ts.Check(f(ts, args))
	}
}

func start(ts *testscript.TestScript, args []string) error {
	if err := runBackground(ts, args[0], args[1:]); err != nil {
		return err
	}
	out := args[0] + ".out"
	if err := await(ts, []string{out, `Listening on \S+.*\n`}); err != nil {
		return err
	}
	line, _, _ := strings.Cut(ts.ReadFile(out), "\n")
	url, ok := strings.CutPrefix(line, "Listening on ")
	url, _, _ = strings.Cut(url, " ")
	if !ok {
		return fmt.Errorf("the first line of a server is %q", line)
	}
	ts.Setenv("DOGWOOD_URL", url)
	return nil
}

// passed are the variables that background processes get from the script.
var passed = []string{"HOME", "TMPDIR", "PATH", "GORACE", "DOGWOOD_URL", "DOGWOOD_DATA", "DOGWOOD_PORT", "DOGWOOD_HOST", "DOGWOOD_NAMESPACE", "DOGWOOD_SECRET", "DOGWOOD_SECRET_FILE", "XDG_CONFIG_HOME", "DOGWOOD_SERVE_SECRET_FILE", "DOGWOOD_PROT"}

func runBackground(ts *testscript.TestScript, name string, args []string) error {
	p := &process{Cmd: exec.Command("dogwood", args...), ended: make(chan error, 1)}
	p.Dir = ts.MkAbs(".")
	server := len(args) > 0 && (args[0] == "serve" || args[0] == "dev")
	for _, name := range passed {
		if server && name == "DOGWOOD_URL" {
			continue // no setting of servers
		}
		if v := ts.Getenv(name); v != "" {
			p.Env = append(p.Env, name+"="+v)
		}
	}
	stdout, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	p.Stdout, p.Stderr = stdout, stderr
	if err := p.Start(); err != nil {
		return err
	}
	go func() { p.ended <- errors.Join(p.Wait(), stdout.Close(), stderr.Close()) }()
	worldOf(ts).procs[name] = p
	ts.Defer(func() {
		if worldOf(ts).procs[name] == p {
			_ = p.Process.Kill() // it may have ended by itself
			<-p.ended
		}
	})
	return nil
}

func await(ts *testscript.TestScript, args []string) error {
	re, err := regexp.Compile("(?m)" + args[1])
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err != nil || re.Match(text) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s does not match %s:\n%s\n%s", args[0], args[1], text, ts.ReadFile(strings.Replace(args[0], ".out", ".err", 1)))
		}
	}
}

func halt(ts *testscript.TestScript, args []string) error {
	if err := sendSignal(ts, args); err != nil {
		return err
	}
	if args = append(args, "TERM"); args[1] == "KILL" {
		return ended(ts, []string{args[0], "-1"})
	}
	return ended(ts, args[:1])
}

var signals = map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "HUP": syscall.SIGHUP}

func sendSignal(ts *testscript.TestScript, args []string) error {
	return worldOf(ts).procs[args[0]].Process.Signal(signals[append(args, "TERM")[1]])
}

func ended(ts *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(append(args, "0")[1])
	if err != nil {
		return err
	}
	p := worldOf(ts).procs[args[0]]
	select {
	case err := <-p.ended:
		delete(worldOf(ts).procs, args[0])
		if got := p.ProcessState.ExitCode(); got != want {
			return fmt.Errorf("%s: %v, want exit code %d\n%s", args[0], err, want, ts.ReadFile(args[0]+".err"))
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s does not end", args[0])
	}
}

func refused(ts *testscript.TestScript, _ []string) error {
	addr := strings.TrimPrefix(ts.Getenv("DOGWOOD_URL"), "http://")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return nil
		}
		c.Close()
	}
	return fmt.Errorf("%s still accepts connections", addr)
}

func status(ts *testscript.TestScript, args []string) error {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	got := 0
	if e := (*exec.ExitError)(nil); errors.As(ts.Exec("dogwood", args[1:]...), &e) {
		got = e.ExitCode()
	}
	if got != want {
		return fmt.Errorf("exit code %d, want %d", got, want)
	}
	return nil
}

// crowd meets a rate limit on a machine of any speed, where processes that run one
// after the other could each wait for the next token.
func crowd(ts *testscript.TestScript, args []string) error {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	for i := range n {
		ts.Check(runBackground(ts, fmt.Sprint("crowd", i), args[2:]))
	}
	matched := false
	for i := range n {
		name := fmt.Sprint("crowd", i)
		err := <-worldOf(ts).procs[name].ended
		delete(worldOf(ts).procs, name)
		matched = matched || err != nil && re.MatchString(ts.ReadFile(name+".err"))
	}
	if !matched {
		return fmt.Errorf("none of %d failed with %s:\n%s", n, re, ts.ReadFile("crowd0.err"))
	}
	return nil
}

func freePort(ts *testscript.TestScript, args []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	return l.Close()
}

func mode(ts *testscript.TestScript, args []string) error {
	info, err := os.Stat(ts.MkAbs(args[1]))
	if err != nil {
		return err
	}
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		return fmt.Errorf("%s has mode %s, want %s", args[1], got, args[0])
	}
	return nil
}

func poke(ts *testscript.TestScript, args []string) error {
	file, from, to := ts.MkAbs(args[0]), []byte(args[1]), []byte(args[2])
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if len(from) != len(to) || !bytes.Contains(text, from) {
		return fmt.Errorf("cannot replace %q by %q in %s", from, to, args[0])
	}
	return os.WriteFile(file, bytes.ReplaceAll(text, from, to), 0o600)
}

func plant(ts *testscript.TestScript, args []string) error {
	s, err := store.Open(ts.MkAbs(args[0]), store.Options{})
	if err != nil {
		return err
	}
	n, err := tree.ParseNode(args[2])
	if err == nil {
		err = s.Update(func(tx *store.Tx) error {
			_, err := tx.Put(tree.MustParsePath(args[1]), n)
			return err
		})
	}
	return errors.Join(err, s.Close())
}

func upload(ts *testscript.TestScript, args []string) error {
	w := worldOf(ts)
	body, pipe := io.Pipe()
	w.body, w.result = pipe, make(chan error, 1)
	reading := make(chan struct{})
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, ts.Getenv("DOGWOOD_URL")+args[0]+".json", body)
	if err != nil {
		return err
	}
	r.Header.Set("Expect", "100-continue")
	r.Header.Set("Authorization", "Bearer "+ts.Getenv("DOGWOOD_SECRET"))
	c := http.Client{Transport: &http.Transport{ExpectContinueTimeout: patience}}
	go func() {
		resp, err := c.Do(r)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = errors.New(resp.Status)
		}
		w.result <- err
	}()
	select {
	case <-reading:
	case err := <-w.result:
		return fmt.Errorf("refused: %w", err)
	}
	_, err = io.WriteString(pipe, args[1])
	return err
}

func uploaded(ts *testscript.TestScript, args []string) error {
	w := worldOf(ts)
	if _, err := io.WriteString(w.body, args[0]); err != nil {
		return err
	}
	w.body.Close()
	select {
	case err := <-w.result:
		return err
	case <-time.After(patience):
		return errors.New("the upload was not answered")
	}
}

// deleteWith reads the root with a header and expects a status.
func deleteWith(ts *testscript.TestScript, args []string) error {
	r, err := http.NewRequest(http.MethodDelete, ts.Getenv("DOGWOOD_URL")+"/.json", nil)
	if err != nil {
		return err
	}
	r.Header.Set(args[1], args[2])
	r.Host = r.Header.Get("Host") // "" stands for that of the address
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		return fmt.Errorf("DELETE / with %s: %s is %s, want %s", args[1], args[2], got, args[0])
	}
	return nil
}

func putAs(ts *testscript.TestScript, args []string) error {
	query := url.Values{"ns": {args[3]}, "auth": {strings.TrimSpace(ts.ReadFile(args[2]))}}
	r, err := http.NewRequest(http.MethodPut, ts.Getenv("DOGWOOD_URL")+args[1]+".json?"+query.Encode(), strings.NewReader("1"))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		body, err := io.ReadAll(resp.Body)
		return fmt.Errorf("PUT %s in %s: %s %s %v, want %s", args[1], args[3], got, body, err, args[0])
	}
	return nil
}
