package dogwood_test

import (
	"errors"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// The end of an old connection does not undo what a new one has written, neither
// in the database nor in the views of the old client.
func TestOnDisconnectIf(t *testing.T) {
	ctx := t.Context()
	db, old := openWith(t, `{"rules":{".read":true,"on":{".write":true},"shut":{".read":false,"$x":{".write":true}}}}`)
	newer, err := db.As(nil)
	want(t, err)
	me := old.Ref("on/ana")
	enter := func(c *dogwood.Client, session string) {
		t.Helper()
		r := c.Ref("on/ana")
		want(t, r.OnDisconnect().If("session", session).Set(ctx, map[string]any{"online": false, "by": session}))
		want(t, r.Set(ctx, map[string]any{"online": true, "session": session}))
	}
	enter(old, "s1")
	want(t, old.Ref("on/mine").Set(ctx, "s1"))
	want(t, old.Ref("on/mine").OnDisconnect().If("", "s1").Remove(ctx))
	want(t, old.Ref("on").OnDisconnect().If("other", nil).Update(ctx, map[string]any{"x": 1}))
	want(t, old.Ref("on").OnDisconnect().If("ana/session", "s1").Update(ctx, map[string]any{"y": 1}))
	enter(newer, "s2")

	values := pull(t, old.Ref("on").Values(ctx))
	values.get()
	old.GoOffline()
	const left = `{"ana":{"online":true,"session":"s2"},"x":1}`
	for got := values.get(); got.JSON() != left; got = values.get() {
		if online := got.Child("ana/online").Value(); online != true {
			t.Fatalf("on the way: %s", got.JSON())
		}
	}
	shown := pull(t, db.Ref("on").Values(ctx))
	for got := shown.get(); got.JSON() != left; got = shown.get() {
		t.Logf("on the way: %s", got.JSON())
	}
	want(t, newer.Close())
	for got := shown.get(); got.JSON() != `{"ana":{"by":"s2","online":false},"x":1}`; got = shown.get() {
		t.Logf("on the way: %s", got.JSON())
	}

	old.GoOnline()
	want(t, me.OnDisconnect().If("session", "s3").Set(ctx, "gone"))
	for _, bad := range []struct{ got, want error }{
		{me.OnDisconnect().If("a.b", 1).Set(ctx, 1), dogwood.ErrPath},
		{me.OnDisconnect().If("a", func() {}).Set(ctx, 1), dogwood.ErrValue},
		{me.OnDisconnect().If("a", dogwood.ServerTimestamp).Remove(ctx), dogwood.ErrValue},
		{me.Child("x").OnDisconnect().Set(ctx, 1), dogwood.ErrInvalid},
		{old.Ref("shut/x").OnDisconnect().If("", 1).Set(ctx, 1), nil}, // the read of the root is enough
		{old.Ref("locked").OnDisconnect().If("", nil).Set(ctx, 1), dogwood.ErrPermissionDenied},
	} {
		if !errors.Is(bad.got, bad.want) {
			t.Errorf("err = %v, want %v", bad.got, bad.want)
		}
	}
	want(t, me.OnDisconnect().If("session", "s3").Cancel(ctx))
}
