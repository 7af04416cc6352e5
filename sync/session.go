package sync

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/internal/fifo"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of one session.
const (
	maxWindows     = 400      // weight of the queries at one path; see BenchmarkManyWindows
	maxListens     = 10_000   // listens at a time
	maxListenBytes = 16 << 20 // of their paths, queries and compiled filters
	maxUnacked     = 1024     // writes on their way at a time
	maxUnackedSize = 16 << 20 // of the messages that they came with, beside the last one
)

// SessionOptions describe a new session.
type SessionOptions struct {
	ID     string         // its id, unique among all sessions of the database ever; a secret of the client
	Name   string         // what logs call it
	Out    *outbox.Outbox // where replies and pushes go
	Quota  *quota.Quota   // that it counts in; nil: none
	Memory outbox.Memory  // that its writes take; nil: without a bound

	// Pending is what bounds the bytes that it leaves for its disconnect; nil: without a bound.
	Pending *limit.Share

	SignIn func(ctx context.Context, c Credential) (Caller, SignInInfo, error)

	// Limited is called when an operation reached a bound. It must not
	// block. nil: there are no watchers.
	Limited func(fault.Bound)

	// Charge is called when a request did more than one: with how many more. It must
	// not block. nil: there are no watchers.
	Charge func(more int)
}

// A Credential is what a client presents to sign in (protocol §9).
type Credential struct {
	Token   string
	Admin   bool   // presented by gauth: an access token, a secret or "owner"
	AuthVar string // raw JSON of the auth variable to act under; "" for none
	NoAuth  bool   // act as signed out
}

// SignInInfo tells more about a successful sign-in.
type SignInInfo struct {
	Data  string // raw JSON of the reply
	Proof string // by which Options.Revoked knows the credential; "": it cannot be revoked
}

// A Session is the protocol state of one client: requests go in, one at a time
// and in order; replies and pushes come out of its Outbox. It owns no socket,
// no goroutine and no timer.
//
// Three goroutines meet here. The connection calls Handle, Expire and Close, one
// at a time; these own the listens and the flags. The committer owns
// pending and late, and calls the done functions of writes. The outbox makes
// answers to reads on the goroutine that sends, which is why the caller is
// atomic. onTheWay has its own lock, since the first two both count there.
//
// An answer that is made when it is sent is not an optimization alone: a client
// that asks for a thousand large values costs one of them at a time, and an
// identity that was lost meanwhile gets nothing.
type Session struct {
	sessionListens
	onTheWay

	db       *Database
	id       string
	name     string
	out      *outbox.Outbox
	placing  atomic.Pointer[audience.Placing] // nil: the client does not ask for its positions
	origin   *rules.Origin
	signIn   func(context.Context, Credential) (Caller, SignInInfo, error)
	caller   atomic.Pointer[Caller] // with origin; answers are made by other goroutines
	signedIn bool                   // as caller
	proof    string                 // of the credential of caller; "": it cannot be revoked

	quota        *quota.Quota
	pendingBytes *limit.Share // of onDisconnect operations; nil: without a bound
	memory       outbox.Memory
	reserved     int64 // of it, by the request that is handled
	limited      func(fault.Bound)
	charge       func(more int)

	pending pending.Writes // the committer's, once the session has begun and until it is closed
	late    int            // of its operations for the disconnect, those that wait for the store to work; the committer's
	ending  atomic.Int32   // these operations, until each is done or given up, and runDisconnect
	line    line           // the queue's
}

// onTheWay are the writes of a session that were sent and not answered yet.
//
// It is the backpressure of a session: beyond maxUnacked writes or
// maxUnackedSize bytes its next request waits, its socket is not read, and the
// client's own sending stops. A read waits until it is empty, so a client sees
// its own writes.
type onTheWay struct {
	mu      sync.Mutex
	acked   sync.Cond // unacked went down
	unacked int
	size    int // of their messages
}

