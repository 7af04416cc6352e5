package dogwood_test

import (
	"errors"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// The onDisconnect operations of a client are carried out when it goes. Its own listeners
// see them before the server can send them.
func TestOnDisconnect(t *testing.T) {
	ctx := t.Context()
	db, ana := openWith(t, `{"rules":{".read":true,"on":{".write":true},"off":{".write":true}}}`)
	on := ana.Ref("on")
	want(t, on.Set(ctx, raw(`{"set":1,"remove":1,"update":{"a":1,"b":1},"cancelled":1,"part":{"x":1,"y":1},"n":1}`)))
	want(t, on.Child("set").OnDisconnect().Set(ctx, "first"))
	want(t, on.Child("set").OnDisconnect().Set(ctx, "gone"))
	want(t, on.Child("remove").OnDisconnect().Remove(ctx))
	want(t, on.Child("update").OnDisconnect().Update(ctx, map[string]any{"a": 2, "c/d": true}))
	want(t, on.Child("cancelled").OnDisconnect().Set(ctx, "never"))
	want(t, on.Child("cancelled").OnDisconnect().Cancel(ctx))
	want(t, on.Child("n").OnDisconnect().Set(ctx, dogwood.Increment(2)))
	want(t, on.OnDisconnect().Update(ctx, nil))
	if err := ana.Ref("locked").OnDisconnect().Set(ctx, 1); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
	values := pull(t, on.Values(ctx))
	others := pull(t, db.Ref("on").Values(ctx))
	values.get()
	others.get()
	ana.GoOffline()
	const left = `{"cancelled":1,"n":3,"part":{"x":1,"y":1},"set":"gone","update":{"a":2,"b":1,"c":{"d":true}}}`
	for _, v := range []puller[dogwood.Snapshot]{values, others} {
		for got := v.get(); got.JSON() != left; got = v.get() {
			t.Logf("on the way: %s", got.JSON())
		}
	}
	ana.GoOnline()
	want(t, ana.Ref("off").Set(ctx, 1))
	ana.GoOffline()
	ana.GoOnline()
	want(t, ana.Ref("off").Set(ctx, 2))
	if got := value(t, db.Ref("on")); got != left {
		t.Errorf("it was carried out twice: %s", got)
	}
}

func TestBadOnDisconnect(t *testing.T) {
	ctx := t.Context()
	c := open(t).Client
	o, bad := c.Ref("a").OnDisconnect(), c.Ref("a.b").OnDisconnect()
	for _, err := range []error{
		o.Set(ctx, func() {}), o.Update(ctx, map[string]any{"a": 1, "a/b": 2}),
		bad.Set(ctx, 1), bad.Update(ctx, map[string]any{"a": 1}), bad.Cancel(ctx), bad.Remove(ctx),
	} {
		var e *dogwood.Error
		if !errors.As(err, &e) || e.Op != "on disconnect" {
			t.Errorf("err = %v", err)
		}
	}
}
