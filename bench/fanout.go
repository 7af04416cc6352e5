package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Fanout has one connection write to a path that many others follow. It counts, and
// measures the latency of, the arrival of a write at a subscriber. So that deliveries are
// not skipped, no more than InFlight writes are ahead of the slowest subscriber.
type Fanout struct {
	Subscribers int `json:"subscribers" help:"Subscribers, with a connection each." default:"1000" env:"-"`
	InFlight    int `json:"inFlight" help:"Writes that not all subscribers have." default:"64" env:"-"`
	Size        int `json:"size" help:"Bytes of a value." default:"100" env:"-"`
}

func (Fanout) Name() string                { return "fanout" }
func (Fanout) About() (unit, rules string) { return "deliveries", openRules }

func (w Fanout) Describe() string {
	return fmt.Sprintf("1 writer → %d subscribers, %d writes ahead, %d bytes each", w.Subscribers, w.InFlight, w.Size)
}

func (w Fanout) WithDefaults() (Workload, error) {
	err := errors.Join(
		Setting("subscribers", &w.Subscribers, 1000, 1, MaxConnections),
		Setting("in flight", &w.InFlight, 64, 1, maxInFlight),
		Setting("size", &w.Size, 100, len(object(0, 0)), maxObject),
	)
	return w, err
}

func (w Fanout) Drive(ctx context.Context, r *Load) error {
	const path = "fanout/value"
	conns, err := connect.DialAll(ctx, r.Target, w.Subscribers, connect.MemberBuffer, func(_ int, c *connect.Conn) error { return c.Listen(path, "") })
	if err != nil {
		return err
	}
	defer connect.CloseAll(conns)
	writer, err := connect.Dial(ctx, r.Target, connect.ReadBuffer)
	if err != nil {
		return err
	}
	defer writer.Close()
	f := &fan{run: r, path: path, size: w.Size, writer: writer, subscribers: conns, flights: make([]flight, w.InFlight), landed: make(chan struct{}, w.InFlight)}
	r.Begin()
	err = f.drive(ctx)
	r.Measure("writes", float64(f.complete.Load())/max(r.Now().Seconds(), 1e-9), "/s")
	if n := f.skipped.Load(); n > 0 {
		r.Measure("skipped", float64(n), "deliveries")
	}
	return err
}

// A fan is a Fanout under way. A server may leave out values for a slow
// subscriber, so what has arrived is told by the number in a value and not by
// counting messages.
type fan struct {
	run         *Load
	path        string
	size        int
	writer      *connect.Conn
	subscribers []*connect.Conn
	last        []int64       // number of the last write that has come to each
	flights     []flight      // of write n at n modulo their number
	landed      chan struct{} // gets an element for each write that all have
	complete    atomic.Int64  // such writes
	skipped     atomic.Int64  // deliveries that a later one replaced
}

// A flight is one write on its way.
type flight struct {
	due     atomic.Int64
	missing atomic.Int64 // subscribers that do not have it, and the acknowledgement
}

func (f *fan) drive(ctx context.Context) error {
	f.last = make([]int64, len(f.subscribers))
	for i := range f.last {
		f.last[i] = -1
	}
	all := append([]*connect.Conn{f.writer}, f.subscribers...)
	return connect.Receiving(ctx, all, func(i int, msg []byte) error {
		if i == 0 {
			return f.acknowledged(msg)
		}
		return f.take(i-1, msg)
	}, f.write)
}

// write writes until the schedule ends and all subscribers have everything.
func (f *fan) write(ctx context.Context) error {
	var value, msg []byte
	ahead := 0
	for seq := int64(0); ; seq++ {
		due, ok := f.run.Next()
		if !ok || !f.run.Wait(ctx, due) {
			break
		}
		if ahead < len(f.flights) {
			ahead++
		} else if err := f.land(ctx); err != nil {
			return err
		}
		fl := &f.flights[int(seq)%len(f.flights)]
		fl.due.Store(int64(due))
		fl.missing.Store(int64(len(f.subscribers) + 1))
		value = AppendObject(value[:0], seq, f.size)
		msg = wire.AppendPut(msg[:0], seq, f.path, value)
		if err := f.writer.Send(msg); err != nil {
			return err
		}
	}
	for ; ahead > 0; ahead-- {
		if err := f.land(ctx); err != nil {
			return err
		}
	}
	return nil
}

// land waits until all subscribers have the oldest write.
func (f *fan) land(ctx context.Context) error {
	return inTime(ctx, f.landed, func() string { return fmt.Sprintf("not all %d subscribers have a write", len(f.subscribers)) })
}

func (f *fan) arrived(seq int64) {
	if f.flights[int(seq)%len(f.flights)].missing.Add(-1) == 0 {
		f.complete.Add(1)
		f.landed <- struct{}{}
	}
}

// acknowledged takes a response to the writer.
func (f *fan) acknowledged(text []byte) error {
	m, err := wire.ParseServerMessage(text)
	switch {
	case err != nil:
		return err
	case m.Status == wire.StatusOK:
		f.arrived(m.ID)
	case m.Status != "":
		return fmt.Errorf("write: %w", &connect.RefusedError{Status: m.Status, Text: string(m.Data)})
	}
	return nil
}

// take takes what arrives at a subscriber. A server may skip values for a client
// that is slow; they count as arrived then, but not as deliveries.
func (f *fan) take(n int, text []byte) error {
	seq, ok := numberOf(text)
	if !ok || seq <= f.last[n] {
		return nil
	}
	for skipped := f.last[n] + 1; skipped < seq; skipped++ {
		f.skipped.Add(1)
		f.arrived(skipped)
	}
	f.last[n] = seq
	f.run.Done(n, time.Duration(f.flights[int(seq)%len(f.flights)].due.Load()))
	f.arrived(seq)
	return nil
}

// numberOf returns the number in a message that has an object of AppendObject
// in it.
func numberOf(text []byte) (n int64, ok bool) {
	const name = `"n":`
	i := bytes.Index(text, []byte(name))
	if i < 0 {
		return 0, false
	}
	digits := text[i+len(name):]
	end := 0
	for end < len(digits) && digits[end] >= '0' && digits[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(digits[:end]), 10, 64)
	return n, err == nil
}
