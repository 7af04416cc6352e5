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
	// The mode is set before the prompt is shown, so that nothing typed early is seen.
	state, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(int(f.Fd()), state) }() // there is nothing to do about it
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{f, Canvas(e.Stderr)}, "")
	type result struct {
		text string
		err  error
	}
	typed := make(chan result, 1)
	go func() { // a read of a terminal cannot be stopped
		text, err := t.ReadPassword(Printable(prompt))
		typed <- result{text, err}
	}()
	select {
	case r := <-typed:
		if r.err == io.EOF { // Ctrl-C or Ctrl-D
			return "", ErrInterrupted
		}
		return r.text, r.err
	case <-e.Ctx.Done():
		return "", ErrInterrupted
	}
}
