package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"testing"

	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestConditionsSurviveKill: what sessions left under a condition when the server
// was killed is carried out at the next start, where the condition holds, and not
// where another session has taken the place.
func TestConditionsSurviveKill(t *testing.T) {
	dir := t.TempDir()
	s := startListening(t, exec.Command("dogwood", "dev", "--port", "0", "--data", dir))
	sessions := make(map[string]*crashSocket)
	for _, name := range []string{"old", "new", "only"} {
		c, err := dialCrash(s.url, "default")
		if err != nil {
			t.Fatal(err)
		}
		defer c.ws.Close()
		sessions[name] = c
	}
	// ana connects twice, bo once; each leaves word that it is gone, and comes.
	for _, who := range []struct{ user, session string }{{"ana", "old"}, {"ana", "new"}, {"bo", "only"}} {
		c, at := sessions[who.session], "/presence/"+who.user
		m, err := c.ask(func(id int64) []byte {
			left := wire.AppendDisconnect(nil, id, wire.ActionDisconnectPut, at+"/gone/"+who.session, `{".sv":{"increment":1}}`)
			return wire.AppendOnlyIf(left, "", "null")
		})
		if err = errors.Join(err, wantOK("onDisconnect", &m)); err != nil {
			t.Fatal(err)
		}
		m, err = c.ask(func(id int64) []byte {
			left := wire.AppendDisconnect(nil, id, wire.ActionDisconnectMerge, at, fmt.Sprintf(`{"online":false,"ended/%s":true}`, who.session))
			return wire.AppendOnlyIf(left, "session", fmt.Sprintf("%q", who.session))
		})
		if err = errors.Join(err, wantOK("onDisconnect", &m)); err != nil {
			t.Fatal(err)
		}
		m, err = c.ask(func(id int64) []byte {
			return wire.AppendPut(nil, id, at, fmt.Sprintf(`{"online":true,"session":%q}`, who.session))
		})
		if err = errors.Join(err, wantOK("put", &m)); err != nil {
			t.Fatal(err)
		}
	}
	s.kill()

	want := `{"ana":{"ended":{"new":true},"gone":{"new":1,"old":1},"online":false,"session":"new"},` +
		`"bo":{"ended":{"only":true},"gone":{"only":1},"online":false,"session":"only"}}`
	for range 2 { // and not again at the start after that
		s = startListening(t, exec.Command("dogwood", "dev", "--port", "0", "--data", dir))
		resp, err := http.Get(s.url + "/presence.json?ns=default")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if n, bad := tree.ParseNode(string(text)); err != nil || bad != nil || n.JSON() != want {
			t.Errorf("after the kill: %s, %v, want %s", text, errors.Join(err, bad), want)
		}
		s.kill()
	}
	db, err := store.Open(dir+"/default.db", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if problems, err := db.Check(); err != nil || len(problems) > 0 {
		t.Errorf("check: %v, %v", problems, err)
	}
}