// sessionListens are the listens of a session.
type sessionListens struct {
	listens   listenSet         // some of them may have ended by themselves
	listening int               // their size
	windows   map[tree.Path]int // weight of their queries, by path
}

// A listen is a listener with what it counts for in its session.
type listen struct {
	*audience.Listener
	key      listenKey
	size     int
	answered atomic.Bool // the request, or it is not to be
}

// A listenKey identifies a listen of a connection (protocol §5.1).
type listenKey struct {
	path tree.Path
	tag  int64
}

// A listenSet is the listens of a session by their keys. Most sessions of many have one, for
// which a map would be large.
type listenSet struct {
	one  *listen // nil: none, or all are in more
	more map[listenKey]*listen
}

func (s *listenSet) size() int {
	if s.one != nil {
		return 1
	}
	return len(s.more)
}

// at returns a listen, nil if there is none.
func (s *listenSet) at(key listenKey) *listen {
	if s.one != nil && s.one.key == key {
		return s.one
	}
	return s.more[key]
}

// add adds a listen with a key that no other has.
func (s *listenSet) add(l *listen) {
	if s.size() == 0 && s.more == nil {
		s.one = l
		return
	}
	if s.more == nil {
		s.more = map[listenKey]*listen{s.one.key: s.one}
		s.one = nil
	}
	s.more[l.key] = l
}

// remove removes a listen, which may be done while all yields it.
func (s *listenSet) remove(l *listen) {
	if s.one == l {
		s.one = nil
		return
	}
	delete(s.more, l.key)
}

func (s *listenSet) all() iter.Seq[*listen] {
	if s.one == nil {
		return maps.Values(s.more)
	}
	return func(yield func(*listen) bool) { yield(s.one) }
}

// NewSession begins a session.
func (d *Database) NewSession(o SessionOptions) *Session {
	origin := &rules.Origin{Connection: o.Name}
	s := &Session{
		db:           d,
		id:           o.ID,
		name:         o.Name,
		origin:       origin,
		out:          o.Out,
		signIn:       o.SignIn,
		quota:        o.Quota,
		pendingBytes: o.Pending,
		memory:       o.Memory,
		limited:      o.Limited,
		charge:       o.Charge,
	}
	s.caller.Store(&Caller{Origin: origin})
	s.acked.L = &s.mu
	d.watchers.Tell(trace.Operation{Name: trace.OpConnect})
	return s
}

// as returns who the client is now. An answer that is made when it is its turn to be sent
// asks then, since the client may have been signed out meanwhile.
func (s *Session) as() Caller { return *s.caller.Load() }

// sender says as whose the tasks of a session are queued. The session of a task is nil
// in tests and of an earlier run.
func (s *Session) sender() (*quota.Quota, *line) {
	if s == nil {
		return nil, nil
	}
	return s.quota, &s.line
}

func (s *Session) reply(msg []byte) { s.out.PushFrame(msg) }

func (s *Session) ok(id int64, data string) { s.reply(wire.AppendOK(nil, id, data)) }

func (s *Session) fail(id int64, err error) {
	if !s.leaves(err) {
		s.reply(s.failure(id, err))
	}
}

// leaves ends the connection if an error is of a disk that failed, and reports
// whether it is. A request that is not answered is sent again when the client is back.
// An answer would be a refusal, which may be wrong for a write, and ends a listen.
func (s *Session) leaves(err error) bool {
	failed := errors.Is(err, fault.ErrUnknown) || errors.Is(err, fault.ErrFailed)
	if failed {
		s.out.Shut(err)
	}
	return failed
}

