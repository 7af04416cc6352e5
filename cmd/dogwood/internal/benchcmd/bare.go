package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/bare"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// spawnBare is the --spawn that starts a server which keeps nothing.
const spawnBare = "bare"

// bareWorkloads are what such a server understands.
var bareWorkloads = []string{"set", "chat", "fanout", "rest-get", "rest-put"}

// checkBare returns an error if the flags about the bare server make no sense for a
// workload.
func (c *Command) checkBare(w bench.Workload) error {
	flag := ""
	switch {
	case c.Spawn == spawnBare && c.CompareBare:
		return errors.New("--compare-bare starts the bare server by itself; --spawn says what is compared with it")
	case c.CompareBare:
		flag = "--compare-bare"
	case c.Spawn == spawnBare:
		flag = "--spawn bare"
	}
	if flag != "" && !slices.Contains(bareWorkloads, w.Name()) {
		return fmt.Errorf("%s: a bare server keeps nothing, which %s needs", flag, w.Name())
	}
	return nil
}

// measureBare measures on the bare server and on the one that the flags name.
func (c *Command) measureBare(e *console.Env, w bench.Workload) error {
	return c.compare(e,
		subject{workload: w, spawn: c.Spawn},
		subject{workload: w, spawn: spawnBare},
		comparison{label: "bare", first: true, rate: "the server runs at %.0f %% of the rate of a bare one", time: "an operation takes %.2f times its processor time"})
}

// bareServerCommand is the process that --spawn bare starts.
type bareServerCommand struct{}

func (bareServerCommand) Run(e *console.Env) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h := &http.Server{Handler: new(bare.Server), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(e.Ctx, func() { _ = h.Close() })() // it has nothing to lose
	fmt.Fprintf(e.Stdout, "Listening on http://%s\n", l.Addr())
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
