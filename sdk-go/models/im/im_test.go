package im_test

import (
	"errors"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/im"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func want(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantDenied(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("%s: err = %v, want %v", what, err, dogwood.ErrPermissionDenied)
	}
}

func TestConversation(t *testing.T) {
	db := modeltest.Open("im")
	defer db.Close()
	c, d, a := im.New(db.As(chen), chen), im.New(db.As(dai), dai), im.New(db.As(an), an)
	id, err := d.OpenConversation(ctx, chen)
	want(t, err)
	if again, err := c.OpenConversation(ctx, dai); err != nil || again != id || id != im.ConversationID(dai, chen) {
		t.Errorf("opened %q and %q, %v", id, again, err)
	}
	msg, err := d.Send(ctx, id, "one o'clock")
	want(t, err)
	_, err = a.Send(ctx, id, "me, too")
	wantDenied(t, "send to others", err)
	_, err = a.Page(ctx, id, im.Message{}, 50)
	wantDenied(t, "read what others say", err)
	_, err = c.Page(ctx, id, im.Message{}, 101)
	wantDenied(t, "read a page that is too large", err)
	wantDenied(t, "delete another's message", c.LogicalDelete(ctx, id, msg))
	want(t, d.LogicalDelete(ctx, id, msg))
	wantDenied(t, "delete it twice", d.LogicalDelete(ctx, id, msg))
	page, err := c.Page(ctx, id, im.Message{}, 50)
	if err != nil || len(page) != 1 || page[0].Deleted == 0 || page[0].Text != "one o'clock" {
		t.Errorf("page = %+v, %v", page, err)
	}
}

func TestMembers(t *testing.T) {
	db := modeltest.Open("im")
	defer db.Close()
	const group = "g0000000000001001"
	a, b, d := im.New(db.As(an), an), im.New(db.As(bo), bo), im.New(db.As(dai), dai)
	wantDenied(t, "add as a member", b.AddMember(ctx, group, dai))
	want(t, a.AddMember(ctx, group, dai))
	want(t, a.SetRole(ctx, group, dai, im.RoleAdmin))
	wantDenied(t, "a second owner", a.SetRole(ctx, group, dai, im.RoleOwner))
	members, err := d.Members(ctx, group)
	if err != nil || len(members) != 4 || members[3].Key != dai || members[3].Role != im.RoleAdmin {
		t.Errorf("members = %+v, %v", members, err)
	}
	want(t, a.RenameGroup(ctx, group, "Forest"))
	if g, ok, err := d.Group(ctx, group); err != nil || !ok || g.Name != "Forest" || g.Owner != an {
		t.Errorf("group = %+v, %v, %v", g, ok, err)
	}
	want(t, d.LeaveGroup(ctx, group))
	wantDenied(t, "the owner leaves", a.LeaveGroup(ctx, group))
	want(t, a.RemoveMember(ctx, group, chen))
	wantDenied(t, "delete another's group", b.DeleteGroup(ctx, group))
	want(t, a.DeleteGroup(ctx, group))
}

func TestUsersAndRequests(t *testing.T) {
	db := modeltest.Open("im")
	defer db.Close()
	const eve = "u00000000000000e5"
	e := im.New(db.As(eve), eve)
	want(t, e.Register(ctx, "Eve"))
	if err := e.Register(ctx, "Eve"); !errors.Is(err, dogwood.ErrStale) {
		t.Errorf("register again: err = %v", err)
	}
	if u, ok, err := e.User(ctx, eve); err != nil || !ok || u.Name != "Eve" {
		t.Errorf("user = %+v, %v, %v", u, ok, err)
	}
	_, err := e.FriendRequest(ctx, an, "")
	want(t, err)
	_, err = e.SentRequests(ctx)
	wantDenied(t, "read an index that is off", err)
	want(t, db.Ref("config/optionalIndexes/sentRequests").Set(ctx, true))
	key, err := e.FriendRequest(ctx, bo, "it's me")
	want(t, err)
	if sent, err := e.SentRequests(ctx); err != nil || len(sent) != 1 || sent[key] != bo {
		t.Errorf("sent = %v, %v", sent, err)
	}
}
