package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// Chat has rooms whose members each follow its last messages over a connection
// of their own. The members take turns to post: an update of three places, the
// message, the room's pointer to its last message and the author's to theirs. The
// next post of a room comes when all members have the one before and its
// author has the acknowledgement.
type Chat struct {
	Rooms   int `json:"rooms" help:"Rooms." default:"20" env:"-"`
	Members int `json:"members" help:"Members of each room, with a connection each." default:"25" env:"-"`
	Window  int `json:"window" help:"Messages that members follow." default:"50" env:"-"`
	Size    int `json:"size" help:"Bytes of a message." default:"100" env:"-"`

	// Rules is "open" or "chat", under which members post as users with tokens.
	Rules string `json:"rules" help:"Rules of the database: open, or chat for those of an application." enum:"open,chat" default:"open" env:"-"`

	// SignIn makes the members sign in under open rules too.
	SignIn bool `json:"signIn,omitempty" kong:"-"`
}

// Rules of Chat.
const (
	RulesOpen = "open"
	RulesChat = "chat"
)

func (Chat) Name() string { return "chat" }

func (w Chat) Describe() string {
	return fmt.Sprintf("%d rooms × %d members on limitToLast(%d), %s rules", w.Rooms, w.Members, w.Window, w.Rules)
}

func (w Chat) About() (unit, rules string) {
	if w.Rules == RulesChat {
		return "posts", chatRules
	}
	return "posts", openRules
}

func (w Chat) WithDefaults() (Workload, error) {
	err := errors.Join(
		Setting("rooms", &w.Rooms, 20, 1, MaxConnections),
		Setting("members", &w.Members, 25, 1, MaxConnections),
		Setting("window", &w.Window, 50, 1, 1000),
		Setting("size", &w.Size, 100, 1, 2000),
		oneOf("rules", &w.Rules, RulesOpen, RulesChat),
	)
	connections := w.Rooms * w.Members
	err = errors.Join(err, Setting("connections", &connections, 1, 1, MaxConnections))
	return w, err
}

func (w Chat) Drive(ctx context.Context, r *Load) error {
	if w.Rules == RulesChat && r.Target.Secret == "" {
		return errors.New("chat rules need an administrator's credential to be set")
	}
	rooms := make([]*room, w.Rooms)
	for i := range rooms {
		rooms[i] = newRoom(w, i)
	}
	if err := r.Admin.PatchJSON(ctx, "/", w.seed(rooms, time.Now())); err != nil {
		return fmt.Errorf("fill the rooms: %w", err)
	}
	conns, err := connect.DialAll(ctx, r.Target, w.Rooms*w.Members, connect.MemberBuffer, func(i int, c *connect.Conn) error {
		return rooms[i%w.Rooms].members[i/w.Rooms].join(c, w, r.Target.Secret)
	})
	if err != nil {
		return err
	}
	defer connect.CloseAll(conns)
	r.Begin()
	err = w.converse(ctx, r, rooms, conns)
	r.Measure("deliveries", float64(r.inTime.Load())*float64(w.Members)/max(r.window(r.Now(), ctx.Err() != nil).Seconds(), 1e-9), "/s")
	return err
}

// converse posts to all rooms until the schedule ends.
func (w Chat) converse(ctx context.Context, r *Load, rooms []*room, conns []*connect.Conn) error {
	return connect.Receiving(ctx, conns, func(i int, msg []byte) error {
		return rooms[i%w.Rooms].members[i/w.Rooms].take(msg)
	}, func(ctx context.Context) error {
		return connect.Parallel(ctx, w.Rooms, w.Rooms, func(ctx context.Context, i int) error { return rooms[i].postAll(ctx, r, i) })
	})
}

// A room posts one message after the other.
//
// The next post of a room waits for the one before, as in a conversation. So
// the load adapts to the server, and rooms are the measure of how much goes on
// at the same time.
type room struct {
	id      string
	size    int // of texts
	members []*member
	post    atomic.Pointer[[]byte] // key of the message that is on its way
	missing atomic.Int64           // members that do not have it, and the acknowledgement
	all     chan struct{}          // gets an element when nothing is missing
}

// A member follows its room.
type member struct {
	conn *connect.Conn
	uid  string
	room *room
	seen *[]byte // key of the last message that has come
}

func newRoom(w Chat, n int) *room {
	rm := &room{id: "r" + strconv.Itoa(n), size: w.Size, all: make(chan struct{}, 1)}
	for i := range w.Members {
		rm.members = append(rm.members, &member{uid: "u" + strconv.Itoa(n) + "-" + strconv.Itoa(i), room: rm})
	}
	return rm
}

