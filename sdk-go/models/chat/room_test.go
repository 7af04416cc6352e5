package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/chat"
	"github.com/dogwooddb/dogwood/server/servertest"
)

// A largeRoom is a room on a server with many members.
type largeRoom struct {
	t      *testing.T
	server *servertest.Server
	posts  int // that everybody is to see
}

// fromEnv is a number that an environment variable can raise.
func fromEnv(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// TestLargeRoom has many members follow a room, each over a connection of his own,
// while 20 post. Everybody sees every message once, and all in the same order.
// DOGWOOD_ROOM_MEMBERS and DOGWOOD_ROOM_POSTS (of each who posts) make it larger.
func TestLargeRoom(t *testing.T) {
	const posters = 20
	members, each := fromEnv("DOGWOOD_ROOM_MEMBERS", 100), fromEnv("DOGWOOD_ROOM_POSTS", 3)
	r := &largeRoom{t: t, server: servertest.New(t, servertest.Options{}), posts: posters * each}
	r.fill(members)
	seen := make([][]string, members)
	var all, ready sync.WaitGroup
	for i := range members {
		c := r.client(i)
		ready.Add(1)
		all.Go(func() { seen[i] = r.follow(c, i, ready.Done) })
	}
	ready.Wait()
	for i := range posters {
		c := chat.New(r.client(i), member(i))
		all.Go(func() {
			for n := range each {
				if _, err := c.PostMessage(ctx, "hall", fmt.Sprintf("message %d of %d", n, i)); err != nil {
					t.Error(err)
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
func (r *largeRoom) fill(members int) {
	r.t.Helper()
	list, users := map[string]bool{}, map[string]any{}
	for i := range members {
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

// client connects a member. What waits for its loops is not bounded, so that no
// machine is too slow for them to see each message in its turn.
func (r *largeRoom) client(i int) *dogwood.Client {
	r.t.Helper()
	c, err := dogwood.Dial(ctx, r.server.URL, dogwood.Options{
		Token: dogwood.StaticToken(servertest.Token(member(i), nil)), MaxQueue: 1 << 20,
	})
	want(r.t, err)
	r.t.Cleanup(func() { want(r.t, c.Close()) })
	return c
}

// follow returns the messages that a member sees, in their order. It calls ready
// when it sees the first one, which was there before.
func (r *largeRoom) follow(c *dogwood.Client, i int, ready func()) (seen []string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for m, err := range chat.New(c, member(i)).Tail(ctx, "hall", 50) {
		if err != nil {
			r.t.Errorf("%s: %v", member(i), err)
			return seen
		}
		if m.Text == "welcome" {
			ready()
			continue
		}
		if seen = append(seen, m.Sender+": "+m.Text); len(seen) == r.posts {
			return seen
		}
	}
	return seen
}
