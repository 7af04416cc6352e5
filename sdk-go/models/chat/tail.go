package chat

import (
	"context"
	"errors"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A tail tells the messages of a room, each once. It listens to those that the server
// took since a time, and not to a window on the last ones: what was written long ago
// and comes late has a low key, and own messages that the server does not have yet push
// others out of a window. The rules see to it that the server's time is in a message.
type tail struct {
	db   *dogwood.Client
	me   string      // who writes with this client
	list dogwood.Ref // the messages
	size int         // how many are told first

	yield   func(Message) bool // reports whether to go on
	from    int64              // all that the server took before this time, in milliseconds, is told
	told    map[string]bool    // keys, since the listener began
	earlier map[string]bool    // the same of the listener before
}

// errLeft ends a tail that nobody follows any more.
var errLeft = errors.New("the loop was left")

// minView is how many messages a listener shows at least until another one takes its
// place, from the last of them on.
const minView = 50

// run tells messages until there is an error.
func (t *tail) run(ctx context.Context) error {
	err := t.begin(ctx)
	for err == nil {
		err = t.follow(ctx)
	}
	return err
}

// begin tells the newest messages. Those that come later are not before the one that
// the server took last.
func (t *tail) begin(ctx context.Context) error {
	newest, err := t.read(ctx, t.list.OrderByKey().LimitToLast(t.size), t.since().LimitToLast(1))
	if err != nil {
		return err
	}
	t.told = make(map[string]bool)
	for _, m := range newest[0] {
		if _, err := t.tell(m); err != nil {
			return err
		}
	}
	for _, last := range newest[1] {
		t.from = last.Sent.UnixMilli()
	}
	return nil
}

// follow tells messages as they come, until there are many.
func (t *tail) follow(ctx context.Context) error {
	t.earlier, t.told = t.told, make(map[string]bool)
	fresh := 0
	for ev, err := range t.since().Events(ctx) {
		switch {
		case err != nil:
			return err
		case ev.Type != dogwood.ChildAdded:
			continue
		}
		n, err := t.heard(ev)
		if err != nil {
			return err
		}
		if fresh += n; fresh > max(t.size, minView) && t.online(ctx) {
			return t.catchUp(ctx)
		}
	}
	return ctx.Err()
}

// heard tells a message that the listener has, and says how many are new.
func (t *tail) heard(ev dogwood.Event) (fresh int, err error) {
	m, err := dogwood.Decode[Message](ev.Value)
	if err != nil {
		return 0, err
	}
	// Messages of this client may be on their way to the server, with the time of its
	// own clock. Those of others come in the order of their times.
	if m.Key = ev.Key; m.Sender != t.me {
		t.from = max(t.from, m.Sent.UnixMilli())
	}
	return t.tell(m)
}

// catchUp tells what the server has since the last message of somebody else.
func (t *tail) catchUp(ctx context.Context) error {
	lists, err := t.read(ctx, t.since())
	if err != nil {
		return err
	}
	for _, m := range lists[0] {
		if _, err := t.tell(m); err != nil {
			return err
		}
		t.from = max(t.from, m.Sent.UnixMilli())
	}
	return nil
}

// tell tells a message if it is new, and says how many are.
func (t *tail) tell(m Message) (fresh int, err error) {
	known := t.told[m.Key] || t.earlier[m.Key]
	if t.told[m.Key] = true; known {
		return 0, nil
	}
	if !t.yield(m) {
		return 0, errLeft
	}
	return 1, nil
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

// read reads messages in one state of the server. What is on its way to it is not there.
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