// seed returns the data before the first post, as an update of the root.
func (w Chat) seed(rooms []*room, now time.Time) map[string]any {
	update := make(map[string]any)
	created := now.UnixMilli()
	for _, rm := range rooms {
		members := make(map[string]bool)
		for _, m := range rm.members {
			members[m.uid] = true
			update["users/"+m.uid] = map[string]any{"name": "Member " + m.uid, "rooms": map[string]bool{rm.id: true}}
		}
		messages := make(map[string]any)
		for i := range w.Window {
			messages[string(postKey(nil, created-1, int64(i)))] = map[string]any{
				"sender": rm.members[i%len(rm.members)].uid, "message": Padding(w.Size), "sent": created - 1,
			}
		}
		update["rooms/"+rm.id] = map[string]any{
			"name": "Room " + rm.id, "type": "private", "owner": rm.members[0].uid, "created": created,
			"last": string(postKey(nil, created-1, int64(w.Window-1))),
		}
		update["members/"+rm.id] = members
		update["messages/"+rm.id] = messages
	}
	return update
}

// join signs the member in, if rules care, and follows the room.
func (m *member) join(c *connect.Conn, w Chat, secret string) error {
	m.conn = c
	if w.Rules == RulesChat || w.SignIn {
		if err := c.SignIn(connect.UserToken(secret, m.uid, time.Now())); err != nil {
			return err
		}
	}
	return c.Listen("messages/"+m.room.id, `{"l":`+strconv.Itoa(w.Window)+`,"vf":"r"}`)
}

// postAll posts until the schedule ends.
func (rm *room) postAll(ctx context.Context, r *Load, n int) error {
	var msg []byte
	for seq := int64(0); ; seq++ {
		due, ok := r.Next()
		if !ok || !r.Wait(ctx, due) {
			return nil
		}
		author := rm.members[int(seq)%len(rm.members)]
		key := postKey(nil, time.Now().UnixMilli(), seq)
		rm.missing.Store(int64(len(rm.members) + 1))
		rm.post.Store(&key)
		msg = author.appendPost(msg[:0], seq, key)
		if err := author.conn.Send(msg); err != nil {
			return err
		}
		if err := rm.wait(ctx); err != nil {
			return err
		}
		r.Done(n, due)
	}
}

// PostTimeout is how long one post may take to reach all clients.
const PostTimeout = 30 * time.Second

// wait waits until all members have the post.
func (rm *room) wait(ctx context.Context) error {
	return inTime(ctx, rm.all, func() string {
		return fmt.Sprintf("room %s: %d of %d deliveries and acknowledgements of a post are missing", rm.id, rm.missing.Load(), len(rm.members)+1)
	})
}

// inTime waits until a write has reached all clients. missing describes those that it has
// not reached within PostTimeout.
func inTime(ctx context.Context, all <-chan struct{}, missing func() string) error {
	timer := time.NewTimer(PostTimeout)
	defer timer.Stop()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("%s after %s", missing(), PostTimeout)
	}
}

func (rm *room) arrived() {
	if rm.missing.Add(-1) == 0 {
		rm.all <- struct{}{}
	}
}

// appendPost appends the update that posts a message.
func (m *member) appendPost(dst []byte, seq int64, key []byte) []byte {
	update := fmt.Appendf(nil,
		`{"messages/%[1]s/%[2]s":{"sender":"%[3]s","message":"%[4]s","sent":{".sv":"timestamp"}},"rooms/%[1]s/last":"%[2]s","users/%[3]s/posted/%[1]s":"%[2]s"}`,
		m.room.id, key, m.uid, Padding(m.room.size))
	return wire.AppendMerge(dst, seq, "/", update)
}

// take takes what arrives at a member. A push counts for the post whose key it
// has in it, whatever its form; servers differ in how they move a window.
func (m *member) take(text []byte) error {
	if post := m.room.post.Load(); post != nil && post != m.seen && bytes.Contains(text, *post) {
		m.seen = post
		m.room.arrived()
		return nil
	}
	msg, err := wire.ParseServerMessage(text)
	switch {
	case err != nil:
		return err
	case msg.Status == wire.StatusOK:
		m.room.arrived()
	case msg.Status != "":
		return fmt.Errorf("post: %w", &connect.RefusedError{Status: msg.Status, Text: string(msg.Data)})
	case msg.Push == wire.PushCancel:
		return fmt.Errorf("the listen of %s was cancelled", m.uid)
	}
	return nil
}

// postKey appends a key in the form of a push id: eight characters of time and
// twelve that count.
func postKey(dst []byte, ms, seq int64) []byte {
	const alphabet = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	var key [20]byte
	for i := 7; i >= 0; i-- {
		key[i] = alphabet[ms&63]
		ms >>= 6
	}
	for i := 19; i >= 8; i-- {
		key[i] = alphabet[seq&63]
		seq >>= 6
	}
	return append(dst, key[:]...)
}
