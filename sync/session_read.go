package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// maxHashed is the largest view whose hash is compared with the client's. A
// larger one is sent, which is always correct (protocol §8.1).
const maxHashed = 4 << 20

// A viewSpec is the part of a listen or get that outlives the request. It keeps
// none of the message's text in memory, which may be far larger. Strings are
// cloned for that reason.
type viewSpec struct {
	id    int64
	path  tree.Path
	query tree.Query
	raw   string // the query as it was sent, "" for none
	tag   int64
	hash  string // of what the client has, "" for nothing

	since   string // position up to which the client has the view, "" for none
	changes bool   // only what happens from now on
	notify  bool   // only names of children

	compound string // compound hash of what the client has, "" for none
}

// maxCompoundBytes bounds a compound hash. A client makes some 200 ranges of the largest value
// that is hashed here. Beyond the bound the view is sent as a whole: the hash would be many times
// as large when it is parsed, and no memory is taken for that.
const maxCompoundBytes = 2 << 20

// maxSince bounds the text of a position.
const maxSince = 64

// hashLength is the length of the hash of anything but nothing.
const hashLength = 28

func readView(r wire.Request) (v viewSpec, err error) {
	b := r.Body
	v = viewSpec{id: r.ID, raw: strings.Clone(b.Query), tag: b.Tag, changes: b.Changes, notify: r.Action == wire.ActionNotices}
	if v.path, err = readPath(b); err != nil {
		return v, err
	}
	v.path = v.path.Clone()
	if len(b.Hash) == hashLength {
		v.hash = strings.Clone(b.Hash)
	}
	if len(b.Since) <= maxSince {
		v.since = strings.Clone(b.Since)
	}
	if len(b.CompoundHash) <= maxCompoundBytes {
		v.compound = strings.Clone(b.CompoundHash)
	}
	v.query, err = query.Parse(v.raw)
	return v, err
}

// size is what v keeps in memory.
func (v viewSpec) size() int {
	return len(v.path.Clean()) + len(v.raw) + len(v.hash) + len(v.since) + len(v.compound) + query.Size(v.query)
}

// read is what the rules decide about.
func (v viewSpec) read(c Caller) Read {
	return Read{Caller: c, Path: v.path, Query: v.query, Plain: v.raw == "" || v.raw == "{}", Realtime: true}
}

// listen begins to follow a view (protocol §5). The view itself is read
// when it is its turn to be sent, and the reply follows it.
//
// The order matters: the listener joins its group first and reads its view
// later. So it cannot miss a write in between; events that are older than its
// view are not queued, because it resumes under the lock at the moment that its
// snapshot begins.
func (s *Session) listen(ctx context.Context, r wire.Request) error {
	v, err := readView(r)
	if err != nil {
		return err
	}
	key := listenKey{v.path, v.tag}
	s.stop(key)
	read := v.read(s.as())
	read.Quota, read.Notify = s.quota, v.notify
	path, raw, id := v.path, v.raw, v.id // not v, which holds what is of no use after the first view
	// The listen counts for its filter, also while its view waits to be sent.
	l := &listen{key: key, size: len(path.Clean()) + len(raw) + query.Size(v.query)}
	l.Listener = s.db.audience.NewListener(read, s.out, v.tag, func(why error) { cancelled(s, l, id, raw, why) })
	if err := s.roomFor(l); err != nil {
		return err
	}
	if err = l.Attach(ctx); err == nil {
		if err = s.fits(l); err != nil { // it weighs more than was known before
			l.Close()
		}
	}
	if err != nil && l.answered.Swap(true) {
		return nil // it was cancelled in between
	}
	if err != nil {
		return err
	}
	s.listens.add(l)
	s.listening += l.size
	s.countWindow(l, 1)
	if r.Body.Placed && s.placing.Load() == nil {
		tellPositions(s)
	}
	l.Show(v.size()-query.Size(v.query), func() [][]byte { return s.firstView(l, v) })
	return nil
}

