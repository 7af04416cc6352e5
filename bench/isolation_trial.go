package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// An attack is something that a client without administrator rights can do. Its
// clients run beside each other until the context ends.
type attack struct {
	name    string
	clients int
	client  func(ctx context.Context, a *attacker, n int) error
}

// An attacker is one attack under way. Its counts may be added to by all clients.
type attacker struct {
	target  Target // with the address that the attack comes from
	token   string // signs in a user
	sent    atomic.Int64
	refused atomic.Int64
}

// How long an attack goes on before it is measured, how long the server is left
// alone after it, and how long the bystander waits for an answer at most.
const (
	attackRamp  = time.Second
	attackPause = time.Second
	trialGrace  = 2 * time.Minute
)

// bystanderInFlight is how many writes of the bystander may be unacknowledged. Clients send
// writes when they are due. If each waited for the one before it, and writes took longer than
// the time between two of them, the latencies would add up to that of the whole backlog.
const bystanderInFlight = 64

// trial measures the bystander beside an attack.
func (w Isolation) trial(ctx context.Context, r *run, a attack) (t Trial, err error) {
	end := func() (tally, error) { return tally{}, nil }
	if a.clients > 0 {
		by, err := r.orderAttack(ctx, w.order(r, a))
		if err != nil {
			return t, err
		}
		end = by.end
		if !sleep(ctx, attackRamp) {
			return t, errors.Join(ctx.Err(), by.abort())
		}
	}
	memory, err := r.watchMemory(ctx, func() error {
		t, err = w.bystander(ctx, r)
		return err
	})
	count, endErr := end()
	t.Attack, t.Sent, t.Refused = a.name, count.Sent, count.Refused
	t.MiB = float64(memory.own) / (1 << 20)
	if a.clients > 0 {
		sleep(ctx, attackPause)
	}
	return t, errors.Join(err, endErr)
}

// order returns what the attackers have to do. They get a user's token and not the
// administrator's credential.
func (w Isolation) order(r *run, a attack) attackOrder {
	o := attackOrder{Attack: a.name, Target: r.Target, Token: userToken(r.Target.Secret, "mallory", time.Now())}
	o.Target.Secret, o.Target.From = "", w.Attacker
	o.Most = attackRamp + w.Each + trialGrace + attackEnd // longer than it is measured
	return o
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
