package sync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/internal/fifo"
	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of one session.
const (
	maxListens     = 10_000   // listens at a time
	maxListenBytes = 16 << 20 // of their paths and queries
	maxUnacked     = 1024     // writes on their way at a time
	maxUnackedSize = 16 << 20 // of the messages that they came with, beside the last one
)

// SessionOptions describe a new session.
type SessionOptions struct {
	ID     string         // its id, unique among all sessions of the database ever; a secret of the client
	Name   string         // what logs call it
	Out    *outbox.Outbox // where replies and pushes go
	Quota  *Quota         // that it counts in; nil: none
	Memory outbox.Memory  // that its writes take; nil: without a bound

	// Pending is what bounds the bytes that it leaves for its disconnect; nil: without a bound.
	Pending *limit.Share

	SignIn func(ctx context.Context, c Credential) (Caller, SignInInfo, error)

	// Limited is called when an operation reached a bound. It must not
	// block. nil: nobody wants to know.
	Limited func(Bound)

	// Charge is called when a request did more than one: with how many more. It must
	// not block. nil: nobody wants to know.
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
	Data string // raw JSON of the reply
}

// A TokenError is the refusal of a credential, in the words of the protocol.
type TokenError struct{ Status, Text string }

func (e *TokenError) Error() string { return e.Text }

// A Session is the protocol state of one client: requests go in, one at a time
// and in order; replies and pushes come out of its Outbox. It owns no socket,
// no goroutine and no timer.
type Session struct {
	sessionListens
	onTheWay

	db       *Database
	id       string
	name     string
	out      *outbox.Outbox
	origin   *rules.Origin
	signIn   func(context.Context, Credential) (Caller, SignInInfo, error)
	caller   atomic.Pointer[Caller] // with origin; answers are made by other goroutines
	signedIn bool                   // as caller

	quota        *Quota
	pendingBytes *limit.Share // of onDisconnect operations; nil: without a bound
	memory       outbox.Memory
	reserved     int64 // of it, by the request that is handled
	limited      func(Bound)
	charge       func(more int)

	pending pendingWrites // the committer's, once the session has begun and until it is closed
	late    int           // of its operations for the disconnect, those that wait for the store to work; the committer's
	line    line          // the queue's
}

// onTheWay are the writes of a session that were sent and not answered yet.
type onTheWay struct {
	mu      sync.Mutex
	acked   sync.Cond // unacked went down
	unacked int
	size    int // of their messages
}

// sessionListens are the listens of a session.
type sessionListens struct {
	listens   map[listenKey]*Listener // some of them may have ended by themselves
	listening int                     // their size
	windows   map[tree.Path]int       // weight of their queries, by path
}

// A listenKey identifies a listen of a connection (protocol §5.1).
type listenKey struct {
	path tree.Path
	tag  int64
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
	s.listens = make(map[listenKey]*Listener)
	s.acked.L = &s.mu
	d.report(Operation{Name: OpConnect})
	return s
}

// as returns who the client is now. An answer that is made when it is its turn to be sent
// asks then, since the client may have been signed out meanwhile.
func (s *Session) as() Caller { return *s.caller.Load() }

// sender says as whose the tasks of a session are queued. The session of a task is nil
// in tests and of an earlier run.
func (s *Session) sender() (*Quota, *line) {
	if s == nil {
		return nil, nil
	}
	return s.quota, &s.line
}

// Handle carries out one request. It waits while the client's replies or writes
// pile up, until ctx ends. Then the client is leaving: a request that was given up is
// not answered, so that the client asks again where it comes back.
func (s *Session) Handle(ctx context.Context, r wire.Request) {
	if s.out.Wait(ctx) != nil {
		return
	}
	if err := s.handle(ctx, r); err != nil && ctx.Err() == nil {
		s.fail(r.ID, err)
	}
	s.release(s.takeReserved())
}

// handle answers the request or returns why it failed.
func (s *Session) handle(ctx context.Context, r wire.Request) error {
	if reads(r.Action) {
		// What a client has written is there for it, and for the rules of what it reads
		// next, as if each request had been carried out before the next one came.
		if err := s.waitAcked(ctx, 0); err != nil {
			return err
		}
	}
	switch r.Action {
	case wire.ActionListen, wire.ActionListenOld:
		return s.listen(ctx, r)
	case wire.ActionUnlisten, wire.ActionUnlistenOld:
		return s.unlisten(r)
	case wire.ActionGet:
		return s.get(ctx, r)
	case wire.ActionGetAll:
		return s.getAll(ctx, r)
	case wire.ActionCount:
		return s.count(ctx, r)
	case wire.ActionExplain:
		return s.explain(ctx, r)
	case wire.ActionPut:
		return s.put(ctx, r)
	case wire.ActionMerge:
		return s.merge(ctx, r)
	case wire.ActionDisconnectPut, wire.ActionDisconnectMerge, wire.ActionDisconnectStop:
		return s.onDisconnect(ctx, r)
	case wire.ActionAuth, wire.ActionAdminAuth:
		return s.authenticate(ctx, r)
	case wire.ActionUnauth:
		s.signOut()
		s.ok(r.ID, "")
		return nil
	case wire.ActionStats, wire.ActionAppCheck, wire.ActionUnAppCheck, wire.ActionUnAppCheckJS:
		s.ok(r.ID, "")
		return nil
	}
	s.reply(wire.AppendError(nil, r.ID, wire.StatusError, wire.TextUnknownAction))
	return nil
}