// tellPositions begins to tell the client its positions, if the database has any.
func tellPositions(s *Session) {
	if p := s.db.audience.Place(s.as(), s.db.options.Now); p != nil {
		s.placing.Store(p)
		s.out.Mark(p.Next)
	}
}

// cancelled tells the client that its listen has ended, and why unless it is that permission
// was lost. If the view was not sent yet, that is the answer to the listen. With an ok in its
// place, the SDKs would take it that there is nothing.
func cancelled(s *Session, l *listen, id int64, query string, why error) {
	if !l.answered.Swap(true) {
		s.reply(s.failure(id, why))
		return
	}
	var queries []string
	if query != "" {
		queries = []string{query}
	}
	limit := (*fault.LimitError)(nil)
	if errors.As(why, &limit) {
		s.reached(limit.Bound)
	}
	if limit == nil && !errors.As(why, new(*fault.UnboundedError)) && !errors.As(why, new(*tree.LooksError)) {
		s.reply(wire.AppendCancel(nil, l.key.path.Clean(), queries))
		return
	}
	status, text := fault.Status(why)
	s.reply(wire.AppendCancelBecause(nil, l.key.path.Clean(), queries, status, text))
}

// has reports whether the client already has the view n. The JS SDK leaves the
// priority of the listened place out of filtered views.
func (v viewSpec) has(n tree.Node) bool {
	if v.hash == "" || len(n.Text()) > maxHashed {
		return false
	}
	return n.MatchesHash(v.hash) || !v.query.IsAll() && n.WithPriority(tree.Empty).MatchesHash(v.hash)
}

// firstView returns the answer to a listen: the view, unless the client has it,
// and then the reply.
//
// It runs on the goroutine that sends, long after the request. The listen may
// have ended, or the client may have another identity by then.
func (s *Session) firstView(l *listen, v viewSpec) [][]byte {
	placing := s.placing.Load()
	pushes, whole, err := v.pushes(l.Listener, placing)
	if err != nil {
		return s.unseen(l, v.id, err)
	}
	if l.answered.Swap(true) { // meanwhile
		return nil
	}
	data := wire.DataNone
	if !v.query.IsAll() && !s.db.access.Declared(s.db.Rules(), v.path, v.query) {
		data = wire.DataNoIndex
	}
	placing.Answered()
	if !v.changes && !v.notify {
		l.Sent(whole)
	}
	return append(pushes, wire.AppendOK(nil, v.id, data))
}

// unseen returns the answer to a listen whose view could not be read. One that was cancelled has its
// answer. One that ends with its connection gets none: the client listens again where it comes back.
func (s *Session) unseen(l *listen, id int64, err error) [][]byte {
	gone := errors.Is(err, audience.ErrGone)
	if !gone {
		l.Close()
	}
	switch {
	case l.answered.Swap(true), gone && s.out.Closing() != nil:
		return nil
	case gone: // the client has ended it
		return [][]byte{wire.AppendOK(nil, id, wire.DataNone)}
	case errors.Is(err, fault.ErrBusy):
		s.out.Shut(err)
		return nil
	case s.leaves(err):
		return nil
	}
	return [][]byte{s.failure(id, err)}
}

// pushes begins to follow a view, and returns the pushes of what the client lacks of it, and whether
// that is all of it.
func (v viewSpec) pushes(l *audience.Listener, p *audience.Placing) (list [][]byte, whole bool, err error) {
	from, placed := p.Read(v.since)
	switch {
	case v.changes:
		return nil, false, l.Begin()
	case v.notify:
		notice, err := l.NoticeOfAll()
		return [][]byte{notice}, false, err
	case !placed && v.hash == "" && v.compound == "":
		n, err := l.View()
		return [][]byte{l.Push(n)}, true, err
	}
	s, err := l.ViewSince(from)
	switch {
	case err != nil:
		return nil, false, err
	case s.Known:
		return [][]byte{s.Push}, false, nil
	case s.Sure && s.Push == nil && v.has(s.Node):
		return nil, false, nil
	case s.Sure && len(s.Push) <= len(s.Node.Text()):
		// Ranges come first: SDKs whose copy is not complete make it so with these, and leave out
		// what comes before.
		if merges := v.pushMerges(s.Node); merges != nil {
			return [][]byte{merges, s.Push}, false, nil
		}
	}
	return [][]byte{l.Push(s.Node)}, true, nil
}

