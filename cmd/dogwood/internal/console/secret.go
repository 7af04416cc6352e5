package console

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// maxSecret bounds what is read as a secret.
const maxSecret = 64 << 10

// ReadSecret reads a secret from standard input: from a terminal one line, which is not
// shown, else everything.
func (e *Env) ReadSecret(prompt string) (string, error) {
	f, ok := e.Stdin.(*os.File)
	if !ok || !IsTerminal(f) {
		text, err := io.ReadAll(io.LimitReader(e.Stdin, maxSecret+1))
		if err == nil && len(text) > maxSecret {
			err = fmt.Errorf("standard input has more than %d KiB, which is no secret", maxSecret>>10)
		}
		return string(text), err
	}
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", err
	}
	fmt.Fprint(e.Stderr, prompt)
	defer fmt.Fprintln(e.Stderr)
	type result struct {
		text []byte
		err  error
	}
	typed := make(chan result, 1)
	go func() { // a read of a terminal cannot be stopped
		text, err := term.ReadPassword(int(f.Fd()))
		typed <- result{text, err}
	}()
	select {
	case r := <-typed:
		return string(r.text), r.err
	case <-e.Ctx.Done():
		_ = term.Restore(int(f.Fd()), state) // the command ends in any case
		return "", ErrInterrupted
	}
}
