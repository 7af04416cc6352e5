package chat_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/chat"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	newcomer := chat.New(db.As("new"), "new")
	wantDenied(t, newcomer.JoinRoom(ctx, "two")) // who is not known
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

// A loop that falls behind by more than its window misses nothing, and what comes
// into the window again is not shown again.
func TestTailMissesNothing(t *testing.T) {
	db := modeltest.Open("chat")
	defer db.Close()
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(db.As("hmadi"), "hmadi")
	var keys, shown []string
	posts := 0
	post := func(n int) {
		for range n {
			posts++
			key, err := mary.PostMessage(ctx, "one", fmt.Sprint("message ", posts))
			want(t, err)
			keys = append(keys, key)
		}
	}
	for m, err := range hamadi.Tail(ctx, "one", 3) {
		want(t, err)
		switch shown = append(shown, m.Text); m.Text {
		case "ok": // the last one of the data
			post(300) // the loop waits meanwhile
		case "message 300":
			for _, key := range keys[298:] {
				want(t, mary.DeleteMessage(ctx, "one", key))
			}
			post(1)
		case "message 301":
			if len(shown) != 3+301 {
				t.Errorf("%d messages were shown, want 304", len(shown))
			}
			for i, text := range shown[3:] {
				if want := fmt.Sprint("message ", i+1); text != want {
					t.Fatalf("the message after %q is %q, want %q", shown[2+i], text, want)
				}
			}
			return
		}
	}
}

// A message may come after one with a higher key: keys are made when it is written.
func TestTailKnowsLateMessages(t *testing.T) {
	db := modeltest.Open("chat")
	defer db.Close()
	reader := db.As("hmadi")
	mary, hamadi := chat.New(db.As("mchen"), "mchen"), chat.New(reader, "hmadi")
	var shown []string
	last := ""
	late := func(text string) {
		want(t, db.Ref("messages/one").Child(last+text).Set(ctx, chat.Message{Sender: "mchen", Text: text}))
	}
	post := func(text string) {
		_, err := mary.PostMessage(ctx, "one", text)
		want(t, err)
	}
	for m, err := range hamadi.Tail(ctx, "one", 3) {
		want(t, err)
		shown = append(shown, m.Text)
		switch m.Text {
		case "ok": // the last one of the data
			last = m.Key
			post("1")
			late("a")
		case "a":
			reader.GoOffline()
			for n := range 8 {
				post(fmt.Sprint(2 + n))
			}
			late("b")
			reader.GoOnline()
		case "9":
			if got, want := strings.Join(shown[3:], " "), "1 a b 2 3 4 5 6 7 8 9"; got != want {
				t.Errorf("shown are %q, want %q", got, want)
			}
			return
		}
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