// readPath reads the path of a request that needs one.
func readPath(b wire.Body) (tree.Path, error) {
	if !b.HasPath {
		return tree.Root, fmt.Errorf("%w: no path", fault.ErrMalformed)
	}
	return tree.ParsePath(b.Path)
}

// stop ends a listen of this session, if there is one.
func (s *sessionListens) stop(key listenKey) {
	if l := s.listens.at(key); l != nil {
		l.Close()
		s.forgetListen(l)
	}
}

func (s *sessionListens) forgetListen(l *listen) {
	s.listening -= l.size
	s.countWindow(l, -1)
	s.listens.remove(l)
}

// roomFor returns a *LimitError if the session may not have one more listen. Listens that
// have ended by themselves are only forgotten when they would be in the way. To forget
// them at once would need a lock, since they are ended by the committer.
func (s *sessionListens) roomFor(l *listen) error {
	err := s.fits(l)
	if err == nil {
		return nil
	}
	for have := range s.listens.all() {
		if have.Ended() {
			s.forgetListen(have)
		}
	}
	return s.fits(l)
}

func (s *sessionListens) fits(l *listen) error {
	switch {
	case s.listens.size() >= maxListens, s.listening+l.size > maxListenBytes:
		return &fault.LimitError{Bound: fault.BoundListens}
	case s.windows[l.key.path]+l.Weight() > maxWindows:
		return &fault.LimitError{Bound: fault.BoundWindows}
	}
	return nil
}

// countWindow adds n windows like that of l to those of the session.
func (s *sessionListens) countWindow(l *listen, n int) {
	w := l.Weight()
	if w == 0 {
		return
	}
	if s.windows == nil {
		s.windows = make(map[tree.Path]int)
	}
	if s.windows[l.key.path] += n * w; s.windows[l.key.path] == 0 {
		delete(s.windows, l.key.path)
	}
}

func (s *Session) unlisten(r wire.Request) error {
	p, err := readPath(r.Body)
	if err != nil {
		return err
	}
	s.stop(listenKey{p, r.Body.Tag})
	s.ok(r.ID, "")
	return nil
}

// get answers a one-shot read. It sees the earlier writes of its session. Its
// answer is made when it is its turn to be sent.
func (s *Session) get(ctx context.Context, r wire.Request) error {
	v, err := readView(r)
	if err != nil {
		return err
	}
	conditional := r.Body.HasHash
	answerRead(s, &v, func(read Read) ([]byte, error) {
		n, err := s.db.Get(ctx, read)
		if err != nil {
			return nil, err
		}
		if v.query.IsAll() {
			outbox.Overtake(s.out, v.path)
		}
		if conditional {
			return v.gotIf(n), nil
		}
		return wire.AppendOK(nil, v.id, n.JSON()), nil
	})
	return nil
}

// gotIf is the answer to a get with a hash, an extension. The value is inside of
// another object, or it could look like the answer that it is still the same.
func (v viewSpec) gotIf(n tree.Node) []byte {
	if v.has(n) {
		return wire.AppendOK(nil, v.id, wire.GotSame)
	}
	data := append(make([]byte, 0, len(n.Text())+len(`{"v":null}`)), `{"v":`...)
	return wire.AppendOK(nil, v.id, append(append(data, n.JSON()...), '}'))
}

