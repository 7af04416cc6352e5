// Package child lets a part of a program run in a process of its own, which ends with
// the program, even if that is killed. The program gives one order, on the standard input of
// the process, and ends the work by closing it. The process answers twice: when the work has
// begun, and with its result. It knows nothing about the work.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Bounds of what a child takes.
const (
	maxStart = time.Minute      // until it says that the work has begun
	maxEnd   = 20 * time.Second // until it is killed if it has not ended
)

// Serve is what a child does. It stores the order in order, a pointer, and calls work, whose
// context ends when in does. Work calls begun when it has begun; what it returns is the result.
func Serve(ctx context.Context, in io.Reader, out io.Writer, order any, work func(ctx context.Context, begun func() error) (result any, err error)) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, order)
	}
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, lines) // however the input ends, so does the work
		stop()
	}()
	answers := json.NewEncoder(out)
	result, err := work(ctx, func() error { return answers.Encode(struct{}{}) })
	if err != nil {
		return err
	}
	return answers.Encode(result)
}

// A Process does work that this process has ordered.
type Process struct {
	in      io.Closer // closing it ends the work
	answers chan answer
	wait    func() error // for the end of the process, and returns how that was
	kill    func()
}

// An answer of a child, or why there is none.
type answer struct {
	text json.RawMessage
	err  error
}

// Start starts a process and returns when it has begun the work of the order. The process
// has to call [Serve] with its standard input and output, and then end.
func Start(ctx context.Context, cmd *exec.Cmd, order any) (*Process, error) {
	p, in, out, err := startProcess(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p.order(ctx, order, in, out)
}

// StartHere does the same with a goroutine of this process, which calls serve.
func StartHere(ctx context.Context, serve func(ctx context.Context, in io.Reader, out io.Writer) error, order any) (*Process, error) {
	p, in, out := startHere(ctx, serve)
	return p.order(ctx, order, in, out)
}

// order gives the order and waits until the work has begun.
func (p *Process) order(ctx context.Context, order any, in io.Writer, out io.Reader) (*Process, error) {
	p.answers = make(chan answer, 2) // all that there are, so read does not wait
	go p.read(out)
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return nil, errors.Join(fmt.Errorf("give the order: %w", err), p.Abort())
	}
	if _, err := p.next(ctx, maxStart); err != nil {
		return nil, err
	}
	return p, nil
}

// read reads both answers, or until there are no more.
func (p *Process) read(out io.Reader) {
	answers := json.NewDecoder(out)
	for range cap(p.answers) {
		var a answer
		a.err = answers.Decode(&a.text)
		p.answers <- a
		if a.err != nil {
			return
		}
	}
}

// next waits for the next answer. Without one, the child is ended.
func (p *Process) next(ctx context.Context, most time.Duration) (json.RawMessage, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case a := <-p.answers:
		if a.err != nil {
			return nil, fmt.Errorf("it ended early: %w", errors.Join(p.Abort(), a.err))
		}
		return a.text, nil
	case <-late.C:
		return nil, errors.Join(fmt.Errorf("it does not answer within %s", most), p.Abort())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), p.Abort())
	}
}

// End ends the work and stores what the child answers in result, a pointer.
func (p *Process) End(result any) error {
	_ = p.in.Close() // it fails if the process has ended, which next tells
	text, err := p.next(context.Background(), maxEnd)
	if err != nil {
		return err
	}
	late := time.AfterFunc(maxEnd, p.kill)
	defer late.Stop()
	return errors.Join(json.Unmarshal(text, result), p.wait())
}

// Wait waits until a child has ended by itself.
func (p *Process) Wait() error { return p.wait() }

// Abort ends a child that is of no use, and returns what it said.
func (p *Process) Abort() error {
	_ = p.in.Close()
	late := time.AfterFunc(maxEnd, p.kill)
	defer late.Stop()
	return p.wait()
}

// startHere starts a goroutine that serves.
func startHere(ctx context.Context, serve func(context.Context, io.Reader, io.Writer) error) (*Process, io.Writer, io.Reader) {
	inReader, in := io.Pipe()
	out, outWriter := io.Pipe()
	ended := make(chan error, 1)
	ctx, kill := context.WithCancel(ctx)
	go func() {
		err := serve(ctx, inReader, outWriter)
		inReader.Close()
		outWriter.Close()
		kill()
		ended <- err
	}()
	return &Process{in: in, kill: kill, wait: sync.OnceValue(func() error { return <-ended })}, in, out
}

// startProcess starts a process.
func startProcess(cmd *exec.Cmd) (*Process, io.Writer, io.Reader, error) {
	complaint := new(firstWords)
	cmd.Stderr = complaint
	cmd.WaitDelay = maxEnd
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, outWriter := io.Pipe() // not StdoutPipe, which Wait closes before all is read
	cmd.Stdout = outWriter
	if err := cmd.Start(); err != nil {
		return nil, nil, nil, err
	}
	wait := sync.OnceValue(func() error {
		err := cmd.Wait()
		outWriter.Close()
		if err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
		}
		return nil
	})
	go func() { _ = wait() }() // so that out ends with the process
	return &Process{in: in, kill: func() { _ = cmd.Process.Kill() }, wait: wait}, in, out, nil
}

// firstWords keeps the beginning of what is written, in which a program that fails says why.
// It is written to by one goroutine, and read when that has ended.
type firstWords struct{ strings.Builder }

// maxWords bounds what firstWords keeps.
const maxWords = 8 << 10

func (w *firstWords) Write(p []byte) (int, error) {
	w.Builder.Write(p[:min(len(p), maxWords-w.Len())])
	return len(p), nil
}