// failure is the one place where an error becomes a status of the protocol
// (protocol §13).
func (s *Session) failure(id int64, err error) []byte {
	var token *fault.TokenError
	if errors.As(err, &token) {
		return wire.AppendError(nil, id, token.Status, token.Text)
	}
	if limit := (*fault.LimitError)(nil); errors.As(err, &limit) {
		s.reached(limit.Bound)
	}
	status, text := fault.Status(err)
	if cause := store.NoRoomCause(err); cause != "" && s.as().Admin {
		text += " " + cause
	}
	if denied := (*fault.DeniedError)(nil); errors.As(err, &denied) && denied.Rule != "" {
		return wire.AppendDenied(nil, id, status, text, denied.Rule)
	}
	if name := fault.Definition(err); name != "" {
		return wire.AppendRefused(nil, id, status, text, name)
	}
	if status == wire.StatusFailed && text == fault.TextInternal {
		s.db.log.Error("request failed", "connection", s.name, "err", err)
	}
	return wire.AppendError(nil, id, status, text)
}

// listeners yields the listens that go on.
func (s *sessionListens) listeners() iter.Seq[*audience.Listener] {
	return func(yield func(*audience.Listener) bool) {
		for l := range s.listens.all() {
			if !l.Ended() && !yield(l.Listener) {
				return
			}
		}
	}
}

// reached says that an operation reached a bound.
func (s *Session) reached(b fault.Bound) {
	if s.limited != nil {
		s.limited(b)
	}
}

// waitRoom waits until another write may be on its way.
func (s *Session) waitRoom(ctx context.Context) error {
	s.mu.Lock()
	full := s.unacked >= maxUnacked || s.size > maxUnackedSize
	s.mu.Unlock()
	if !full {
		return nil
	}
	s.reached(fault.BoundWrites)
	return s.waitAcked(ctx, maxUnacked-1)
}

// waitSmall waits until the writes of the session that are on their way came with few
// bytes, or there are none.
func (o *onTheWay) waitSmall(ctx context.Context, bytes int) error {
	o.mu.Lock()
	small := o.size <= bytes
	o.mu.Unlock()
	if small {
		return nil
	}
	return o.waitAcked(ctx, 0)
}

// waitAcked waits until at most most writes of the session are on their way, and
// not too many bytes.
func (o *onTheWay) waitAcked(ctx context.Context, most int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fifo.Wait(ctx, &o.acked, func() bool { return o.unacked <= most && o.size <= maxUnackedSize })
}

// sent counts a task on its way, which came with a message of size bytes and has reserved
// memory, and returns what to call when it is done. answer returns the data of the
// answer. The answer is queued before the memory and the place are given back, so that a
// session never has more on its way than its bounds say.
func (s *Session) sent(id int64, size int, reserved int64, answer func() []byte) (done func(error)) {
	s.begin(size)
	return func(err error) {
		if err != nil {
			s.fail(id, err)
		} else {
			s.reply(wire.AppendOK(nil, id, answer()))
		}
		s.release(reserved)
		s.forget(size)
	}
}

func (o *onTheWay) begin(size int) {
	o.mu.Lock()
	o.unacked++
	o.size += size
	o.mu.Unlock()
}

func (o *onTheWay) forget(size int) {
	o.mu.Lock()
	o.unacked--
	o.size -= size
	o.acked.Broadcast()
	o.mu.Unlock()
}

// takePending counts n more bytes of onDisconnect operations of the session, if there may be
// as many. There may always be fewer. The error is a *LimitError.
func (s *Session) takePending(n int) error {
	if s.pendingBytes == nil {
		return nil
	}
	if n <= 0 {
		s.pendingBytes.Release(int64(-n))
		return nil
	}
	switch err := s.pendingBytes.Try(int64(n)); {
	case errors.Is(err, limit.ErrShare):
		return &fault.LimitError{Bound: fault.BoundQuotaPending}
	case err != nil:
		return &fault.LimitError{Bound: fault.BoundCommonPending}
	}
	return nil
}

// untakePending undoes takePending.
func (s *Session) untakePending(n int) {
	switch {
	case s.pendingBytes == nil:
	case n > 0:
		s.pendingBytes.Release(int64(n))
	default:
		s.pendingBytes.Force(int64(-n))
	}
}

func (s *Session) release(n int64) {
	if n > 0 {
		s.memory.Release(n)
	}
}
