package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/bench/connect"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// ChatRoom has one room of the data model chat, under its rules: all members follow
// the last messages, and some of them post, each the next message when all members have
// the one before. Every member must see every message once, and all in one order.
type ChatRoom struct {
	Members int `json:"members" help:"Members who follow the room, with a connection each." default:"1000" env:"-"`
	Posters int `json:"posters" help:"How many of them post." default:"20" env:"-"`
	Window  int `json:"window" help:"Messages that members follow." default:"50" env:"-"`
	Size    int `json:"size" help:"Bytes of a message." default:"100" env:"-"`
}

func (ChatRoom) Name() string                { return "chat-room" }
func (ChatRoom) About() (unit, rules string) { return "posts", chatRoomRules }

func (w ChatRoom) Describe() string {
	return fmt.Sprintf("%d members on limitToLast(%d), %d of whom post", w.Members, w.Window, w.Posters)
}

func (w ChatRoom) WithDefaults() (Workload, error) {
	err := errors.Join(
		Setting("members", &w.Members, 1000, 1, MaxConnections),
		Setting("window", &w.Window, 50, 1, 1000),
		Setting("size", &w.Size, 100, 1, 2000),
	)
	err = errors.Join(err, Setting("posters", &w.Posters, min(20, w.Members), 1, w.Members))
	return w, err
}

// roomKey is the room's.
const roomKey = "room"

func (w ChatRoom) Drive(ctx context.Context, r *Load) error {
	if r.Target.Secret == "" {
		return errNeedsSecret
	}
	if err := r.Admin.PatchJSON(ctx, "/", w.seed(time.Now())); err != nil {
		return fmt.Errorf("fill the room: %w", err)
	}
	conns, err := connect.DialAll(ctx, r.Target, w.Members, connect.MemberBuffer, func(i int, c *connect.Conn) error {
		if err := c.SignIn(connect.UserToken(r.Target.Secret, roomMember(i), time.Now())); err != nil {
			return err
		}
		return c.Listen("messages/"+roomKey, `{"l":`+strconv.Itoa(w.Window)+`,"vf":"r"}`)
	})
	if err != nil {
		return err
	}
	defer connect.CloseAll(conns)
	o := newOrder(w.Members, w.Posters, w.Window)
	r.Begin()
	err = connect.Receiving(ctx, conns, o.take, func(ctx context.Context) error {
		return connect.Parallel(ctx, w.Posters, w.Posters, func(ctx context.Context, i int) error { return w.post(ctx, r, o, conns[i], i) })
	})
	r.Measure("deliveries", float64(r.inTime.Load())*float64(w.Members)/max(r.window(r.Now(), ctx.Err() != nil).Seconds(), 1e-9), "/s")
	return err
}

// errNeedsSecret is for workloads whose rules are the point of them.
var errNeedsSecret = errors.New("its rules need an administrator's credential to be set")

func roomMember(i int) string { return "u" + strconv.Itoa(i) }

// seed returns the room with its members and messages, as an update of the root.
func (w ChatRoom) seed(now time.Time) map[string]any {
	created := now.UnixMilli() - 1
	members, users, messages := make(map[string]any), make(map[string]any), make(map[string]any)
	for i := range w.Members {
		members[roomMember(i)] = true
		users[roomMember(i)] = map[string]any{"name": "Member " + strconv.Itoa(i), "rooms": map[string]bool{roomKey: true}}
	}
	for i := range w.Window {
		messages[string(postKey(nil, created, int64(i)))] = map[string]any{"sender": roomMember(0), "message": Padding(w.Size), "sent": created}
	}
	return map[string]any{
		"users":    users,
		"members":  map[string]any{roomKey: members},
		"messages": map[string]any{roomKey: messages},
		"rooms":    map[string]any{roomKey: map[string]any{"name": "Room", "type": "private", "owner": roomMember(0), "created": created}},
	}
}

// post posts one message after the other until the schedule ends.
func (w ChatRoom) post(ctx context.Context, r *Load, o *order, c *connect.Conn, n int) error {
	var msg []byte
	for seq := int64(0); ; seq++ {
		due, ok := r.Next()
		if !ok || !r.Wait(ctx, due) {
			return nil
		}
		key, err := o.expect(ctx, n)
		if err != nil {
			return err
		}
		msg = wire.AppendPut(msg[:0], seq, "/messages/"+roomKey+"/"+string(key), fmt.Appendf(nil,
			`{"message":"%s","sender":"%s","sent":{".sv":"timestamp"}}`, Padding(w.Size), roomMember(n)))
		if err := c.Send(msg); err != nil {
			return err
		}
		if err := o.wait(ctx, n); err != nil {
			return err
		}
		r.Done(n, due)
	}
}

