package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server"
)

// listenFlags are the flags that all servers share.
type listenFlags struct {
	Host             string `default:"127.0.0.1" help:"Address to listen on."`
	Port             int    `default:"9000" short:"p" help:"Port to listen on; 0 picks a free one."`
	DefaultNamespace string `help:"Namespace of requests that name none."`
	Rules            string `help:"Rules document for databases that were given none." type:"existingfile"`
	Verbose          bool   `short:"v" help:"Log every request."`
}

func (f *listenFlags) logger(e *env) *slog.Logger {
	level := slog.LevelInfo
	if f.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level}))
}

func (f *listenFlags) ruleset() (*rules.Ruleset, error) {
	if f.Rules == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.Rules)
	if err != nil {
		return nil, err
	}
	r, err := rules.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", f.Rules, err)
	}
	return r, nil
}

// serve runs a server until it is interrupted. started is called with its URL
// when it accepts connections.
func (f *listenFlags) serve(e *env, s *server.Server, started func(url string)) error {
	l, err := net.Listen("tcp", net.JoinHostPort(f.Host, strconv.Itoa(f.Port)))
	if err != nil {
		return fmt.Errorf("%w (is another server running? choose another --port)", err)
	}
	started("http://" + l.Addr().String())
	return s.Serve(e.ctx, l)
}
