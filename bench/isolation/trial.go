package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench"
	"github.com/dogwooddb/dogwood/bench/child"
	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// An attack is something that a client without administrator rights can do. Its
// clients run concurrently until the context ends.
type attack struct {
	name    string
	clients int
	client  func(ctx context.Context, a *attacker, n int) error
}

// An attacker is one attack under way. It is also the order to the process that carries out
// the attack, without the administrator's credential. Its counts may be added to by all
// clients.
type attacker struct {
	Attack string         `json:"attack"`
	Target connect.Target `json:"target"` // with the address that the attack comes from
	Token  string         `json:"token"`  // signs in a user
	Most   time.Duration  `json:"most"`   // the attack ends by itself after this time

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

// trial measures the bystander during an attack.
func (w Workload) trial(ctx context.Context, r *bench.Load, a attack) (t bench.Trial, err error) {
	var attackers *child.Process
	if a.clients > 0 {
		if attackers, err = startAttackers(ctx, r.Attackers, w.attacker(r, a)); err != nil {
			return t, err
		}
		if !bench.Sleep(ctx, attackRamp) {
			return t, errors.Join(ctx.Err(), attackers.Abort())
		}
	}
	mib, err := r.OwnMemory(ctx, func() error {
		t, err = w.bystander(ctx, r)
		return err
	})
	t.Attack, t.MiB = a.name, mib
	if attackers != nil {
		var counts bench.Trial
		err = errors.Join(err, attackers.End(&counts))
		t.Sent, t.Refused = counts.Sent, counts.Refused
		bench.Sleep(ctx, attackPause)
	}
	return t, err
}

// attacker returns the order of an attack.
func (w Workload) attacker(r *bench.Load, a attack) *attacker {
	by := &attacker{Attack: a.name, Target: r.Target, Token: connect.UserToken(r.Target.Secret, "mallory", time.Now())}
	by.Target.Secret, by.Target.From = "", w.Attacker
	by.Most = attackRamp + w.Each + trialGrace + attackEnd // longer than it is measured
	return by
}

// startAttackers starts the attackers, and returns when the attack has begun.
func startAttackers(ctx context.Context, attackers func() *exec.Cmd, by *attacker) (p *child.Process, err error) {
	if attackers == nil {
		p, err = child.StartHere(ctx, Attack, by)
	} else {
		p, err = child.Start(ctx, attackers(), by)
	}
	if err != nil {
		return nil, fmt.Errorf("the process of the attackers: %w", err)
	}
	return p, nil
}

// Attack carries out one attack of a [Workload]. The process of [bench.Options.Attackers]
// calls it with its standard input and output, and then ends. The attack ends when in does,
// so it does not outlive the process that ordered it.
func Attack(ctx context.Context, in io.Reader, out io.Writer) error {
	by := new(attacker)
	return child.Serve(ctx, in, out, by, by.attack)
}

// attack attacks until ctx ends, or the time of the order is over. It returns a Trial with
// the counts.
func (by *attacker) attack(ctx context.Context, begun func() error) (any, error) {
	list, err := Workload{Only: []string{by.Attack}}.attacks()
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
		return bench.Trial{Attack: by.Attack, Sent: by.sent.Load(), Refused: by.refused.Load()}, nil
	case <-time.After(attackEnd):
		return nil, fmt.Errorf("the clients of %s do not end", by.Attack)
	}
}

// reach returns an error if the server cannot be reached, such as from an address that this
// machine does not have. The clients of an attack count such an error as a refusal.
func reach(ctx context.Context, t connect.Target) error {
	ctx, stop := context.WithTimeout(ctx, attackReach)
	defer stop()
	c, err := connect.DialTCP(ctx, t)
	if err != nil {
		return err
	}
	return c.Close()
}

// begin starts the clients of an attack. The channel is closed when all have ended.
func (by *attacker) begin(ctx context.Context, a attack) (ended <-chan struct{}) {
	var clients sync.WaitGroup
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
			bench.Sleep(ctx, 10*time.Millisecond)
		}
	}
}

// bystander writes over a realtime connection and reads over REST.
func (w Workload) bystander(ctx context.Context, r *bench.Load) (t bench.Trial, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.Each+trialGrace)
	defer cancel()
	o := r.Options
	o.Warmup, o.Duration, o.Count, o.Rate = 0, w.Each, 0, w.Rate
	writes, reads := bench.NewLoad(o), bench.NewLoad(o)
	errs := make(chan error, 2)
	go func() { errs <- w.write(ctx, writes) }()
	go func() {
		errs <- bench.DriveREST(ctx, reads, 1, func(dst []byte, _ int, seq int64) []byte {
			return append(dst, connect.GetRequest(r.Target, "/"+sharedRow(seq), "")...)
		})
	}()
	for range cap(errs) {
		err = errors.Join(err, <-errs)
	}
	take(&t, writes, &t.Writes, "write")
	take(&t, reads, &t.Reads, "read")
	if err != nil { // the bystander could not connect
		t.Failed++
		t.Reason = err.Error()
	}
	return t, nil
}

func (w Workload) write(ctx context.Context, r *bench.Load) error {
	conns, err := connect.DialAll(ctx, r.Target, 1, connect.ReadBuffer, nil)
	if err != nil {
		return err
	}
	r.Begin()
	var value []byte
	return bench.NewPipeline(r, conns[0], 0, bystanderInFlight, func(dst []byte, id, seq int64) []byte {
		value = bench.AppendObject(value[:0], seq, sharedBytes)
		return wire.AppendPut(dst, id, sharedRow(seq), value)
	}).Drive(ctx)
}

// take adds the figures of one side of the bystander.
func take(t *bench.Trial, r *bench.Load, l *bench.Latency, name string) {
	latency, failed, reason := r.Latency()
	*l = latency
	t.Failed += failed
	if failed > 0 {
		t.Reason = fmt.Sprintf("%s: %s", name, reason)
	}
}
