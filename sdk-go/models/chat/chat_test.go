package chat_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/chat"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func want(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v, want %v", err, dogwood.ErrPermissionDenied)
	}
}

func TestMembership(t *testing.T) {
	t.Run("fan-out", func(t *testing.T) {
		db := modeltest.Open("chat")
		defer db.Close()
		testMembership(t, func(uid string) *chat.Chat { return chat.New(db.As(uid), uid) })
	})
	t.Run("declared", func(t *testing.T) {
		as := modeltest.Declared(t, "chat")
		testMembership(t, func(uid string) *chat.Chat { return chat.New(as(uid), uid, chat.Declared()) })
	})
	t.Run("declared, all copies written", func(t *testing.T) {
		as := modeltest.Declared(t, "chat")
		testMembership(t, func(uid string) *chat.Chat { return chat.New(as(uid), uid) })
	})
}

func testMembership(t *testing.T, as func(uid string) *chat.Chat) {
	mary, hamadi, newcomer := as("mchen"), as("hmadi"), as("new")
	wantDenied(t, newcomer.JoinRoom(ctx, "two")) // the user is not known
	want(t, newcomer.SetName(ctx, "New Comer"))
	want(t, newcomer.JoinRoom(ctx, "two"))
	want(t, newcomer.JoinRoom(ctx, "two")) // again
	wantDenied(t, mary.RemoveMember(ctx, "two", "new"))
	want(t, hamadi.RemoveMember(ctx, "two", "new"))
	members, err := hamadi.Members(ctx, "two")
	if want := []string{"brinchen", "hmadi"}; err != nil || !slices.Equal(members, want) {
		t.Errorf("members of two = %q, %v, want %q", members, err, want)
	}
	want(t, newcomer.JoinRoom(ctx, "two"))
	want(t, newcomer.LeaveRoom(ctx, "two"))
	room, ok, err := mary.Room(ctx, "one")
	if err != nil || !ok || room.Name != "room alpha" || room.Key != "one" || room.Created.UnixMilli() != 1699395200000 {
		t.Errorf("room one = %+v, %v, %v", room, ok, err)
	}
	wantDenied(t, hamadi.DeleteRoom(ctx, "one"))
	want(t, mary.DeleteRoom(ctx, "one"))
	rooms, err := hamadi.OwnRooms(ctx)
	if err != nil || len(rooms) != 1 || rooms[0].Key != "two" {
		t.Errorf("after room one is deleted the rooms are %v, %v", rooms, err)
	}
}

func TestDeleteMessage(t *testing.T) {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	key, err := mary.PostMessage(ctx, "one", "oops")
	want(t, err)
	wantDenied(t, hamadi.DeleteMessage(ctx, "one", key))
	want(t, mary.DeleteMessage(ctx, "one", key))

	key, err = hamadi.PostMessage(ctx, "one", "nonsense")
	want(t, err)
	wantDenied(t, mary.DeleteMessage(ctx, "one", key))
	want(t, mary.RemoveMember(ctx, "one", "hmadi"))
	wantDenied(t, hamadi.DeleteMessage(ctx, "one", key))
	want(t, mary.DeleteMessage(ctx, "one", key))
}

// A key that sorts behind those that are made could hide what is posted later.
func TestKeysOfMessages(t *testing.T) {
	db := modeltest.Open("chat")
	defer db.Close()
	mary := db.As("mchen")
	for _, key := range []string{"~00", "10", "zz"} {
		wantDenied(t, mary.Ref("messages/one").Child(key).Set(ctx, chat.Message{Sender: "mchen", Text: "x"}))
	}
}

// A tailTest is a tail of room one, which has five messages, and two users who post.
type tailTest struct {
	*testing.T
	db     modeltest.DB
	reader *dogwood.Client // of hamadi, who follows the room
	posts  sync.WaitGroup  // of the reader
}

func newTail(t *testing.T) *tailTest {
	db := modeltest.Open("chat")
	t.Cleanup(db.Close)
	return &tailTest{T: t, db: db, reader: db.As("hmadi")}
}

// post posts messages that are numbered from a number on, as mary.
func (t *tailTest) post(from, n int) (keys []string) {
	t.Helper()
	mary := chat.New(t.db.As("mchen"), "mchen")
	for i := range n {
		key, err := mary.PostMessage(ctx, "one", fmt.Sprint(from+i))
		want(t.T, err)
		keys = append(keys, key)
	}
	return keys
}

// late writes a message with a key that was made before.
func (t *tailTest) late(key string) {
	t.Helper()
	want(t.T, t.db.Ref("messages/one").Child(key).Set(ctx, chat.Message{Sender: "mchen", Text: key}))
}

// own posts a message as the reader, who may be offline.
func (t *tailTest) own(text string) {
	t.posts.Go(func() {
		if _, err := chat.New(t.reader, "hmadi").PostMessage(ctx, "one", text); err != nil {
			t.Error(err)
		}
	})
}

