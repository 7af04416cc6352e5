package sync

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/wire"
)

// TestReadsFollowOwnWrites: what a client reads, and the rules of that, know of what it
// wrote before without waiting for the answer.
func TestReadsFollowOwnWrites(t *testing.T) {
	ruleset := parseRules(t, `{"rules":{"room":{".write":true,"text":{".read":"data.parent().child('members/ana').val() === true"}}}}`)
	const write = `{"r":1,"a":"p","b":{"p":"/room","d":{"members":{"ana":true},"text":"hello"}}}`
	for name, read := range map[string]string{
		"listen": `{"r":2,"a":"q","b":{"p":"/room/text","h":""}}`,
		"get":    `{"r":2,"a":"g","b":{"p":"/room/text"}}`,
		"count":  `{"r":2,"a":"cn","b":{"p":"/room/text"}}`,
		"list":   `{"r":2,"a":"ls","b":{"p":"/room/text"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { readWaits(t, ruleset, write, read) })
		})
	}
}

func readWaits(t *testing.T, ruleset *rules.Ruleset, write, read string) {
	db := openTest(t, Options{})
	if err := db.SetRules(t.Context(), ruleset); err != nil {
		t.Fatal(err)
	}
	c := connect(t, db, "ana", 0)
	defer c.session.Close()
	g := closeGate(t, db)
	c.send(write)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.send(read)
	}()
	synctest.Wait() // for all that is done while the write waits
	if early := c.frames(); len(early) > 0 {
		t.Errorf("answered before what was written is stored: %s", early)
	}
	close(g.open)
	<-answered
	got := strings.Join(c.frames(), "\n")
	if !strings.Contains(got, `"r":2,"b":{"s":"ok"`) {
		t.Errorf("answers: %s", got)
	}
}

// TestGivenUpRequestsAreNotAnswered: a client that leaves while its request waits must
// not take "unavailable" for the end of what it asked for. It asks again elsewhere.
func TestGivenUpRequestsAreNotAnswered(t *testing.T) {
	for name, request := range map[string]string{
		"listen": `{"r":2,"a":"q","b":{"p":"/text","h":""}}`,
		"get":    `{"r":2,"a":"g","b":{"p":"/text"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			db := openTest(t, Options{})
			c := connect(t, db, "ana", 0)
			defer c.session.Close()
			g := closeGate(t, db)
			c.send(`{"r":1,"a":"p","b":{"p":"/text","d":"hello"}}`)
			m, err := wire.ParseMessage(`{"t":"d","d":` + request + `}`)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			c.session.Handle(ctx, m.Request)
			close(g.open)
			c.settle()
			if got := strings.Join(c.frames(), "\n"); strings.Contains(got, `"r":2`) {
				t.Errorf("answers: %s", got)
			}
		})
	}
}

// TestUnseenListensAreNotAnswered: a listen whose view was not sent when its connection ends has no
// answer. An ok would say that there is nothing. The client listens again where it comes back.
func TestUnseenListensAreNotAnswered(t *testing.T) {
	for name, end := range map[string]func(db *Database, c *client){
		"the session ends": func(_ *Database, c *client) { c.session.Close() },
		"the database closes": func(db *Database, c *client) {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			c.send(`{"r":3,"a":"unauth","b":{}}`) // which listens may go on cannot be decided
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(Options{Rules: parseRules(t, `{"rules":{".read":"auth != null"}}`)})
			if err != nil {
				t.Fatal(err)
			}
			set(t, db, "/text", `"hello"`)
			c := connect(t, db, "ana", 0)
			c.send(`{"r":1,"a":"auth","b":{"cred":"user ana"}}`)
			c.send(`{"r":2,"a":"q","b":{"p":"/text","h":""}}`)
			end(db, c)
			if got := strings.Join(c.frames(), "\n"); strings.Contains(got, `"r":2`) || strings.Contains(got, `"a":"c"`) {
				t.Errorf("answers: %s", got)
			}
			c.session.Close()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