// An order is that in which a room's posts have reached its members. The first member that
// gets a post determines its number.
//
// It is the check that makes the figures worth anything: a server that loses, doubles or
// reorders posts would otherwise be fast. One mutex guards it, which all members share; it
// costs the generator and no server.
type order struct {
	window int // posts that members follow

	mu      sync.Mutex
	numbers map[string]int // of posts, by key
	next    []int          // number of the next post, of each member
	posts   []*roomPost    // that are on their way, of each poster
	open    []*roomPost    // in the order of their keys, from the first that is on its way
	issued  int64          // keys
	latest  int64          // time in a key
	byKey   map[string]*roomPost
}

// A roomPost is one that not all members have.
type roomPost struct {
	number  int64 // of its key
	missing int   // members, and the acknowledgement
	all     chan struct{}
}

func newOrder(members, posters, window int) *order {
	return &order{
		window:  window,
		numbers: make(map[string]int),
		next:    make([]int, members),
		posts:   make([]*roomPost, posters),
		byKey:   make(map[string]*roomPost),
	}
}

// expect returns the key of a poster's next post. It waits while the oldest post that is on
// its way is followed by as many keys as there are posts in a window: if those were stored
// first, it would be in no window, and reach no member.
func (o *order) expect(ctx context.Context, poster int) (key []byte, err error) {
	for {
		key, oldest := o.issue(poster)
		if oldest == nil {
			return key, nil
		}
		select {
		case <-oldest.all:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// issue returns the next key, or the post that has to be everywhere first.
func (o *order) issue(poster int) (key []byte, oldest *roomPost) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.open) > 0 && o.open[0].missing == 0 {
		o.open = o.open[1:]
	}
	if len(o.open) > 0 && o.issued-o.open[0].number >= int64(o.window) {
		return nil, o.open[0]
	}
	o.latest = max(o.latest, time.Now().UnixMilli())
	key = postKey(nil, o.latest, o.issued)
	p := &roomPost{number: o.issued, missing: len(o.next) + 1, all: make(chan struct{})}
	o.issued++
	o.open = append(o.open, p)
	o.posts[poster], o.byKey[string(key)] = p, p
	return key, nil
}

// wait waits until all members have a poster's post.
func (o *order) wait(ctx context.Context, poster int) error {
	o.mu.Lock()
	p := o.posts[poster]
	o.mu.Unlock()
	return inTime(ctx, p.all, func() string { return fmt.Sprintf("a post has not reached all %d members", len(o.next)) })
}

// arrived notes that a member has a post, or its author the acknowledgement.
func (p *roomPost) arrived() {
	if p.missing--; p.missing == 0 {
		close(p.all)
	}
}

// take takes what arrives at a member.
func (o *order) take(i int, text []byte) error {
	m, err := wire.ParseServerMessage(text)
	switch {
	case err != nil:
		return err
	case m.Status == wire.StatusOK:
		o.mu.Lock()
		defer o.mu.Unlock()
		o.posts[i].arrived()
		return nil
	case m.Status != "":
		return fmt.Errorf("post: %w", &connect.RefusedError{Status: m.Status, Text: string(m.Data)})
	case m.Push == wire.PushCancel:
		return fmt.Errorf("the listen of %s was cancelled", roomMember(i))
	}
	return o.deliver(i, postKeys(m.Data))
}

// deliver takes the posts that a push has for a member: one, or several if the
// member was slow and gets the whole window.
func (o *order) deliver(i int, keys []string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var numbers []int
	for _, key := range keys {
		p := o.byKey[key]
		n, known := o.numbers[key]
		switch {
		case p == nil: // from before the load
		case !known:
			n = len(o.numbers)
			o.numbers[key] = n
			fallthrough
		case n >= o.next[i]:
			numbers = append(numbers, n)
			p.arrived()
		case len(keys) == 1:
			return fmt.Errorf("%s sees post %d again after post %d", roomMember(i), n, o.next[i]-1)
		}
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	for _, n := range numbers {
		if n != o.next[i] {
			return fmt.Errorf("%s sees post %d, others have seen post %d before", roomMember(i), n, o.next[i])
		}
		o.next[i]++
	}
	return nil
}

// postKeys returns the keys of postKey whose values are objects in what a push
// says.
func postKeys(data []byte) (keys []string) {
	const size, begin = 20, `":{`
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(begin))
		if i < 0 {
			return keys
		}
		if at += i; at > size && data[at-size-1] == '"' {
			keys = append(keys, string(data[at-size:at]))
		}
		at += len(begin)
	}
}
