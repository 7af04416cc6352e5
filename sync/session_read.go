package sync

import (
	"context"
	"errors"
	"fmt"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// maxHashed is the largest view whose hash is compared with the client's. A
// larger one is sent, which is always correct (wire protocol §8.1).
const maxHashed = 4 << 20

// listen begins to follow a view (wire protocol §5). The view itself is read
// when it is its turn to be sent, and the reply follows it.
func (s *Session) listen(ctx context.Context, r wire.Request) error {
	p, q, err := s.view(r.Body)
	if err != nil {
		return err
	}
	key := listenKey{p, r.Body.Tag}
	s.stop(key)
	s.dropRevoked()
	if len(s.listens) >= maxListens {
		return ErrLimit
	}
	l := &Listener{db: s.db, out: s.out, read: s.read(p, q, !r.Body.HasQuery), tag: r.Body.Tag}
	l.onRevoke = func() { s.reply(cancel(l, r.Body)) }
	if err := s.db.attach(ctx, l); err != nil {
		return err
	}
	s.listens[key] = l
	s.out.pushView(l, func(l *Listener) [][]byte { return s.firstView(l, r) })
	return nil
}

// cancel is the push that tells a client that its listen has ended.
func cancel(l *Listener, b wire.Body) []byte {
	var queries []string
	if b.HasQuery {
		queries = []string{b.Query}
	}
	return wire.AppendCancel(nil, l.read.Path.Clean(), queries)
}

// firstView returns the answer to a listen: the view, unless the client has it,
// and then the reply.
func (s *Session) firstView(l *Listener, r wire.Request) [][]byte {
	n, err := l.view()
	switch {
	case errors.Is(err, errGone):
		return [][]byte{wire.AppendOK(nil, r.ID, wire.DataNone)}
	case err != nil:
		l.Close()
		return [][]byte{s.failure(r.ID, err)}
	}
	data := wire.DataNone
	if !l.read.Query.IsAll() && !declared(s.db.Rules(), l.read.Path, l.read.Query) {
		data = wire.DataNoIndex
	}
	reply := wire.AppendOK(nil, r.ID, data)
	if len(n.Text()) <= maxHashed && r.Body.HasHash && n.MatchesHash(r.Body.Hash) && !n.IsEmpty() {
		return [][]byte{reply}
	}
	return [][]byte{l.push(n), reply}
}

// view reads the path and query of a request.
func (s *Session) view(b wire.Body) (p tree.Path, q tree.Query, err error) {
	if p, err = readPath(b); err != nil {
		return p, q, err
	}
	q, err = parseQuery(b.Query)
	return p, q, err
}

// readPath reads the path of a request that needs one.
func readPath(b wire.Body) (tree.Path, error) {
	if !b.HasPath {
		return tree.Root, fmt.Errorf("%w: no path", errMalformed)
	}
	return tree.ParsePath(b.Path)
}

// stop ends a listen of this session, if there is one.
func (s *Session) stop(key listenKey) {
	if l := s.listens[key]; l != nil {
		l.Close()
		delete(s.listens, key)
	}
}

// dropRevoked forgets listens that were revoked, when there are many to be
// counted.
func (s *Session) dropRevoked() {
	if len(s.listens) < maxListens {
		return
	}
	for key, l := range s.listens {
		if l.closed.Load() {
			delete(s.listens, key)
		}
	}
}

func (s *Session) unlisten(r wire.Request) error {
	p, err := readPath(r.Body)
	if err != nil {
		return err
	}
	s.stop(listenKey{p, r.Body.Tag})
	s.ok(r.ID, wire.DataNone)
	return nil
}

// get answers a one-shot read. It sees the earlier writes of its session. Its
// answer is made when it is its turn to be sent.
func (s *Session) get(ctx context.Context, r wire.Request) error {
	p, q, err := s.view(r.Body)
	if err != nil {
		return err
	}
	if err := s.waitAcked(ctx, 0); err != nil {
		return err
	}
	read := s.read(p, q, !r.Body.HasQuery || r.Body.Query == "{}")
	read.OneShot = true
	s.out.pushLater(func() [][]byte {
		n, err := s.db.Get(ctx, read)
		if err != nil {
			return [][]byte{s.failure(r.ID, err)}
		}
		return [][]byte{wire.AppendOK(nil, r.ID, n.JSON())}
	})
	return nil
}
