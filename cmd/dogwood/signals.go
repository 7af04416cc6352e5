package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// echoTime is how soon after the first signal another one is a copy of it, not a decision
// of the user. A terminal sends SIGINT to all processes of a group, and a parent such as
// "go run" or a script may pass its own on.
const echoTime = 300 * time.Millisecond

// untilSignal returns a context that SIGINT and SIGTERM cancel, with the name of the
// signal as its cause. A second signal that comes at least echoTime later ends the process
// at once.
func untilSignal(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		second := heed(signals, cancel)
		fmt.Fprintf(os.Stderr, "dogwood: ended at once by a second signal (%v)\n", second)
		os.Exit(second.exitCode())
	}()
	return ctx
}

// heed cancels at the first signal, and returns the next one that is not a copy of it.
func heed(signals <-chan os.Signal, cancel context.CancelCauseFunc) signalError {
	cancel(signalError{<-signals})
	began := time.Now()
	for {
		if second := <-signals; time.Since(began) >= echoTime {
			return signalError{second}
		}
	}
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