// pushMerges returns the push that turns the view a client has into n, given
// the compound hash of what it has: only the ranges that differ are sent
// (protocol §8.3). It returns nil if the client sent no compound hash, or one
// that makes no sense; the whole view is right then. Both sides hash ranges of
// the value; only those with another hash are sent. It saves bytes on the
// network and costs the server the hash of the whole value, so it is bounded by
// maxHashed.
func (v viewSpec) pushMerges(n tree.Node) []byte {
	compound := v.compound
	if compound == "" || len(n.Text()) > maxHashed {
		return nil
	}
	merges, err := n.RangeDiff(texts(compound, "ps"), texts(compound, "hs"))
	if err != nil || len(merges) == 0 { // none: only what compound hashes leave out differs
		return nil
	}
	data := []byte{'['}
	for i, m := range merges {
		if i > 0 {
			data = append(data, ',')
		}
		data = appendMerge(data, m)
	}
	data = append(data, ']')
	return wire.AppendPush(nil, wire.PushRangeMerge, v.path.Clean(), data, v.tag)
}

// texts returns the strings in a member of a compound hash. Of more than there may be, it returns
// so many that they are refused.
func texts(object, name string) (list []string) {
	if v := gjson.Get(object, name); v.IsArray() {
		v.ForEach(func(_, text gjson.Result) bool {
			list = append(list, text.String())
			return len(list) < tree.MaxPosts+2
		})
	}
	return list
}

func appendMerge(dst []byte, m tree.RangeMerge) []byte {
	dst = append(dst, '{')
	if m.HasStart {
		dst = append(wire.AppendString(append(dst, `"s":`...), m.Start), ',')
	}
	if m.HasEnd {
		dst = append(wire.AppendString(append(dst, `"e":`...), m.End), ',')
	}
	dst = append(append(dst, `"m":`...), m.Value.JSON()...)
	return append(dst, '}')
}

// errCountLimit is the error of a count that has a limit.
var errCountLimit = fmt.Errorf("%w: a count has no limit", fault.ErrQuery)

// count answers with the number of children that a get would show. Like that it sees
// the earlier writes of its session.
func (s *Session) count(ctx context.Context, r wire.Request) error {
	v, err := readView(r)
	if err == nil && v.query.Limit > 0 {
		err = errCountLimit
	}
	if err != nil {
		return err
	}
	answerRead(s, &v, func(read Read) ([]byte, error) {
		n, err := s.db.Count(ctx, read)
		return wire.AppendOK(nil, v.id, fmt.Sprintf(`{"n":%d}`, n)), err
	})
	return nil
}

// waitingRead is what a read takes until its answer is made, but for its texts: a viewSpec and the
// functions that answer it.
const waitingRead = 320

// answerRead has a read answered by f when it is its turn to be sent. f may keep v, too.
func answerRead(s *Session, v *viewSpec, f func(Read) (reply []byte, err error)) {
	s.out.PushRead(waitingRead+v.size(), func() [][]byte {
		read := v.read(s.as())
		read.OneShot, read.Hold = true, s.out.Hold
		read.Brief, read.Again = s.out.Attempt()
		reply, err := f(read)
		switch {
		case errors.Is(err, fault.ErrLong):
			s.out.PutOff()
			return nil
		case err != nil:
			return [][]byte{s.failure(v.id, err)}
		}
		return [][]byte{reply}
	})
}

// list answers with a page that describes the children that a query selects.
func list(ctx context.Context, s *Session, r wire.Request) error {
	v, err := readView(r)
	if err == nil && v.query.Limit > MaxPage {
		err = fmt.Errorf("%w: a page has at most %d children", fault.ErrQuery, MaxPage)
	}
	if err != nil {
		return err
	}
	if v.raw == "" || v.raw == "{}" {
		v.query.OrderBy = tree.ByKey
	}
	descending := r.Body.Descend
	answerRead(s, &v, func(read Read) ([]byte, error) {
		page, err := Children(ctx, s.db, read, descending)
		if err != nil {
			return nil, err
		}
		return wire.AppendOK(nil, v.id, page.AppendJSON(nil)), nil
	})
	return nil
}
