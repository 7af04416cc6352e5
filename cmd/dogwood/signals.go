package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that SIGINT and SIGTERM cancel, with the name of the
// signal as its cause. A second signal ends the process at once.
func untilSignal(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-signals
		signal.Stop(signals)
		cancel(signalError{s})
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
