package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
)

// An answer stays in memory for as long as its client takes to read it. So large answers
// share a meter, and only a few are made at a time (outbox.NewReaders): the size of a value
// is known only after it was read.
const (
	smallAnswer  = 64 << 10 // up to here an answer needs no memory of the meter
	makingAnswer = 2        // times the size of a value is taken until it is an answer: both are there
)

// A reservation is what a request has of what the server shares among its clients: places
// to read, and memory for its body, for what is made of it, and for its answer. What it
// has to wait for counts for the client of its address.
//
// The order in which a request takes things is always the same, so requests cannot wait
// for each other in a circle: body, work, then a place among the readers, then the
// answer. Where memory for an answer is lacking while a place is held, the place and what
// was read are given up first (answerWith). So an answer that has its memory can wait for
// another place (making, inTurns): what is in one does not wait for memory of answers.
//
// It belongs to the goroutine of the request. Everything that it holds is given back by
// release, which runs however the handler ends.
type reservation struct {
	of   *request // to which it belongs
	ctx  context.Context
	form *form // of the request

	readers *limit.Share // places of the server, or the address's share of them
	briefs  *limit.Share // in the same way, for reads that are brief
	attempt attempt      // at what the request reads
	body    limit.Hold   // bytes of the body, in the same way
	work    limit.Hold   // what is made of the body, or read for the answer
	answer  limit.Hold   // the answer
}

// An attempt says how a request reads.
type attempt int8

const (
	whole attempt = iota
	brief         // if that does not take long
	again         // after it took long
)

// A noMemoryError says that there is no memory for an answer.
type noMemoryError struct {
	hold    *limit.Hold // of the request
	size    int64       // that it has to reach
	refusal error
}

func (e *noMemoryError) Error() string {
	return fmt.Sprintf("no memory for an answer of %d bytes", e.size)
}
func (e *noMemoryError) Unwrap() error { return errOverloaded }

// use makes what the request holds count for the clients that share r.
func (v *reservation) use(r *peer.Resources) {
	v.readers, v.briefs = r.Readers, r.Views.Briefs()
	v.body.Of, v.work.Of, v.answer.Of = r.Bodies, r.Work, r.Answers
}

// acquirePlace waits for one of the places, for which addresses take turns. Waiting counts as
// reading slowly: it ends with the time that the request allows for it.
func (v *reservation) acquirePlace(places *limit.Share) error {
	if places.Try(1) == nil { // the context needs a timer to wait
		return nil
	}
	ctx, cancel := newReadContext(v.ctx, nil, v.form.timeout)
	defer cancel()
	return places.Acquire(ctx, 1)
}

// releasePlace ends what acquirePlace began, and the use of what was read.
func (v *reservation) releasePlace(places *limit.Share) {
	v.work.End()
	places.Release(1)
}

// handling runs f, which does something with all of a text of size bytes, in a place among
// the reads if that is long.
func (v *reservation) handling(size int, f func() error) error {
	if size < outbox.LongText {
		return f()
	}
	return v.readers.Do(v.ctx, f)
}

// making is handling for what must not fail, or waits for the client in between. It waits for its
// place even if the client has left.
func (v *reservation) making(size int, f func()) {
	if size < outbox.LongText {
		f()
		return
	}
	_ = v.readers.Do(context.Background(), func() error { f(); return nil }) // which does not fail
}

// inTurns yields pieces of an answer that are made while it is sent. Each is made in a place among
// the reads, which others have while the piece is written.
func (v *reservation) inTurns(pieces iter.Seq[[]byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		v.making(outbox.LongText, func() {
			for piece := range pieces {
				more := false
				_ = v.readers.Yield(func() error { more = yield(piece); return nil })
				if !more {
					return
				}
			}
		})
	}
}

// await is reserve for requests that can wait a while for memory. A write must
// have its memory before it is committed, since a 503 says that it was not.
//
// Reads do not wait here. They would hold what they have read meanwhile, so
// they begin again instead.
func (v *reservation) await(size int) error {
	err := v.reserve(size)
	if full := (*noMemoryError)(nil); errors.As(err, &full) {
		v.countWait(full.hold, full.refusal)
		ctx, cancel := context.WithTimeout(v.ctx, peer.MemoryTimeout)
		defer cancel()
		return v.waitFor(ctx, full)
	}
	return err
}

