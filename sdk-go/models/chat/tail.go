package chat

import (
	"context"
	"errors"
	"iter"
	"slices"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A tail tells the messages of a room, each once. It listens to those that the server
// took since a time, and not to a window on the last ones: what was written long ago
// and comes late has a low key, and own messages that the server does not have yet push
// others out of a window. The rules see to it that the server's time is in a message.
type tail struct {
	db   *dogwood.Client
	list dogwood.Ref // the messages
	size int         // how many are told first
	most int         // how many a listener shows, about, until another takes its place

	yield   func(Message) bool // reports whether to go on
	from    int64              // all that the server took before this time, in milliseconds, is told
	told    map[string]bool    // keys, since the listener began
	earlier map[string]bool    // the same of the listener before
}

// errLeft ends a tail that is no longer followed.
var errLeft = errors.New("the loop was left")

// usualView is how many messages a listener shows until another one takes its place, from
// the last of them on. While that happens messages wait, and may come in groups then.
const usualView = 1000

// run tells messages until there is an error.
func (t *tail) run(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	l := t.listen(ctx)
	defer func() { l.stop() }()
	for fresh := 0; ; {
		shown, err := l.next()
		if err != nil {
			return err
		}
		news := t.unknown(shown)
		if err := t.tell(news...); err != nil {
			return err
		}
		if fresh += len(news); fresh <= t.most || !t.online(ctx) {
			continue
		}
		fresh = 0 // there will be another occasion, if this is none
		later, err := t.successor(ctx)
		if err != nil {
			return err
		}
		if later != nil {
			l.stop()
			l = later
		}
	}
}

// begin tells the newest messages. Those that come later are not before the one that
// the server took last.
func (t *tail) begin(ctx context.Context) error {
	newest, err := t.read(ctx, t.list.OrderByKey().LimitToLast(t.size), t.since().LimitToLast(1))
	if err != nil {
		return err
	}
	t.told = make(map[string]bool)
	for _, last := range newest[1] {
		t.from = last.Sent.UnixMilli()
	}
	return t.tell(newest[0]...)
}

// successor returns a listener that begins at the last message that the server has, and
// returns the messages that were not passed on yet. It returns none if that is in no order: a listener
// begins with the messages in the order of their times and keys, and those who listen
// already may hear of several of one millisecond in another.
func (t *tail) successor(ctx context.Context) (l *listener, err error) {
	lists, err := t.read(ctx, t.since())
	if err != nil {
		return nil, err
	}
	before := t.from
	for _, m := range lists[0] {
		t.from = max(t.from, m.Sent.UnixMilli())
	}
	l = t.view(ctx)
	shown, err := l.next()
	if err != nil {
		l.stop()
		return nil, err
	}
	news := t.unknown(lists[0])
	for _, m := range t.unknown(shown) {
		if !slices.ContainsFunc(news, func(n Message) bool { return n.Key == m.Key }) {
			news = append(news, m)
		}
	}
	if !inOrder(news) {
		t.from = before
		l.stop()
		return nil, nil
	}
	t.earlier, t.told = t.told, make(map[string]bool)
	t.unknown(shown)
	if err := t.tell(news...); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

// inOrder reports whether the times of messages ascend.
func inOrder(list []Message) bool {
	for i := range list[min(1, len(list)):] {
		if !list[i].Sent.Before(list[i+1].Sent.Time) {
			return false
		}
	}
	return true
}

// unknown returns those of the messages that were not told.
func (t *tail) unknown(list []Message) (news []Message) {
	for _, m := range list {
		switch {
		case t.told[m.Key]:
		case t.earlier[m.Key]:
			t.told[m.Key] = true
		default:
			news = append(news, m)
		}
	}
	return news
}

func (t *tail) tell(news ...Message) error {
	for _, m := range news {
		if t.told[m.Key] = true; !t.yield(m) {
			return errLeft
		}
	}
	return nil
}

// A listener shows messages since a time, known ones among them. It has to be stopped.
type listener struct {
	next func() ([]Message, error) // waits for some
	stop func()
}

// listen begins to listen. Messages of this client are shown even if the server is not
// there yet.
func (t *tail) listen(ctx context.Context) *listener {
	pull, stop := iter.Pull2(t.since().Events(ctx))
	next := func() ([]Message, error) {
		for {
			ev, err, _ := pull() // an error comes last
			if err != nil {
				return nil, err
			}
			if ev.Type == dogwood.ChildAdded {
				m, err := dogwood.Decode[Message](ev.Value)
				m.Key = ev.Key
				return []Message{m}, err
			}
		}
	}
	return &listener{next, stop}
}

// view begins to listen, and shows all messages together each time.
func (t *tail) view(ctx context.Context) *listener {
	pull, stop := iter.Pull2(t.since().Values(ctx))
	next := func() ([]Message, error) {
		s, err, _ := pull()
		if err != nil {
			return nil, err
		}
		var list []Message
		for key, child := range s.Children() {
			var m Message
			if !t.told[key] { // or else it is known by its key
				if m, err = dogwood.Decode[Message](child); err != nil {
					return nil, err
				}
			}
			m.Key = key
			list = append(list, m)
		}
		return list, nil
	}
	return &listener{next, stop}
}

// since is the messages that may not have been told, in the order in which the server
// took them.
func (t *tail) since() dogwood.Query {
	q := t.list.OrderByChild("sent")
	if t.from > 0 {
		q = q.StartAt(t.from)
	}
	return q
}

// read reads messages in one state of the server. It does not include writes that are
// still on their way to the server.
func (t *tail) read(ctx context.Context, queries ...dogwood.Query) ([][]Message, error) {
	lookups := make([]dogwood.Lookup, len(queries))
	for i, q := range queries {
		lookups[i] = q
	}
	batch, err := t.db.GetAll(ctx, lookups...)
	if err != nil {
		return nil, err
	}
	lists := make([][]Message, len(queries))
	for i, r := range batch.Results {
		if r.Err != nil {
			return nil, r.Err
		}
		if lists[i], err = record.List(r.Snapshot, messageKey); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// online reports whether there is a server to read from at once.
func (t *tail) online(ctx context.Context) bool {
	for connected := range t.db.Connected(ctx) {
		return connected
	}
	return false
}
