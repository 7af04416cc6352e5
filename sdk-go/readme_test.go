package dogwood_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

// The code of the README, which TestREADME compares with it, line by line.

type Message struct {
	From string            `json:"from"`
	Text string            `json:"text"`
	Sent dogwood.Timestamp `json:"sent"` // zero: the server's time
}

var errFull = errors.New("the room is full")

func tutorial(ctx context.Context, url string, file io.Writer) error {
	db, err := dogwood.Dial(ctx, url, dogwood.Options{}) // http://127.0.0.1:9000?ns=demo
	if err != nil {
		return err
	}
	defer db.Close()

	messages := db.Ref("messages/r1")
	if _, err := messages.Push(ctx, Message{From: "ana", Text: "hello"}); err != nil {
		return err
	}

	err = db.Update(ctx, map[string]any{
		"members/r1/ana":     true,
		"users/ana/rooms/r1": true,
		"rooms/r1/changed":   dogwood.ServerTimestamp,
		"rooms/r1/members":   dogwood.Increment(1),
	})
	if err != nil {
		return err
	}

	rooms, err := dogwood.Get[map[string]bool](ctx, db.Ref("users/ana/rooms"))
	if err != nil {
		return err
	}
	fmt.Println(rooms)

	for ev, err := range messages.OrderByKey().LimitToLast(50).Events(ctx) {
		if err != nil {
			return err // the end: ctx, or the rules do not allow it
		}
		message, err := dogwood.Decode[Message](ev.Value)
		if err != nil {
			return err
		}
		fmt.Println(ev.Type, message.From, message.Text)
		break
	}

	for members, err := range dogwood.Values[map[string]bool](ctx, db.Ref("members/r1")) {
		if err != nil {
			return err
		}
		fmt.Println(len(members), "in the room")
		break
	}

	seats, err := dogwood.Transaction(ctx, db.Ref("rooms/r1/seats"), func(n int) (int, error) {
		if n >= 3 {
			return 0, errFull // nothing is changed
		}
		return n + 1, nil
	})
	fmt.Println(seats, err)

	for connected, err := range db.Connected(ctx) {
		if err != nil {
			return err
		}
		if !connected {
			continue
		}
		me := db.Ref("online/ana")
		if err := me.OnDisconnect().Remove(ctx); err != nil {
			return err
		}
		if err := me.Set(ctx, true); err != nil {
			return err
		}
		break
	}

	if _, err := db.Ref("messages").GetTo(ctx, file); err != nil {
		return err
	}
	for room, err := range db.Ref("messages").Children(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(room.Key(), room.NumChildren())
	}
	return nil
}

func Example() {
	url, stop := serve()
	defer stop()
	check(tutorial(ctx, url, io.Discard))
	// Output:
	// map[r1:true]
	// child_added ana hello
	// 1 in the room
	// 1 <nil>
	// r1 1
}

// tokens stands for what a program gets its credentials from.
var tokens tokenCache

type tokenCache struct{}

func (tokenCache) Get(context.Context, bool) (string, error) { return "owner", nil }

func Example_token() {
	options := dogwood.Options{
		Token: func(ctx context.Context, refresh bool) (string, error) {
			return tokens.Get(ctx, refresh) // yours
		},
	}
	url, stop := serve()
	defer stop()
	db, err := dogwood.Dial(ctx, url, options)
	check(err)
	fmt.Println(db.Close())
	// Output: <nil>
}

func Example_errors() {
	sample := sample()
	defer sample.Close()
	db, err := sample.As(map[string]any{"uid": "ana"})
	check(err)
	err = db.Ref("rooms/r1").Set(ctx, "mine")
	var e *dogwood.Error
	switch {
	case errors.Is(err, dogwood.ErrPermissionDenied):
		fmt.Println("the rules do not allow it")
	case errors.As(err, &e):
		fmt.Println(e.Op, e.Path, e.Status, e.Text)
	}
	// Output: the rules do not allow it
}

func embedded(dir string) error {
	db, err := embed.Open(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	ana, err := db.As(map[string]any{"uid": "ana"}) // to whom the rules apply
	if err != nil {
		return err
	}
	fmt.Println(ana.Ref("rooms").Remove(ctx))
	return nil
}

func Example_embedded() {
	check(embedded(""))
	// Output: remove /rooms: permission denied
}

func Example_keys() {
	key := dogwood.EscapeKey("ana@example.org")
	sent := dogwood.TimeKey(time.Now()) // 2014-03-06T02:05:13,223556Z
	fmt.Println(key, len(sent))
	// Output: ana@example%2Eorg 27
}

// Each block of Go in the README is run by the examples above.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	want(t, err)
	code, err := os.ReadFile("readme_test.go")
	want(t, err)
	run := flat(string(code))
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 10 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		block, _, _ := strings.Cut(b, "```")
		if !strings.Contains(run, flat(block)) {
			t.Errorf("this is not run:\n%s", block)
		}
	}
}

// flat returns code without its indentation.
func flat(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, "\t")
	}
	return "\n" + strings.TrimSpace(strings.Join(lines, "\n")) + "\n"
}
