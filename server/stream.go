package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
)

const typeEvents = "text/event-stream; charset=utf-8"

// Events that the transport itself makes. The text of auth_revoked is bare
// because clients compare it literally (REST §10.2).
const (
	eventKeepAlive = "event: keep-alive\ndata: null\n\n" // of feeds; a stream has one of its own
	eventRevoked   = "event: auth_revoked\ndata: credential is no longer valid\n\n"
)

// eventDropped ends the stream of a database that is dropped.
const eventDropped = "event: cancel\ndata: \"" + textDropped + "\"\n\n"

// eventTooBig ends the stream of a value that has become too large to be read. It names the
// bound if that is known.
func eventTooBig(err error) []byte {
	text := textPayloadTooBig
	if detail := fault.Detail(err); detail != "" {
		text = strings.TrimSuffix(text, ".") + "; " + detail
	}
	return append(wire.AppendString([]byte("event: cancel\ndata: "), text), "\n\n"...)
}

// wantsEvents reports whether the client asked for an event stream.
func wantsEvents(h http.Header) bool {
	for _, field := range h.Values("Accept") {
		if strings.Contains(strings.ToLower(field), "text/event-stream") {
			return true
		}
	}
	return false
}

// streamValue follows the value at the path as server-sent events until the client
// leaves, may no longer read, or is too slow (REST §10). What refuses a plain
// GET refuses a stream in the same form, before it begins.
//
// The first event is taken before the status is sent: a view that is too large, or a
// client that has gone, is still an ordinary error then. After the status there is only
// one way to tell of an error, which is an event.
func streamValue(q *request) (answer, error) {
	if q.form.shallow || q.form.explain || q.form.count || q.form.pages || q.cond != (conditions{}) || q.target.Priority {
		return answer{}, badRequest("shallow, count, explain, children, ETags and priorities are not supported for event streams")
	}
	wake := make(chan struct{}, 1)
	out := outbox.New(outbox.EventStream, q.s.opts.OutboxBytes, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	res := q.s.peers.Resources(q.peer)
	out.Share(res.Views)
	out.TakeFrom(peer.WorkMemory{Of: res.Work, Full: func(refusal error) {
		q.refused(peer.ReasonOf(refusal, metrics.Work, metrics.AddressWork))
	}})
	defer out.Close()
	defer context.AfterFunc(q.r.Context(), out.Close)() // while a view waits for its turn
	read := q.view()
	read.Quota, read.Changes, read.Notify = res.Quota, q.form.changes, q.form.notify
	l, err := q.db.Listen(q.r.Context(), read, q.r.Header.Get("Last-Event-ID"), out)
	if err != nil {
		return answer{}, err
	}
	defer l.Close()
	first := out.Take(writeChunk)
	if err := cmp.Or(out.Closing(), q.r.Context().Err()); err != nil && len(first) == 0 {
		return answer{}, err
	}
	h := q.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("X-Accel-Buffering", "no")
	q.w.WriteHeader(http.StatusOK)
	defer q.s.metrics.EventStreams.Open()()
	defer q.s.streams.Add(out, streamClient(q))()
	es := eventStream{out: out, wake: wake, keepAlive: l.KeepAlive, client: peer.NewWriter(q.w, q.r), slow: q.countSlow, check: make(chan struct{}, 1)}
	defer es.watch(q)()
	q.visit.Shed()
	if es.writeAll(first) == nil {
		es.run(q)
	}
	return answer{}, nil
}

// streamClient is what administrators are told of the client of an event stream.
func streamClient(q *request) observe.SlowClient {
	from := q.s.peers.Remote(q.r)
	return observe.SlowClient{Connection: observe.RequestOf(q.w), Remote: from.Addr, Via: from.Via, Namespace: q.ns, Transport: "event_stream"}
}

// An eventStream copies events from an outbox to one client.
//
// It has one goroutine, that of the request. The outbox, the timer of the
// credential and the watch of revocations only send it a signal through
// channels of one element, and it looks for itself what there is to do. So
// nothing is sent after the stream has ended, and nothing blocks for it.
type eventStream struct {
	out    *outbox.Outbox
	wake   <-chan struct{} // out has something
	client *peer.Writer
	slow   func(error) // counts that the client did not take what it was sent

	keepAlive func() []byte // what is sent in a time of silence; nil: eventKeepAlive

	check chan struct{} // has one element when the credential is to be looked at again
	timer *time.Timer   // for that, nil for never
}

// run returns when the stream has ended. A keep-alive follows a time of
// silence, so half-open connections are found by the next write that their
// network does not take.
func (es *eventStream) run(q *request) {
	idle := time.NewTicker(keepAlive)
	defer idle.Stop()
	for es.flush(q) {
		idle.Reset(keepAlive)
		if !await(q, es, es.wake, idle.C) {
			return
		}
	}
}

// await waits until due has something. It reports whether the stream goes on.
func await[T any](q *request, es *eventStream, due <-chan T, idle <-chan time.Time) bool {
	for {
		select {
		case <-due:
			return true
		case <-idle:
			event := []byte(eventKeepAlive)
			if es.keepAlive != nil {
				event = es.keepAlive()
			}
			if es.writeAll([][]byte{event}) != nil {
				return false
			}
		case <-es.check:
			if es.endsNow(q) {
				return false
			}
		case <-q.gone():
			_ = es.writeAll([][]byte{[]byte(eventDropped)}) // the stream ends either way
			return false
		case <-q.r.Context().Done():
			return false
		case <-q.s.stopping:
			return false
		}
	}
}

// endsNow ends the stream if the client's credential has ended.
func (es *eventStream) endsNow(q *request) bool {
	if !es.ended(q) {
		return false
	}
	_ = es.writeAll([][]byte{[]byte(eventRevoked)}) // the stream ends either way
	return true
}

// ended looks at the client's credential: it reports whether it has ended, and has it looked at
// again later.
func (es *eventStream) ended(q *request) bool {
	es.scheduleCheck(q)
	return q.s.auth.Ended(q.ns, q.id.credential) != nil
}

// watch has the client's credential looked at when it may have ended, until stop is
// called. The order matters: it is listed first and looked at afterwards, so a revocation
// in between is seen by one of the two.
func (es *eventStream) watch(q *request) (stop func()) {
	if !q.id.credential.CanEnd() {
		return func() {}
	}
	remove := q.s.presented.Add(es, q.id.credential)
	es.scheduleCheck(q)
	es.look() // it may have been revoked before the watch could see it here
	return func() {
		remove()
		es.timer.Stop()
	}
}

// scheduleCheck sets when the client's credential is looked at again. It can end.
func (es *eventStream) scheduleCheck(q *request) {
	if es.timer != nil {
		es.timer.Stop()
	}
	wait, _ := q.id.credential.UntilCheck(q.s.opts.Now())
	es.timer = time.AfterFunc(wait, es.look)
}

// look has the credential looked at now. Every goroutine may call it.
func (es *eventStream) look() {
	select {
	case es.check <- struct{}{}:
	default:
	}
}

// flush sends what is queued. It reports whether the stream goes on. While there
// is always more, the credential is looked at in between.
func (es *eventStream) flush(q *request) bool {
	for {
		select {
		case <-es.check:
			if es.endsNow(q) {
				return false
			}
		default:
		}
		closing := es.out.Closing() // what was queued before that is still sent
		events := es.out.Take(writeChunk)
		if len(events) > 0 {
			if es.writeAll(events) != nil {
				return false
			}
			continue
		}
		if errors.Is(closing, fault.ErrTooBig) {
			_ = es.writeAll([][]byte{eventTooBig(closing)})
		}
		return closing == nil
	}
}

// writeAll sends events and does not keep any of them back.
func (es *eventStream) writeAll(events [][]byte) error {
	for _, event := range events {
		if _, err := es.client.Write(event); err != nil {
			es.slow(err)
			return err
		}
	}
	err := es.client.Flush()
	es.slow(err)
	return err
}
