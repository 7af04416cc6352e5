package msgy_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/modeltest"
	"github.com/dogwooddb/dogwood/sdk-go/models/msgy"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestPostMessage(t *testing.T) {
	db := modeltest.Open("msgy")
	defer db.Close()
	joe, ann := msgy.New(db.As("uid-joe"), "joeuser"), msgy.New(db.As("uid-ann"), "annops")
	at := time.Date(2014, 3, 7, 0, 0, 0, 1000, time.UTC)
	for range 2 { // the second time it is there
		if _, err := joe.PostMessageAt(ctx, at, "marketing_group", "count me in"); err != nil {
			t.Error(err)
		}
	}
	for name, post := range map[string]func() (string, error){
		"another text at the same time": func() (string, error) { return joe.PostMessageAt(ctx, at, "marketing_group", "count me out") },
		"to nobody":                     func() (string, error) { return joe.PostMessage(ctx, "nobody_here", "hello?") },
		"to a group of others":          func() (string, error) { return ann.PostMessage(ctx, "marketing_group", "let me in") },
		"in another name": func() (string, error) {
			return msgy.New(db.As("uid-ann"), "joeuser").PostMessage(ctx, "annops", "forged")
		},
	} {
		if _, err := post(); !errors.Is(err, dogwood.ErrPermissionDenied) {
			t.Errorf("post %s: err = %v, want %v", name, err, dogwood.ErrPermissionDenied)
		}
	}
	list, err := joe.Timeline(ctx, "marketing_group", msgy.Inbox, "2014-03-07Z")
	if err != nil || len(list) != 1 || list[0].Text != "count me in" {
		t.Errorf("inbox of the group = %+v, %v", list, err)
	}
	days, err := joe.Days(ctx, "joeuser", msgy.Sent)
	if want := []string{"2014-03-04Z", "2014-03-05Z", "2014-03-07Z"}; err != nil || !slices.Equal(days, want) {
		t.Errorf("days = %q, %v, want %q", days, err, want)
	}
}

func TestSaveUser(t *testing.T) {
	db := modeltest.Open("msgy")
	defer db.Close()
	m := msgy.New(db.As("uid-new"), "new_user")
	u := msgy.User{Name: "new_user", FullName: "New User", Email: "new@example.org", UID: "uid-new"}
	for range 2 {
		if err := m.SaveUser(ctx, u); err != nil {
			t.Error(err)
		}
	}
	if got, ok, err := m.User(ctx, "new_user"); err != nil || !ok || got != u {
		t.Errorf("user = %+v, %v, %v", got, ok, err)
	}
	u.Name = "Bad-Name"
	if err := m.SaveUser(ctx, u); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("a second and bad name: err = %v", err)
	}
}

func TestTimelineOrder(t *testing.T) {
	db := modeltest.Open("msgy")
	defer db.Close()
	joe, ann := msgy.New(db.As("uid-joe"), "joeuser"), msgy.New(db.As("uid-ann"), "annops")
	noon := time.Date(2014, 3, 9, 12, 0, 0, 0, time.UTC)
	for _, sent := range []struct {
		from *msgy.Msgy
		hour time.Duration
		text string
	}{{ann, 2, "second"}, {joe, 3, "third"}, {joe, 1, "first"}} {
		if _, err := sent.from.PostMessageAt(ctx, noon.Add(sent.hour*time.Hour), "marleenmgr", sent.text); err != nil {
			t.Fatal(err)
		}
	}
	marleen := msgy.New(db.As("uid-marleen"), "marleenmgr")
	list, err := marleen.Timeline(ctx, "marleenmgr", msgy.Inbox, msgy.Day(noon))
	var texts []string
	for _, m := range list {
		texts = append(texts, m.Text)
	}
	if want := []string{"first", "second", "third"}; err != nil || !slices.Equal(texts, want) {
		t.Errorf("texts are %q, %v, want %q", texts, err, want)
	}
}

// Messages are told that come while the loop waits or is disconnected, whatever time
// their senders have.
func TestWatchInbox(t *testing.T) {
	db := modeltest.Open("msgy")
	defer db.Close()
	reader := db.As("uid-marleen")
	joe, ann := msgy.New(db.As("uid-joe"), "joeuser"), msgy.New(db.As("uid-ann"), "annops")
	post := func(from *msgy.Msgy, day int, text string) {
		t.Helper()
		at := time.Date(2023, 11, day, 12, 0, 0, 0, time.UTC) // it is the 14th
		if _, err := from.PostMessageAt(ctx, at, "marleenmgr", text); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	for m, err := range msgy.New(reader, "marleenmgr").WatchInbox(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, m.Text)
		switch m.Text {
		case "status report 12": // the last one of the data
			post(joe, 15, "from the future")
		case "from the future":
			post(ann, 1, "from the past")
		case "from the past":
			reader.GoOffline()
			post(joe, 11, "one")
			post(joe, 12, "two")
			post(ann, 13, "three")
			reader.GoOnline()
		case "three":
			post(ann, 10, "end")
		case "end":
			want := []string{"status report 12", "from the future", "from the past", "one", "two", "three", "end"}
			if !slices.Equal(told, want) {
				t.Errorf("told are %q, want %q", told, want)
			}
			return
		}
	}
}

func TestWatchEmptyInbox(t *testing.T) {
	db := modeltest.Open("msgy")
	defer db.Close()
	if err := db.Ref("recent/annops").Remove(ctx); err != nil {
		t.Fatal(err)
	}
	joe, sent := msgy.New(db.As("uid-joe"), "joeuser"), make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, err := joe.PostMessage(ctx, "annops", "the first")
		sent <- err
	}()
	for m, err := range msgy.New(db.As("uid-ann"), "annops").WatchInbox(ctx) {
		if err := errors.Join(err, <-sent); err != nil || m.Text != "the first" {
			t.Errorf("told is %q, %v", m.Text, err)
		}
		return
	}
}

// A message that is written once is in both timelines, and posting it again does no harm.
func TestDeclared(t *testing.T) {
	as := modeltest.Declared(t, "msgy")
	joe := msgy.New(as("uid-joe"), "joeuser", msgy.Declared())
	marleen := msgy.New(as("uid-marleen"), "marleenmgr") // writes all copies
	at := time.Date(2014, 3, 6, 10, 0, 0, 2000, time.UTC)
	for range 2 {
		if _, err := joe.PostMessageAt(context.Background(), at, "marleenmgr", "thank you!"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := marleen.PostMessageAt(context.Background(), at, "joeuser", "you are welcome"); err != nil {
		t.Fatal(err)
	}
	sent, err := joe.LastSent(context.Background(), 1)
	if err != nil || len(sent) != 1 || sent[0].Text != "thank you!" {
		t.Errorf("sent: %v, %v", sent, err)
	}
	if sent, err = marleen.LastSent(context.Background(), 1); err != nil || len(sent) != 1 || sent[0].Text != "you are welcome" {
		t.Errorf("sent: %v, %v", sent, err)
	}
}
