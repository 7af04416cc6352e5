package sync

import (
	"context"
	"errors"
	"slices"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Handle carries out one request. It waits while the client's writes pile up, until ctx
// ends. Then the client is leaving: a request that was given up is not answered, so that the
// client asks again where it comes back.
//
// It does not wait for room in the outbox. The transport does that before (outbox.Wait), if
// something else than this request empties the outbox: a client that does not take its replies gets no
// further request read, so its own reading bounds what it can make the server hold.
func (s *Session) Handle(ctx context.Context, r wire.Request) {
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
	case wire.ActionListen, wire.ActionListenOld, wire.ActionNotices:
		return s.listen(ctx, r)
	case wire.ActionUnlisten, wire.ActionUnlistenOld:
		return s.unlisten(r)
	case wire.ActionGet:
		return s.get(ctx, r)
	case wire.ActionGetAll:
		return s.getAll(ctx, r)
	case wire.ActionCount:
		return s.count(ctx, r)
	case wire.ActionList:
		return list(ctx, s, r)
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
	case wire.ActionListen, wire.ActionListenOld, wire.ActionNotices, wire.ActionGet, wire.ActionGetAll, wire.ActionCount, wire.ActionList, wire.ActionExplain:
		return true
	}
	return false
}

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
	s.chargeFor(len(c.Token) / chargedToken)
	caller, info, err := s.signIn(ctx, c)
	if err != nil {
		return err
	}
	s.become(caller)
	s.signedIn, s.proof = true, info.Proof
	data := info.Data
	if data == "" {
		data = wire.DataNone
	}
	s.ok(r.ID, data)
	return nil
}

// chargedToken is how many bytes of a token cost as much as a message. Tokens of usual length
// are shorter; one of 64 KiB that is made for it takes a millisecond to be parsed.
const chargedToken = 4 << 10

// become changes who the client is and ends the listens that the new identity does not
// allow. When it returns, nothing that the identity may not read is queued any more. It
// blocks the requests of this client, not those of others.
func (s *Session) become(c Caller) {
	c.Origin = s.origin
	s.caller.Store(&c)
	s.placing.Load().Become(c)
	listeners := slices.Collect(s.listeners())
	s.chargeFor(len(listeners) / decidedAtOnce)
	s.db.audience.Become(s.db.audience.TurnFor(s.out), listeners, c)
}

// decidedAtOnce is how many listens of a client that signs in or out cost as much as a message.
const decidedAtOnce = 16

func (s *Session) signOut() {
	s.signedIn, s.proof = false, ""
	s.become(Caller{})
}

// Expire signs the client out because its credential is no longer good, and
// tells it why. The client hears that before its listens are cancelled: it then
// connects again with a fresh token and keeps them (protocol §9). Expire
// must not be called while Handle runs. It does nothing to who is signed out.
func (s *Session) Expire(why *fault.TokenError) {
	if !s.signedIn {
		return
	}
	s.reply(wire.AppendAuthRevoked(nil, why.Status, why.Text))
	s.signOut()
}

// Close ends the session: its listens end, and what it left for its disconnect
// is carried out. It returns when that is on disk. The Outbox stays open: the
// last replies can still be sent.
//
// The order is that of the client's own requests: when its listens have ended,
// its writes that are on their way are answered or fail, and then the
// operations for the disconnect are carried out. An operation must not overtake
// a write that was sent before.
func (s *Session) Close() {
	s.db.watchers.Tell(trace.Operation{Name: trace.OpDisconnect})
	s.out.Mark(nil) // what is written from now on is not sent
	outbox.Leave(s.out)
	for l := range s.listens.all() {
		l.answered.Store(true) // one whose view was not sent has no answer
	}
	s.db.audience.End(s.listeners())
	s.listens = listenSet{}
	clear(s.windows)
	s.listening = 0
	s.waitAcked(context.Background(), 0)
	if err := s.db.runDisconnect(s); err != nil && !errors.Is(err, fault.ErrClosed) {
		s.db.log.Error("onDisconnect failed", "connection", s.name, "err", err)
	}
}
