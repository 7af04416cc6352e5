package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/chat"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// A largeRoom is a room on a server with many members.
type largeRoom struct {
	t       *testing.T
	server  *servertest.Server
	members int
	posts   int // that every member is to see

	turns chan struct{} // has room for the messages that are on their way
	mu    sync.Mutex
	seen  map[string]*sighting // by message
}

// A sighting counts the members that have seen a message.
type sighting struct {
	by  int
	all chan struct{} // closed when all have
}

// TestLargeRoom has many members follow a room, each over a connection of its own,
// while 20 post. Few messages are on their way at a time: else a machine that
// is too slow breaks connections, and then messages come in groups. Each member sees every message once, and all in the same order.
// DOGWOOD_ROOM_MEMBERS and DOGWOOD_ROOM_POSTS (of each who posts) make it larger.
func TestLargeRoom(t *testing.T) {
	const posters = 20
	members, each := tier.Count("DOGWOOD_ROOM_MEMBERS", 30, 100, 1000), tier.Count("DOGWOOD_ROOM_POSTS", 1, 3, 10)
	r := &largeRoom{
		t: t, server: servertest.New(t, servertest.Options{}),
		members: members, posts: posters * each, seen: make(map[string]*sighting), turns: make(chan struct{}, 4),
	}
	r.fill()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	seen := make([][]string, members)
	var all, ready sync.WaitGroup
	for i := range members {
		c := r.client(i)
		ready.Add(1)
		all.Go(func() { seen[i] = r.follow(ctx, c, i, ready.Done) })
	}
	ready.Wait()
	for i := range posters {
		c := chat.New(r.client(i), member(i))
		all.Go(func() {
			for n := range each {
				if err := r.post(ctx, c, fmt.Sprintf("message %d of %d", n, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	once := slices.Clone(seen[0])
	slices.Sort(once)
	if n := len(slices.Compact(once)); n != r.posts {
		t.Fatalf("%d different messages of %d", n, r.posts)
	}
	for i, order := range seen {
		if !slices.Equal(order, seen[0]) {
			t.Fatalf("%s sees %q, %s sees %q", member(i), order, member(0), seen[0])
		}
	}
}

func member(i int) string { return fmt.Sprintf("member%04d", i) }

// fill makes the room, with a first message.
func (r *largeRoom) fill() {
	r.t.Helper()
	list, users := map[string]bool{}, map[string]any{}
	for i := range r.members {
		list[member(i)] = true
		users[member(i)] = map[string]any{"name": member(i), "rooms": map[string]bool{"hall": true}}
	}
	text, err := json.Marshal(map[string]any{
		"users": users, "members": map[string]any{"hall": list},
		"rooms":    map[string]any{"hall": chat.Room{Name: "Hall", Type: chat.Private, Owner: member(0), Created: dogwood.Timestamp{Time: time.Now()}}},
		"messages": map[string]any{"hall": map[string]any{"-A": chat.Message{Sender: member(0), Text: "welcome", Sent: dogwood.Timestamp{Time: time.Now()}}}},
	})
	want(r.t, err)
	rules, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "models", "chat", "rules.json"))
	want(r.t, err)
	r.server.SetRules(string(rules))
	r.server.Set("/", string(text))
}

// client connects a member. The queues of its loops have no bound, so that they see each
// message in its turn on a slow machine, too.
func (r *largeRoom) client(i int) *dogwood.Client {
	r.t.Helper()
	c, err := dogwood.Dial(ctx, r.server.URL, dogwood.Options{
		Token: dogwood.StaticToken(servertest.Token(member(i), nil)), MaxQueue: 1 << 20,
	})
	want(r.t, err)
	r.t.Cleanup(func() { want(r.t, c.Close()) })
	return c
}

// sighting is that of a message.
func (r *largeRoom) sighting(text string) *sighting {
	if r.seen[text] == nil {
		r.seen[text] = &sighting{all: make(chan struct{})}
	}
	return r.seen[text]
}

// sees notes that a member sees a message.
func (r *largeRoom) sees(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sighting(text)
	if s.by++; s.by == r.members {
		close(s.all)
	}
}

// seenByAll is closed when all members have seen a message.
func (r *largeRoom) seenByAll(text string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sighting(text).all
}

// post posts a message of a member, and waits until all have seen it.
func (r *largeRoom) post(ctx context.Context, c *chat.Chat, text string) error {
	r.turns <- struct{}{}
	defer func() { <-r.turns }()
	if _, err := c.PostMessage(ctx, "hall", text); err != nil {
		return err
	}
	select {
	case <-r.seenByAll(text):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%q was not seen by all: %w", text, ctx.Err())
	}
}

// follow returns the messages that a member sees, in their order. It calls ready
// when it sees the first one, which was there before, or in the end.
func (r *largeRoom) follow(ctx context.Context, c *dogwood.Client, i int, ready func()) (seen []string) {
	ready = sync.OnceFunc(ready)
	defer ready()
	for m, err := range chat.New(c, member(i)).Tail(ctx, "hall", 50) {
		if err != nil {
			r.t.Errorf("%s: %v", member(i), err)
			return seen
		}
		if m.Text == "welcome" {
			ready()
			continue
		}
		r.sees(m.Text)
		if seen = append(seen, m.Text); len(seen) == r.posts {
			return seen
		}
	}
	return seen
}
