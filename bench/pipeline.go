package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// A pipeline keeps a number of requests in flight on one connection. One
// goroutine sends what is due and joins it into one system call, another reads
// the responses.
//
// A slot is both the bound of what is in flight and the id by which a response
// finds its due time, so no request allocates. The reader hands slots back only
// when it has taken all that have arrived: so requests leave together, as those
// of many clients arrive at a server.
type pipeline struct {
	run   *Load
	conn  Exchange
	n     int                                        // of the pipeline among all
	build func(dst []byte, id, seq int64) []byte     // appends a request, seq counts from 0
	check func(m *wire.ServerMessage) (wrong string) // nil: any data is right

	free chan int       // slots that are not in flight
	due  []atomic.Int64 // when the request in a slot was due

	sent  chan int                         // slots in flight, in order, if responses have no ids
	judge func(text []byte) (wrong string) // likewise
}

// An Exchange is a connection with requests and responses. One goroutine sends, another reads.
type Exchange interface {
	Add(request []byte)    // queues a request
	Flush() error          // sends what is queued, in one system call
	Next() ([]byte, error) // the next response, valid until the next call
	More() bool            // whether another response has begun to arrive
	Close()
}

// NewPipeline returns a pipeline for a connection, whose requests build appends.
func NewPipeline(r *Load, c *connect.Conn, n, inFlight int, build func(dst []byte, id, seq int64) []byte) *pipeline {
	return newPipeline(r, c, n, inFlight, build)
}

// NewOrderedPipeline returns a pipeline for a protocol whose responses have no ids and come in
// the order of the requests. judge says what is wrong with a response, "" if nothing is.
func NewOrderedPipeline(r *Load, c Exchange, n, inFlight int, build func(dst []byte, id, seq int64) []byte, judge func(text []byte) (wrong string)) *pipeline {
	p := newPipeline(r, c, n, inFlight, build)
	p.sent, p.judge = make(chan int, inFlight), judge
	return p
}

func newPipeline(r *Load, c Exchange, n, inFlight int, build func(dst []byte, id, seq int64) []byte) *pipeline {
	p := &pipeline{run: r, conn: c, n: n, build: build, free: make(chan int, inFlight), due: make([]atomic.Int64, inFlight)}
	for slot := range inFlight {
		p.free <- slot
	}
	return p
}

// Drive sends until the schedule ends and waits for the last responses.
func (p *pipeline) Drive(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, p.conn.Close)()
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(p.read())
	}()
	err := p.write(ctx)
	if err == nil {
		p.drain(ctx)
	}
	cancel(connect.ErrEnded)
	p.conn.Close()
	<-read
	if cause := context.Cause(ctx); cause != connect.ErrEnded {
		return cause // that the reader failed says more than that writing did
	}
	return err
}

// write sends requests. It ends without an error if ctx does.
func (p *pipeline) write(ctx context.Context) error {
	var buf []byte
	for seq := int64(0); ; seq++ {
		slot, err := p.slot(ctx)
		if err != nil {
			return err
		}
		due, ok := p.run.Next()
		if ok && due > p.run.Now() {
			if err := p.conn.Flush(); err != nil {
				return err
			}
			ok = p.run.Wait(ctx, due)
		}
		if !ok {
			p.free <- slot
			return p.conn.Flush()
		}
		p.due[slot].Store(int64(due))
		buf = p.build(buf[:0], seq*int64(cap(p.free))+int64(slot), seq)
		if p.sent != nil {
			p.sent <- slot
		}
		p.conn.Add(buf)
	}
}

// slot waits for a request to be answered. Before it waits, it sends what there
// is.
func (p *pipeline) slot(ctx context.Context) (int, error) {
	select {
	case slot := <-p.free:
		return slot, nil
	default:
	}
	if err := p.conn.Flush(); err != nil {
		return 0, err
	}
	select {
	case slot := <-p.free:
		return slot, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// drain waits until everything is answered. Requests without an answer in time have failed.
func (p *pipeline) drain(ctx context.Context) {
	timer := time.NewTimer(connect.Grace)
	defer timer.Stop()
	for left := cap(p.free); left > 0; left-- {
		select {
		case <-p.free:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		for range left {
			p.run.failed(p.n, fmt.Sprintf("no answer within %s", connect.Grace))
		}
		return
	}
}

// read takes responses. It hands the slots back when it has taken all that have
// arrived, so that the next requests go out together.
func (p *pipeline) read() error {
	var answered []int
	for {
		text, err := p.conn.Next()
		if err != nil {
			return err
		}
		slot, wrong, ok, err := p.response(text)
		if err != nil {
			return err
		}
		if ok {
			p.record(slot, wrong)
			answered = append(answered, slot)
		}
		if !p.conn.More() {
			for _, slot := range answered {
				p.free <- slot
			}
			answered = answered[:0]
		}
	}
}

// errUnasked is for a response in order that there is no request for.
var errUnasked = errors.New("a response without a request")

// response returns the slot of a response and what is wrong with it. Messages that are not
// responses are not ok.
func (p *pipeline) response(text []byte) (slot int, wrong string, ok bool, err error) {
	if p.sent != nil {
		select {
		case slot = <-p.sent:
			return slot, p.judge(text), true, nil
		default:
			return 0, "", false, errUnasked
		}
	}
	m, err := wire.ParseServerMessage(text)
	if err != nil || m.Status == "" {
		return 0, "", false, err
	}
	switch {
	case m.Status != wire.StatusOK:
		wrong = fmt.Sprintf("%s: %s", m.Status, m.Data)
	case p.check != nil:
		wrong = p.check(&m)
	}
	return int(m.ID % int64(cap(p.free))), wrong, true, nil
}

// record records the response in a slot.
func (p *pipeline) record(slot int, wrong string) {
	if wrong != "" {
		p.run.failed(p.n, wrong)
		return
	}
	p.run.Done(p.n, time.Duration(p.due[slot].Load()))
}
