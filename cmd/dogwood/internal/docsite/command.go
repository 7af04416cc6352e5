// Package docsite has the documentation as web pages, which releases bring with them.
//
// The pages are made from the Markdown of the repository by the generator in site/, and
// "make site" puts them here. A plain "go build" works without them and without Node; the
// program then says how to get them.
package docsite

import (
	"archive/zip"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

//go:embed built
var built embed.FS

// ErrMissing says that the program was built without the documentation.
var ErrMissing = errors.New("this build has no documentation pages: releases have them, and in a checkout " +
	"\"make site build\" makes bin/dogwood with them (it needs Node 20). The same pages are Markdown in docs/")

// Site returns the pages, or ErrMissing.
func Site() (fs.FS, error) {
	text, err := built.ReadFile("built/site.zip")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, fmt.Errorf("documentation: %w", err)
	}
	site, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, fmt.Errorf("documentation: %w", err)
	}
	return site, nil
}

// Command serves the documentation to a browser.
type Command struct {
	Port int `short:"p" default:"9010" help:"Port to listen on, on loopback; 0 picks a free one."`
}

func (Command) Help() string {
	return `Serves the documentation of this version on loopback until Ctrl-C. It needs no network, and
no server. The search works in the browser.

Examples:

  dogwood docs
  dogwood docs --port 0`
}

func (c Command) Run(e *console.Env) error {
	site, err := Site()
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(e.Ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)))
	if err != nil {
		return fmt.Errorf("%w; choose another with --port", err)
	}
	server := &http.Server{
		Handler:           Handler(site),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	stop := context.AfterFunc(e.Ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Fprintf(e.Stdout, "Documentation: http://%s/\n", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("documentation: %w", err)
	}
	return nil
}
