// Command dogwood is the server, its command-line client and its tools in one
// binary. Run it without arguments for the list of commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the command line. Each command has a file of its own.
type commands struct {
	Dev     devCommand     `cmd:"" help:"Run a local server for development: open rules, data in memory."`
	Serve   serveCommand   `cmd:"" help:"Run a server on data that is kept on disk."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// env is what a command sees of the world, so that tests can run it.
type env struct {
	ctx    context.Context
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(&env{ctx, os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run executes one command line and returns the exit code: 0, 1 for a failure,
// 2 for a wrong command line.
func run(e *env, args []string) int {
	exit := -1
	parser, err := kong.New(&commands{},
		kong.Name("dogwood"),
		kong.Description("A realtime JSON tree database that speaks the Firebase protocol."),
		kong.Writers(e.stdout, e.stderr),
		kong.Exit(func(code int) { exit = code }),
		kong.UsageOnError(),
		kong.Bind(e),
	)
	if err != nil {
		fmt.Fprintln(e.stderr, "dogwood:", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if exit >= 0 { // help was printed
		return exit
	}
	if err != nil {
		fmt.Fprintln(e.stderr, "dogwood:", err)
		return 2
	}
	if err := k.Run(e); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(e.stderr, "dogwood:", err)
		return 1
	}
	return 0
}