// waitFor waits until a hold is as large as it could not become.
func (v *reservation) waitFor(ctx context.Context, full *noMemoryError) error {
	n := full.hold.Missing(full.size)
	if full.hold.Of.Acquire(ctx, n) != nil {
		return full
	}
	full.hold.Take(n)
	return nil
}

// reserve takes memory for an answer of about the given size, beyond what the
// request has. An answer that is larger than the whole meter can have all of
// it. After a *noMemoryError the request has none.
func (v *reservation) reserve(size int) error {
	if size <= smallAnswer || v.form.silent {
		return nil
	}
	return v.claim(&v.answer, int64(size))
}

// hold takes memory for a value of about the given size that is about to be read, and for
// the answer that is made of it, until it is made.
func (v *reservation) hold(size int64) error {
	if need := makingAnswer * size; need <= v.work.Of.Most() {
		return v.claim(&v.work, need)
	}
	return fault.ErrTooBig
}

// claim makes a hold of the request reach a size. After a *noMemoryError the request holds
// nothing for its answer.
func (v *reservation) claim(h *limit.Hold, size int64) error {
	refusal := h.Grow(h.Missing(size))
	if refusal == nil {
		return nil
	}
	v.answer.End()
	v.work.End()
	return &noMemoryError{h, size, refusal}
}

// settle makes the memory of the request what its answer came to need.
func (v *reservation) settle(body []byte) {
	need := int64(cap(body))
	if need <= smallAnswer {
		need = 0
	}
	v.answer.Settle(need)
}

// acquireWork takes memory for what is made of a body, and lets go of the body. It waits
// for a while.
func (v *reservation) acquireWork(need int64) error {
	full := func(refusal error) { v.countWait(&v.work, refusal) }
	if peer.AcquireSoon(v.ctx, v.work.Of, need, full) != nil {
		return errOverloaded
	}
	v.work.Take(need)
	v.body.End()
	return nil
}

// countWait counts a request that has to wait for memory in one of its holds.
func (v *reservation) countWait(h *limit.Hold, refusal error) {
	if h == &v.work {
		v.of.refused(peer.ReasonOf(refusal, metrics.Work, metrics.AddressWork))
		return
	}
	v.of.refused(peer.ReasonOf(refusal, metrics.Answers, metrics.AddressAnswers))
}

// releaseBody ends the request's use of its body, and of what was made of it.
func (v *reservation) releaseBody() {
	v.body.End()
	v.work.End()
}

// release ends the request's use of what it holds.
func (v *reservation) release() {
	v.releaseBody()
	v.answer.End()
}

// A readContext is the context of a read, which ends with the request, after the
// time that it allows, or when the database is dropped, since a drop waits for reads.
// Reads look at Err now and then, and most are over before they do; a timer is only
// started for those that wait.
//
// context.WithTimeout would start a timer for each read, and most reads are over in
// microseconds.
type readContext struct {
	context.Context                 // of the request
	gone            <-chan struct{} // closed when the database is dropped; nil: it stays
	ends            time.Time

	once   sync.Once
	timed  context.Context
	cancel context.CancelFunc
}

// newReadContext returns the context of a read that ends after a time at the latest, and
// what has to be called when the read is over.
func newReadContext(ctx context.Context, gone <-chan struct{}, timeout time.Duration) (context.Context, context.CancelFunc) {
	c := &readContext{Context: ctx, gone: gone, ends: time.Now().Add(timeout)}
	return c, c.end
}

// readContext is newReadContext for the read of a request. The first one is in the memory of
// the request: a context is not used again, since others may still look at it.
func (q *request) readContext() *readContext {
	c := &q.first
	if c.Context != nil {
		c = new(readContext)
	}
	c.Context, c.gone, c.ends = q.r.Context(), q.gone(), time.Now().Add(q.form.timeout)
	return c
}

func (c *readContext) start() { c.timed, c.cancel = context.WithDeadline(c.Context, c.ends) }

// end stops the timer. The context may go on to be used: it has ended.
func (c *readContext) end() {
	c.once.Do(func() { c.timed, c.cancel = endedContext, func() {} })
	c.cancel()
}

var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (c *readContext) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.ends) {
		return d, true
	}
	return c.ends, true
}

func (c *readContext) Done() <-chan struct{} {
	c.once.Do(c.start)
	return c.timed.Done()
}

func (c *readContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(c.ends) {
		return context.DeadlineExceeded
	}
	select {
	case <-c.gone:
		return errDropped
	default:
		return nil
	}
}
