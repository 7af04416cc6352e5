package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench/child"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// An attack is something that a client without administrator rights can do. Its
// clients run beside each other until the context ends.
type attack struct {
	name    string
	clients int
	client  func(ctx context.Context, a *attacker, n int) error
}

// An attacker is one attack under way. It is also the order to the process that carries out
// the attack, without the administrator's credential. Its counts may be added to by all
// clients.
type attacker struct {
	Attack string        `json:"attack"`
	Target Target        `json:"target"` // with the address that the attack comes from
	Token  string        `json:"token"`  // signs in a user
	Most   time.Duration `json:"most"`   // the attack ends by itself after this time

	sent    atomic.Int64
	refused atomic.Int64
}

// How long an attack goes on before it is measured, how long the server is left
// alone after it, and how long the bystander waits for an answer at most.
const (
	attackRamp  = time.Second
	attackReach = 30 * time.Second // to connect at all
	attackEnd   = 10 * time.Second // for the clients of an attack to end
	attackPause = time.Second
	trialGrace  = 2 * time.Minute
)

// bystanderInFlight is how many writes of the bystander may be unacknowledged. Clients send
// writes when they are due. If each waited for the one before it, and writes took longer than
// the time between two of them, the latencies would add up to that of the whole backlog.
const bystanderInFlight = 64

// trial measures the bystander beside an attack.
func (w Isolation) trial(ctx context.Context, r *run, a attack) (t Trial, err error) {
	var attackers *child.Process
	if a.clients > 0 {
		if attackers, err = r.order(ctx, w.attacker(r, a)); err != nil {
			return t, err
		}
		if !sleep(ctx, attackRamp) {
			return t, errors.Join(ctx.Err(), attackers.Abort())
		}
	}
	memory, err := r.watchMemory(ctx, func() error {
		t, err = w.bystander(ctx, r)
		return err
	})
	t.Attack = a.name
	t.MiB = float64(memory.own) / (1 << 20)
	if attackers != nil {
		var counts Trial
		err = errors.Join(err, attackers.End(&counts))
		t.Sent, t.Refused = counts.Sent, counts.Refused
		sleep(ctx, attackPause)
	}
	return t, err
}

// attacker returns the order of an attack.
func (w Isolation) attacker(r *run, a attack) *attacker {
	by := &attacker{Attack: a.name, Target: r.Target, Token: userToken(r.Target.Secret, "mallory", time.Now())}
	by.Target.Secret, by.Target.From = "", w.Attacker
	by.Most = attackRamp + w.Each + trialGrace + attackEnd // longer than it is measured
	return by
}

// order starts the attackers, and returns when the attack has begun.
func (r *run) order(ctx context.Context, by *attacker) (p *child.Process, err error) {
	if r.Attackers == nil {
		p, err = child.StartHere(ctx, RunAttackers, by)
	} else {
		p, err = child.Start(ctx, r.Attackers(), by)
	}
	if err != nil {
		return nil, fmt.Errorf("the process of the attackers: %w", err)
	}
	return p, nil
}

// RunAttackers carries out one attack of an [Isolation]. It is what the process of
// [Options.Attackers] has to call with its standard input and output, and then end. The
// attack ends when in does, so it does not outlive the process that ordered it.
func RunAttackers(ctx context.Context, in io.Reader, out io.Writer) error {
	by := new(attacker)
	return child.Serve(ctx, in, out, by, by.attack)
}

// attack attacks until ctx ends, or the time of the order is over. It returns a Trial with
// the counts.
func (by *attacker) attack(ctx context.Context, begun func() error) (any, error) {
	list, err := Isolation{Only: []string{by.Attack}}.attacks()
	if err != nil {
		return nil, err
	}
	if err := reach(ctx, by.Target); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, by.Most)
	defer stop()
	ended := by.begin(ctx, list[0])
	if err := begun(); err != nil {
		return nil, fmt.Errorf("say that the attack has begun: %w", err)
	}
	<-ctx.Done()
	select {
	case <-ended:
		return Trial{Attack: by.Attack, Sent: by.sent.Load(), Refused: by.refused.Load()}, nil
	case <-time.After(attackEnd):
		return nil, fmt.Errorf("the clients of %s do not end", by.Attack)
	}
}

// reach returns an error if the server cannot be reached, such as from an address that this
// machine does not have. The clients of an attack count such an error as a refusal.
func reach(ctx context.Context, t Target) error {
	ctx, stop := context.WithTimeout(ctx, attackReach)
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

// repeat runs a client of an attack again and again: servers cut attackers off.
func (by *attacker) repeat(ctx context.Context, a attack, n int) {
	for ctx.Err() == nil {
		if err := a.client(ctx, by, n); err != nil && ctx.Err() == nil {
			by.refused.Add(1)
			sleep(ctx, 10*time.Millisecond)
		}
	}
}

// bystander writes over a realtime connection and reads over REST.
func (w Isolation) bystander(ctx context.Context, r *run) (t Trial, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Each+trialGrace)
	defer cancel()
	o := r.Options
	o.Warmup, o.Duration, o.Count, o.Rate = 0, w.Each, 0, w.Rate
	writes, reads := newRun(o), newRun(o)
	errs := make(chan error, 2)
	go func() { errs <- w.write(ctx, writes) }()
	go func() {
		errs <- driveREST(ctx, reads, 1, func(dst []byte, _ int, seq int64) []byte {
			return append(dst, getRequest(r.Target, "/"+sharedRow(seq), "")...)
		})
	}()
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	t.take(writes, &t.Writes, "write")
	t.take(reads, &t.Reads, "read")
	if err != nil { // of one who does not come through at all
		t.Failed++
		t.Reason = err.Error()
	}
	return t, nil
}

func (w Isolation) write(ctx context.Context, r *run) error {
	conns, err := r.dialAll(ctx, 1, readBuffer, nil)
	if err != nil {
		return err
	}
	r.begin()
	var value []byte
	return newPipeline(r, conns[0], 0, bystanderInFlight, func(dst []byte, id, seq int64) []byte {
		value = appendObject(value[:0], seq, sharedBytes)
		return wire.AppendPut(dst, id, sharedRow(seq), value)
	}).drive(ctx)
}

// take adds what one side of the bystander came to.
func (t *Trial) take(r *run, l *Latency, name string) {
	h, failed, reason := r.sum()
	*l = latencyOf(h)
	t.Failed += failed
	if failed > 0 {
		t.Reason = fmt.Sprintf("%s: %s", name, reason)
	}
}

// sleep reports whether ctx lasted so long.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