// end posts the last message, in a later millisecond than all before.
func (t *tailTest) end() {
	t.Helper()
	mary := t.db.As("mchen")
	for from := mary.ServerTime(); mary.ServerTime().Sub(from) < time.Millisecond; {
		runtime.Gosched()
	}
	_, err := chat.New(mary, "mchen").PostMessage(ctx, "one", "end")
	want(t.T, err)
}

// follow returns what the tail tells from the end of the data on. It calls next after
// the first and each further one, until that returns false.
func (t *tailTest) follow(n int, next func(text string) bool) (told []string) {
	t.Helper()
	first := n
	for m, err := range chat.New(t.reader, "hmadi").Tail(ctx, "one", n) {
		want(t.T, err)
		if first--; first < 0 {
			told = append(told, m.Text)
		}
		if first <= 0 && !next(m.Text) {
			return told
		}
	}
	t.Fatal("the tail has ended")
	return nil
}

// wantOnce fails unless each text was told once, in any order.
func (t *tailTest) wantOnce(told []string, texts ...string) {
	t.Helper()
	slices.Sort(told)
	slices.Sort(texts)
	if !slices.Equal(told, texts) {
		t.Errorf("told are %q, want %q", told, texts)
	}
}

// numbers returns the texts of messages.
func numbers(from, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprint(from+i))
	}
	return texts
}

// A loop that falls behind by more than it was shown first misses nothing, and what is
// among the last ones again is not shown again.
func TestTailMissesNothing(t *testing.T) {
	tt := newTail(t)
	var keys []string
	told := tt.follow(3, func(text string) bool {
		switch text {
		case "ok": // the last one of the data
			keys = tt.post(1, 300) // the loop waits meanwhile
		case "300":
			for _, key := range keys[298:] {
				want(t, tt.db.Ref("messages/one").Child(key).Remove(ctx))
			}
			tt.post(301, 1)
		}
		return text != "301"
	})
	tt.wantOnce(told, numbers(1, 301)...)
}

// Messages that this client has posted while it was disconnected are told at once, and
// hide none that others have posted meanwhile.
func TestTailWithOwnMessages(t *testing.T) {
	for _, c := range []struct{ size, own int }{{1, 0}, {1, 1}, {3, 2}, {3, 5}, {10, 60}} {
		tt := newTail(t)
		told := tt.follow(min(c.size, 5), func(text string) bool {
			i := 0
			switch {
			case text == "ok":
				tt.reader.GoOffline()
				tt.post(1, 5)
			case text == "end":
				return false
			case strings.HasPrefix(text, "own "):
				_, err := fmt.Sscan(text[len("own "):], &i)
				want(t, err)
			default:
				return true
			}
			if i < c.own {
				tt.own(fmt.Sprint("own ", i+1))
				return true
			}
			tt.reader.GoOnline()
			tt.posts.Wait()
			tt.end()
			return true
		})
		texts := append(numbers(1, 5), "end")
		for i := range c.own {
			texts = append(texts, fmt.Sprint("own ", i+1))
		}
		tt.wantOnce(told, texts...)
	}
}

// A message may come after many with higher keys: keys are made when it is written. The
// database orders some as numbers.
func TestTailKnowsLateMessages(t *testing.T) {
	tt := newTail(t)
	told := tt.follow(2, func(text string) bool {
		switch text {
		case "ok":
			tt.post(101, 5)
			tt.late("-A") // lower than all keys of the data
		case "-A":
			tt.late("9")
		case "9":
			tt.late("10")
		case "10":
			tt.reader.GoOffline()
			tt.post(201, 5)
			tt.late("-B")
			tt.late("8")
			tt.end()
			tt.reader.GoOnline()
		}
		return text != "end"
	})
	texts := append(numbers(101, 5), numbers(201, 5)...)
	tt.wantOnce(told, append(texts, "-A", "9", "10", "-B", "8", "end")...)
}

// A tail tells each message once for however long it goes on.
func TestTailIsLong(t *testing.T) {
	for name, post := range map[string]func(tt *tailTest, i int){
		"others": func(tt *tailTest, i int) { tt.post(i, 1) },
		"self":   func(tt *tailTest, i int) { tt.own(fmt.Sprint(i)) },
		"both": func(tt *tailTest, i int) {
			if i%3 == 0 {
				tt.post(i, 1)
			} else {
				tt.own(fmt.Sprint(i))
			}
		},
	} {
		tt := newTail(t)
		i := 0
		told := tt.follow(1, func(string) bool {
			if i++; i <= 200 {
				post(tt, i)
			}
			return i <= 200
		})
		tt.posts.Wait()
		t.Log(name)
		tt.wantOnce(told, numbers(1, 200)...)
	}
}

func TestTailEnds(t *testing.T) {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	put := false
	for _, err := range hamadi.Tail(ctx, "one", 1) {
		if put {
			wantDenied(t, err)
			return
		}
		put = true
		want(t, err)
		want(t, mary.RemoveMember(ctx, "one", "hmadi"))
	}
	t.Error("the loop ends without an error")
}
