package console

import (
	"errors"
	"fmt"
	"strings"
)

// An exitError is a failure with an exit code of its own.
type exitError struct {
	code int
	error
}

// Failed is a failure that is an answer: a test that fails, an operation that is
// denied.
func Failed(format string, args ...any) error {
	return exitError{1, fmt.Errorf(format, args...)}
}

// Unusable is a failure of what was given: a file that cannot be read, rules that
// do not compile.
func Unusable(err error) error {
	if err == nil {
		return nil
	}
	return exitError{2, err}
}

// Exit ends a command with an exit code and without a text.
func Exit(code int) error { return exitError{code, errors.New("")} }

// Fail prints a failure and returns the exit code for it.
func (e *Env) Fail(err error) int {
	if text := strings.TrimSpace(err.Error()); text != "" {
		fmt.Fprintln(e.Stderr, "dogwood:", text)
	}
	if x := (exitError{}); errors.As(err, &x) {
		return x.code
	}
	return 1
}
