package dogwood_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

func ExampleTimestamp() {
	db := sample()
	defer db.Close()
	type Post struct {
		Text string            `json:"text"`
		Sent dogwood.Timestamp `json:"sent"`
	}
	check(db.Ref("post").Set(ctx, Post{Text: "hello"}))
	post, err := dogwood.Get[Post](ctx, db.Ref("post"))
	check(err)
	fmt.Println(post.Text, time.Since(post.Sent.Time) < time.Minute)
	// Output: hello true
}

func TestTimestamp(t *testing.T) {
	at := time.UnixMilli(1700000000123)
	for want, stamp := range map[string]dogwood.Timestamp{
		`{".sv":"timestamp"}`: {},
		`1700000000123`:       {Time: at},
	} {
		if got, err := json.Marshal(stamp); err != nil || string(got) != want {
			t.Errorf("%v is written as %s, %v, want %s", stamp, got, err, want)
		}
	}
	ctx := t.Context()
	db := open(t)
	// A value that was read is written unchanged, and an absent one is the zero value.
	want(t, db.Ref("a").Set(ctx, dogwood.Timestamp{Time: at}))
	got, err := dogwood.Get[dogwood.Timestamp](ctx, db.Ref("a"))
	if err != nil || !got.Equal(at) {
		t.Errorf("%v, %v, want %v", got, err, at)
	}
	want(t, db.Ref("b").Set(ctx, got))
	if got := value(t, db.Ref("b")); got != "1700000000123" {
		t.Errorf("b = %s", got)
	}
	if got, err := dogwood.Get[dogwood.Timestamp](ctx, db.Ref("none")); err != nil || !got.IsZero() {
		t.Errorf("%v, %v, want the zero value", got, err)
	}
	want(t, db.Ref("c").Set(ctx, "soon"))
	if _, err := dogwood.Get[dogwood.Timestamp](ctx, db.Ref("c")); !errors.Is(err, dogwood.ErrValue) {
		t.Errorf("err = %v, want ErrValue", err)
	}
	if got := json.Unmarshal([]byte("null"), &got); got != nil {
		t.Error(got)
	}
	if !got.IsZero() {
		t.Errorf("null is %v", got)
	}
}

// A snapshot can be written again, wherever in a value it stands, with its
// priorities.
func TestSnapshotIsAValue(t *testing.T) {
	ctx := t.Context()
	db := open(t)
	const text = `{"list":{"0":"x","1":"y"},"n":{".priority":2,".value":1}}`
	want(t, db.Ref("from").Set(ctx, raw(text)))
	snap, err := db.Ref("from").Snapshot(ctx)
	want(t, err)
	want(t, db.Ref("a/copy").Set(ctx, snap))
	want(t, db.Ref("b").Set(ctx, map[string]any{"copy": snap}))
	want(t, db.Update(ctx, map[string]any{"c/copy": snap}))
	want(t, db.Ref("d/copy").Set(ctx, &snap))
	want(t, db.Ref("e/copy").Set(ctx, dogwood.WithPriority(snap, nil)))
	for _, path := range []string{"a", "b", "c", "d", "e"} {
		if got := value(t, db.Ref(path).Child("copy")); got != text {
			t.Errorf("%s/copy = %s, want %s", path, got, text)
		}
	}
	want(t, db.Ref("f").Set(ctx, dogwood.WithPriority(snap.Child("n"), 3)))
	if got := value(t, db.Ref("f")); got != `{".priority":3,".value":1}` {
		t.Errorf("f = %s", got)
	}
	if fmt.Sprint(snap) != text {
		t.Errorf("printed: %v", snap)
	}
}
