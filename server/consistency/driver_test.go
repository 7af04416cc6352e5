package consistency

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A driver is another program that is a client. It is told what to do in lines of
// JSON and answers in such lines.
type driver struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	name string // of the SDK
}

// An order tells a driver what to do: "get", "set", "transaction" or "listen".
type order struct {
	Do  string `json:"do"`
	Key string `json:"key,omitempty"`
	Tag string `json:"tag,omitempty"` // of a transaction: what its tags begin with
}

// An answer says what became of it. While a driver listens, each answer is a view.
type answer struct {
	Error string            `json:"error"` // the outcome is unknown
	Value string            `json:"value"`
	Tried []attempt         `json:"tried"`
	View  map[string]string `json:"view"`
}

// firebaseDriver returns what starts the firebase npm package as a client, nil if
// it is not installed.
func firebaseDriver(t *testing.T) func(host string) *exec.Cmd {
	t.Helper()
	const dir = "../../testdata/e2e"
	// npm writes this file when all packages are there.
	if _, err := os.Stat(filepath.Join(dir, "node_modules/.package-lock.json")); err != nil {
		t.Logf("without the firebase npm package: %v", err)
		return nil
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Logf("without the firebase npm package: %v", err)
		return nil
	}
	return func(host string) *exec.Cmd {
		cmd := exec.Command(node, "consistency-client.mjs", "http://"+host+"?ns=test")
		cmd.Dir = dir
		return cmd
	}
}

// adminDriver returns what starts the Go Admin SDK as a client: the program that
// DOGWOOD_ADMIN_DRIVER names, built of testdata/e2e-go/consistency. nil if there is none.
func adminDriver(t *testing.T) func(host string) *exec.Cmd {
	program := os.Getenv("DOGWOOD_ADMIN_DRIVER")
	if program == "" {
		t.Log("without the Go Admin SDK: DOGWOOD_ADMIN_DRIVER names no program")
		return nil
	}
	return func(host string) *exec.Cmd {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "FIREBASE_DATABASE_EMULATOR_HOST="+strings.Replace(host, "127.0.0.1", "localhost", 1)+"?ns=test")
		return cmd
	}
}

func startDriver(name string, cmd *exec.Cmd) (*driver, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &driver{cmd: cmd, in: in, out: bufio.NewScanner(out), name: name}
	return d, nil
}

// ask tells the driver to do something and waits for the answer.
func (d *driver) ask(o order) (answer, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return answer{}, err
	}
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		return answer{}, err
	}
	return d.answer()
}

func (d *driver) answer() (a answer, err error) {
	if !d.out.Scan() {
		return a, fmt.Errorf("%s: %w", d.name, errors.Join(errEnded, d.out.Err()))
	}
	if err := json.Unmarshal(d.out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("%s: %w: %s", d.name, err, d.out.Bytes())
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (d *driver) read(key string) (string, error) {
	a, err := d.ask(order{Do: "get", Key: key})
	return a.Value, err
}

func (d *driver) write(key, tag string) error {
	_, err := d.ask(order{Do: "set", Key: key, Tag: tag})
	return err
}

func (d *driver) swap(key string, tag func() string) (tried []attempt, done bool) {
	a, err := d.ask(order{Do: "transaction", Key: key, Tag: tag()})
	return a.Tried, err == nil
}

func (d *driver) resends() bool { return true }

func (d *driver) kind() string { return d.name }

// close ends the program, which ends well with its input and not before.
func (d *driver) close() error { return errors.Join(d.in.Close(), d.cmd.Wait()) }

// A driverWatcher is a driver that listens.
type driverWatcher struct {
	*driver
	view
	reading sync.WaitGroup
}

func startWatcher(name string, cmd *exec.Cmd) (*driverWatcher, error) {
	d, err := startDriver(name, cmd)
	if err != nil {
		return nil, err
	}
	w := &driverWatcher{driver: d, view: view{moved: make(chan struct{}, 1)}}
	if _, err := io.WriteString(d.in, `{"do":"listen","key":"lin"}`+"\n"); err != nil {
		return nil, err
	}
	w.reading.Go(func() {
		for {
			a, err := d.answer()
			if w.set(a.View, err); err != nil {
				return
			}
		}
	})
	return w, nil
}

func (w *driverWatcher) close() error {
	err := w.in.Close()
	w.reading.Wait()
	return errors.Join(err, w.cmd.Wait())
}
