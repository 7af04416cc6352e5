package embed_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dogwooddb/dogwood/internal/leaktest"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
	"github.com/dogwooddb/dogwood/server"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func want(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Writes are there when the directory is opened again, and the onDisconnect operations of
// the clients have been carried out.
func TestReopen(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "new", "data")
	db, err := embed.OpenWith(dir, embed.Options{Rules: `{"rules":{".read":true,"$uid":{".write":"auth.uid === $uid"}}}`})
	want(t, err)
	ana, err := db.As(map[string]any{"uid": "ana"})
	want(t, err)
	want(t, ana.Ref("ana").Set(ctx, "online"))
	want(t, ana.Ref("ana").OnDisconnect().Set(ctx, "offline"))
	if err := ana.Ref("bo").Set(ctx, 1); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
	want(t, db.Ref("bo").Set(ctx, 2))
	want(t, db.SetRules(ctx, `{"rules":{"bo":{".read":true},"ana":{".write":true}}}`))
	if _, err := embed.Open(dir); err == nil {
		t.Error("two have the file")
	}
	want(t, db.Close())
	if err := db.Ref("bo").Set(ctx, 3); !errors.Is(err, dogwood.ErrClosed) {
		t.Errorf("err = %v", err)
	}

	db, err = embed.Open(dir)
	want(t, err)
	defer db.Close()
	got, err := dogwood.Get[map[string]any](ctx, db.Ref(""))
	if err != nil || fmt.Sprint(got) != "map[ana:offline bo:2]" {
		t.Errorf("%v, %v", got, err)
	}
	nobody, err := db.As(nil)
	want(t, err)
	if got, err := dogwood.Get[int](ctx, nobody.Ref("bo")); err != nil || got != 2 {
		t.Errorf("%v, %v: the rules are not those that were set", got, err)
	}
	if _, err := dogwood.Get[int](ctx, nobody.Ref("ana")); !errors.Is(err, dogwood.ErrPermissionDenied) {
		t.Errorf("err = %v", err)
	}
}

// A data document stays in force, until another one is given.
func TestData(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	const define = `{"format": "dogwood-data/1", "define": {%s}}`
	members := fmt.Sprintf(define, `"members": {"count": "/members/$g/$u", "to": "/sizes/$g"}`)
	db, err := embed.OpenWith(dir, embed.Options{Data: members})
	want(t, err)
	want(t, db.Ref("members/g").Set(ctx, map[string]bool{"ana": true, "bo": true}))
	want(t, db.Close())
	for _, o := range []embed.Options{{}, {Data: members}} {
		db, err = embed.OpenWith(dir, o)
		want(t, err)
		want(t, db.Ref("members/g/bo").Set(ctx, nil))
		got, err := dogwood.Get[int](ctx, db.Ref("sizes/g"))
		if err != nil || got != 1 {
			t.Errorf("%v, %v", got, err)
		}
		want(t, db.Close())
	}
	db, err = embed.Open(dir)
	want(t, err)
	defer db.Close()
	want(t, db.SetData(ctx, fmt.Sprintf(define, "")))
	want(t, db.Ref("sizes/g").Set(ctx, 5))
	got, err := dogwood.Get[int](ctx, db.Ref("sizes/g"))
	if err != nil || got != 5 {
		t.Errorf("%v, %v", got, err)
	}
	if err := db.SetData(ctx, "{}"); err == nil {
		t.Error("a document needs a format")
	}
	if _, err := embed.OpenWith("", embed.Options{Data: "{}"}); err == nil {
		t.Error("a document needs a format")
	}
}

// The file is one of the server's.
func TestServerServesTheFile(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db, err := embed.OpenWith(dir, embed.Options{Name: "shop"})
	want(t, err)
	want(t, db.Ref("a").Set(ctx, 1))
	want(t, db.Close())
	s, err := server.New(server.Options{Dir: dir})
	want(t, err)
	want(t, s.Open("shop"))
	want(t, s.Close())
}

// A client that is closed is not kept, and may be closed again with the database.
func TestClientsAreForgotten(t *testing.T) {
	db, err := embed.Open("")
	want(t, err)
	kept, err := db.As(nil)
	want(t, err)
	for range 10 {
		c, err := db.As(map[string]any{"uid": "ana"})
		want(t, err)
		want(t, c.Close())
		want(t, c.Close())
	}
	if n := embed.Clients(db); n != 1 {
		t.Errorf("%d clients are kept, want 1", n)
	}
	want(t, db.Close())
	if err := kept.Ref("a").Set(t.Context(), 1); !errors.Is(err, dogwood.ErrClosed) {
		t.Errorf("err = %v, want ErrClosed", err)
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := embed.OpenWith("", embed.Options{Rules: `{"rules":`}); err == nil {
		t.Error("the rules are no rules")
	}
	file := filepath.Join(t.TempDir(), "file")
	want(t, os.WriteFile(file, nil, 0o600))
	if _, err := embed.Open(file); err == nil {
		t.Error("a file is no directory")
	}
	dir := t.TempDir()
	want(t, os.WriteFile(filepath.Join(dir, "default.db"), []byte("no database"), 0o600))
	if _, err := embed.Open(dir); err == nil {
		t.Error("a text is no database")
	}
	db, err := embed.Open("")
	want(t, err)
	if _, err := db.As(map[string]any{"uid": func() {}}); err == nil {
		t.Error("a function is no claim")
	}
	if err := db.SetRules(t.Context(), `[]`); err == nil {
		t.Error("the rules are no rules")
	}
	want(t, db.Close())
	want(t, db.Close())
	if _, err := db.As(nil); !errors.Is(err, dogwood.ErrClosed) {
		t.Errorf("err = %v, want ErrClosed", err)
	}
}
