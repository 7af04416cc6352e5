package bench

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

// An attackOrder tells a process of attackers what to do. It is one line of JSON.
type attackOrder struct {
	Attack string        `json:"attack"`
	Target Target        `json:"target"` // without the administrator's credential
	Token  string        `json:"token"`  // signs in a user
	Most   time.Duration `json:"most"`   // the attack ends by itself after this time
}

// A tally is an answer of a process of attackers. It sends one when the attack begins, and
// one with the counts when the attack has ended.
type tally struct {
	Sent    int64 `json:"sent"`
	Refused int64 `json:"refused"`
}

// Bounds of a process of attackers.
const (
	attackStart = 30 * time.Second // until it says that the attack has begun
	attackEnd   = 10 * time.Second // for its clients to end
	attackKill  = 20 * time.Second // until it is killed if it has not ended
)

// RunAttackers carries out one attack of an [Isolation]. It is what the process of
// [Options.Attackers] has to call with its standard input and output, and then end. The
// attack ends when in does, so it does not outlive the process that ordered it.
func RunAttackers(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read which attack to carry out: %w", err)
	}
	var o attackOrder
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("read which attack to carry out: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, lines) // however the input ends, so does the attack
		stop()
	}()
	return o.carryOut(ctx, json.NewEncoder(out))
}

// carryOut attacks until ctx ends, or the time of the order is over.
func (o attackOrder) carryOut(ctx context.Context, answers *json.Encoder) error {
	list, err := Isolation{Only: []string{o.Attack}}.attacks()
	if err != nil {
		return err
	}
	if err := reach(ctx, o.Target); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, o.Most)
	defer stop()
	by := &attacker{target: o.Target, token: o.Token}
	ended := by.begin(ctx, list[0])
	if err := answers.Encode(tally{}); err != nil {
		return fmt.Errorf("say that the attack has begun: %w", err)
	}
	<-ctx.Done()
	select {
	case <-ended:
		return answers.Encode(tally{Sent: by.sent.Load(), Refused: by.refused.Load()})
	case <-time.After(attackEnd):
		return fmt.Errorf("the clients of %s do not end", o.Attack)
	}
}

// reach returns an error if the server cannot be reached, such as from an address that this
// machine does not have. The clients of an attack count such an error as a refusal.
func reach(ctx context.Context, t Target) error {
	ctx, stop := context.WithTimeout(ctx, attackStart)
	defer stop()
	c, err := dialTCP(ctx, t)
	if err != nil {
		return err
	}
	return c.Close()
}

// begin starts the clients of an attack. The channel is closed when all have ended.
func (by *attacker) begin(ctx context.Context, a attack) (ended <-chan struct{}) {
	var clients group
	for n := range a.clients {
		clients.Go(func() { by.repeat(ctx, a, n) })
	}
	done := make(chan struct{})
	go func() {
		clients.Wait()
		close(done)
	}()
	return done
}

// attackers are an attack under way, seen from the process of the bystander.
type attackers struct {
	in      io.Closer // closing it ends the attack
	answers chan counted
	wait    func() error // for the end of the process, and returns how that was
	kill    func()
}

// A counted is a tally, or why there is none.
type counted struct {
	tally
	err error
}

// orderAttack starts attackers and returns when the attack has begun.
func (r *run) orderAttack(ctx context.Context, o attackOrder) (*attackers, error) {
	start := startHere
	if r.Attackers != nil {
		start = func(context.Context) (*attackers, io.Writer, io.Reader, error) { return startProcess(r.Attackers()) }
	}
	a, in, out, err := start(ctx)
	if err != nil {
		return nil, fmt.Errorf("start the attackers: %w", err)
	}
	a.answers = make(chan counted, 2) // all that there are, so read does not wait
	go a.read(out)
	if err := json.NewEncoder(in).Encode(o); err != nil {
		return nil, errors.Join(fmt.Errorf("order the attack: %w", err), a.abort())
	}
	if _, err := a.next(ctx, attackStart); err != nil {
		return nil, err
	}
	return a, nil
}

// read reads both answers, or until there are no more.
func (a *attackers) read(out io.Reader) {
	answers := json.NewDecoder(out)
	for range cap(a.answers) {
		var t counted
		t.err = answers.Decode(&t.tally)
		a.answers <- t
		if t.err != nil {
			return
		}
	}
}

// next waits for the next answer. Without one, the attackers are ended.
func (a *attackers) next(ctx context.Context, most time.Duration) (tally, error) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case t := <-a.answers:
		if t.err != nil {
			return tally{}, fmt.Errorf("the attackers ended early: %w", errors.Join(a.abort(), t.err))
		}
		return t.tally, nil
	case <-late.C:
		return tally{}, errors.Join(fmt.Errorf("the attackers do not answer within %s", most), a.abort())
	case <-ctx.Done():
		return tally{}, errors.Join(ctx.Err(), a.abort())
	}
}

// end ends the attack and returns its counts.
func (a *attackers) end() (tally, error) {
	_ = a.in.Close() // it fails if the process has ended, which next tells
	t, err := a.next(context.Background(), attackKill)
	if err != nil {
		return tally{}, err
	}
	late := time.AfterFunc(attackKill, a.kill)
	defer late.Stop()
	return t, a.wait()
}

// abort ends attackers that are of no use, and returns what they said.
func (a *attackers) abort() error {
	_ = a.in.Close()
	late := time.AfterFunc(attackEnd, a.kill)
	defer late.Stop()
	return a.wait()
}

// startHere starts attackers in this process. What they take is taken from the bystander.
func startHere(ctx context.Context) (*attackers, io.Writer, io.Reader, error) {
	inReader, in := io.Pipe()
	out, outWriter := io.Pipe()
	ended := make(chan error, 1)
	ctx, kill := context.WithCancel(ctx)
	go func() {
		err := RunAttackers(ctx, inReader, outWriter)
		inReader.Close()
		outWriter.Close()
		kill()
		ended <- err
	}()
	return &attackers{in: in, kill: kill, wait: func() error { return <-ended }}, in, out, nil
}

// startProcess starts attackers in a process of their own.
func startProcess(cmd *exec.Cmd) (*attackers, io.Writer, io.Reader, error) {
	complaint := new(firstWords)
	cmd.Stderr = complaint
	cmd.WaitDelay = attackEnd
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
	return &attackers{in: in, kill: func() { _ = cmd.Process.Kill() }, wait: wait}, in, out, nil
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
