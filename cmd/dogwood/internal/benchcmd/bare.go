package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/bench/bare"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// spawnBare is the --spawn that starts a server which keeps nothing.
const spawnBare = "bare"

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