// reads reports whether the answer to an action depends on what is stored.
func reads(action string) bool {
	switch action {
	case wire.ActionListen, wire.ActionListenOld, wire.ActionGet, wire.ActionGetAll, wire.ActionCount, wire.ActionExplain:
		return true
	}
	return false
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
	failed := errors.Is(err, ErrUnknown) || errors.Is(err, ErrFailed)
	if failed {
		s.out.Shut(err)
	}
	return failed
}

// failure is the one place where an error becomes a status of the protocol
// (protocol §13).
func (s *Session) failure(id int64, err error) []byte {
	var token *TokenError
	if errors.As(err, &token) {
		return wire.AppendError(nil, id, token.Status, token.Text)
	}
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		s.reached(limit.Bound)
	}
	status, text := statusOf(err)
	if cause := store.NoRoomCause(err); cause != "" && s.as().Admin {
		text += " " + cause
	}
	if denied := (*DeniedError)(nil); errors.As(err, &denied) && denied.Rule != "" {
		return wire.AppendDenied(nil, id, status, text, denied.Rule)
	}
	if status == wire.StatusFailed && text == textInternal {
		s.db.log.Error("request failed", "connection", s.name, "err", err)
	}
	return wire.AppendError(nil, id, status, text)
}

// errMalformed is the class of errors of requests that lack what they need.
var errMalformed = errors.New("malformed request")

// authenticate signs the client in (protocol §9).
func (s *Session) authenticate(ctx context.Context, r wire.Request) error {
	c := Credential{
		Token:  r.Body.Cred,
		Admin:  r.Action == wire.ActionAdminAuth,
		NoAuth: r.Body.NoAuth,
	}
	if r.Body.HasAuthVar {
		c.AuthVar = r.Body.AuthVar
	}
	caller, info, err := s.signIn(ctx, c)
	if err != nil {
		return err
	}
	s.become(caller)
	s.signedIn = true
	data := info.Data
	if data == "" {
		data = wire.DataNone
	}
	s.ok(r.ID, data)
	return nil
}

// become changes who the client is and ends the listens that the new identity
// does not allow. When it returns, nothing that the identity may not read is queued any
// more.
func (s *Session) become(c Caller) {
	c.Origin = s.origin
	s.caller.Store(&c)
	listeners := slices.Collect(maps.Values(s.listens))
	listeners = slices.DeleteFunc(listeners, func(l *Listener) bool { return l.shown.Ended() })
	s.db.become(s.db.turnFor(s.out), listeners, c)
}

func (s *Session) signOut() {
	s.signedIn = false
	s.become(Caller{})
}

// Expire signs the client out because its credential is no longer good, and
// tells it why. The client hears that before its listens are cancelled: it then
// connects again with a fresh token and keeps them (protocol §9). Expire
// must not be called while Handle runs. It does nothing to who is signed out.
func (s *Session) Expire(why *TokenError) {
	if !s.signedIn {
		return
	}
	s.reply(wire.AppendAuthRevoked(nil, why.Status, why.Text))
	s.signOut()
}

// Disown drops what the session left for its disconnect, because the credential
// that it did so with was revoked. It returns when that is on disk. Like Expire it
// must not be called while Handle runs.
func (s *Session) Disown() {
	done := make(chan error, 1)
	t := &registerTask{session: s, cancel: new(tree.Target), done: func(err error) { done <- err }}
	err := s.db.add(context.Background(), t)
	if err == nil {
		err = <-done
	}
	if err != nil && !errors.Is(err, ErrClosed) {
		s.db.log.Error("onDisconnect of a revoked credential could not be dropped", "connection", s.name, "err", err)
	}
}

// Close ends the session: its listens end, and what it left for its disconnect
// is carried out. It returns when that is on disk. The Outbox stays open: the
// last replies can still be sent.
func (s *Session) Close() {
	s.db.report(Operation{Name: OpDisconnect})
	s.db.end(maps.Values(s.listens))
	clear(s.listens)
	clear(s.windows)
	s.listening = 0
	s.waitAcked(context.Background(), 0)
	if err := s.db.runDisconnect(s); err != nil && !errors.Is(err, ErrClosed) {
		s.db.log.Error("onDisconnect failed", "connection", s.name, "err", err)
	}
}

// reached says that an operation reached a bound.
func (s *Session) reached(b Bound) {
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
	s.reached(BoundWrites)
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

// sent counts a task on its way, which came with a message of size bytes and has
// reserved memory, and returns what to call when it is done. answer returns the data of
// the answer.
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
