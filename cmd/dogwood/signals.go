package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that SIGINT and SIGTERM cancel, with the name of the
// signal as its cause. A second signal ends the process at once.
func untilSignal(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		cancel(signalError{<-signals})
		second := signalError{<-signals}
		fmt.Fprintf(os.Stderr, "dogwood: ended at once by a second signal (%v)\n", second)
		os.Exit(second.exitCode())
	}()
	return ctx
}

// A signalError is the cause of a context that a signal cancelled.
type signalError struct{ os.Signal }

func (e signalError) Error() string {
	switch e.Signal {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	}
	return e.String()
}

// exitCode is that of a process that the signal ended, as shells count.
func (e signalError) exitCode() int {
	if n, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}
