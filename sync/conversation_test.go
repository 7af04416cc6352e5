package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/pending"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// TestConversations runs the files of testdata/sync, which show what clients
// send and are sent. -rewrite records the answers anew. The envelope
// {"t":"d","d":…} is left out of all messages. The commands:
//
//	open                 begin with an empty database and the rules of the input;
//	                     without input everybody may do everything
//	open log             the same with a log: positions in it are shown as @1, @2, …
//	reopen               end the sessions, close the database, and open it again
//	rules                put the rules of the input in force
//	data                 put the data document of the input in force
//	connect NAME [max=N] begin a session, whose outbox holds N bytes
//	NAME                 send the requests of the input, one a line; wait for the
//	                     answers to each before the next
//	together             send requests, each with the name of its session in
//	                     front, so that their writes come into one batch
//	close NAME           end the session
//	expire NAME          let the session's credential expire
//	set PATH, update PATH
//	                     write the input as an administrator without a session
//	clock MS             let that much time go by
//	get PATH             print the value with its priorities
//	left                 print what sessions left for their disconnect
//	drain                print what else was sent
//
// With the argument quiet nothing is taken from the outboxes; with sort the
// answers to each request are sorted, where their order is not fixed. The clock
// stands at 1700000000000. The background work that a command or a request causes
// is done before the next one.
func TestConversations(t *testing.T) {
	runConversations(t, audience.IndexFrom)
}

// TestConversationsIndexed: clients are sent the same if even a single query has an index of
// groups.
func TestConversationsIndexed(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	runConversations(t, 0)
}

func runConversations(t *testing.T, indexFrom int) {
	datadriven.Walk(t, "../testdata/sync", func(t *testing.T, path string) {
		c := &conversation{now: time.UnixMilli(1_700_000_000_000), indexFrom: indexFrom}
		defer func() { c.end(t) }()
		datadriven.RunTest(t, path, c.run)
	})
}

type conversation struct {
	db        *Database
	indexFrom int // groups at a path
	now       time.Time
	clients   []*client // in the order they connected
	options   Options   // that the database was opened with
	positions []string  // that were sent: @1 is the first
}

func (c *conversation) run(t *testing.T, d *datadriven.TestData) string {
	defer func() { drained(t, c.db) }()
	if c.db == nil && d.Cmd != "open" {
		c.open(t, "", false)
	}
	switch d.Cmd {
	case "open":
		c.end(t)
		c.open(t, d.Input, d.HasArg("log"))
		return "ok"
	case "reopen":
		c.end(t)
		c.reopen(t)
		return "ok"
	case "connect":
		var size int
		d.MaybeScanArgs(t, "max", &size)
		c.clients = append(c.clients, connect(t, c.db, d.CmdArgs[0].Key, size))
		return "ok"
	case "clock":
		ms := 0
		if _, err := fmt.Sscan(d.CmdArgs[0].Key, &ms); err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(time.Duration(ms) * time.Millisecond)
		return "ok"
	case "get":
		return get(t, c.db, d.CmdArgs[0].Key)
	case "left":
		return c.left(t)
	case "rules":
		c.setRules(t, d.Input)
	case "data":
		document, err := derive.Parse(d.Input)
		if err == nil {
			_, err = c.db.ChangeData(t.Context(), versions.DataChange{Document: document})
		}
		if err != nil {
			t.Fatal(err)
		}
	case "set":
		set(t, c.db, d.CmdArgs[0].Key, d.Input)
	case "update":
		if _, err := c.db.Write(t.Context(), updateOf(t, d.CmdArgs[0].Key, d.Input)); err != nil {
			t.Fatal(err)
		}
	case "close":
		c.client(t, d.CmdArgs[0].Key).session.Close()
	case "expire":
		c.client(t, d.CmdArgs[0].Key).session.Expire(&fault.TokenError{Status: wire.StatusExpiredToken, Text: wire.TextExpiredToken})
	case "together":
		return c.together(t, d.Input)
	case "drain":
	default:
		return c.requests(t, c.client(t, d.Cmd), d)
	}
	if d.HasArg("quiet") {
		return "ok"
	}
	return sorted(c.sent(t), d.HasArg("sort"))
}

func sorted(text string, yes bool) string {
	if !yes {
		return text
	}
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

func (c *conversation) open(t *testing.T, text string, log bool) {
	c.options = Options{Now: func() time.Time { return c.now }, Rules: rules.Open()}
	if text != "" {
		c.options.Rules = parseRules(t, text)
	}
	if log {
		inFile(t, &c.options)
	}
	c.reopen(t)
}

func (c *conversation) reopen(t *testing.T) {
	db, err := openExact(c.options)
	if err != nil {
		t.Fatal(err)
	}
	db.audience.SetIndexFrom(c.indexFrom)
	c.db = db
}

func (c *conversation) end(t *testing.T) {
	if c.db == nil {
		return
	}
	for _, cl := range c.clients {
		cl.t = t
		cl.session.Close()
	}
	checkTest(t, c.db)
	if err := c.db.Close(); err != nil {
		t.Error(err)
	}
	c.db, c.clients = nil, nil
}

func parseRules(t testing.TB, text string) *rules.Ruleset {
	t.Helper()
	r, err := rules.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c *conversation) setRules(t *testing.T, text string) {
	if err := c.db.SetRules(t.Context(), parseRules(t, text)); err != nil {
		t.Fatal(err)
	}
}

func (c *conversation) client(t *testing.T, name string) *client {
	for _, cl := range c.clients {
		if cl.name == name {
			cl.t = t
			return cl
		}
	}
	t.Fatalf("no session %s", name)
	return nil
}

func (c *conversation) requests(t *testing.T, cl *client, d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		c.handle(cl, line)
		if !d.HasArg("quiet") {
			cl.settle()
			drained(t, c.db)
			out.WriteString(sorted(c.sent(t), d.HasArg("sort")))
		}
	}
	if d.HasArg("quiet") {
		cl.settle()
		return "ok"
	}
	return strings.ReplaceAll(out.String(), "(nothing)", "")
}

// handle does what a transport does with a message.
func (c *conversation) handle(cl *client, request string) {
	for i, p := range c.positions {
		request = strings.ReplaceAll(request, fmt.Sprintf(`"@%d"`, i+1), `"`+p+`"`)
	}
	m, err := wire.ParseMessage(`{"t":"d","d":` + strings.TrimSpace(request) + `}`)
	var bad *wire.FormatError
	switch {
	case errors.As(err, &bad) && bad.ID >= 0:
		cl.out.PushFrame(wire.AppendError(nil, bad.ID, wire.StatusInvalidParameters, bad.Msg))
	case err != nil:
		cl.t.Fatalf("%s: %v", request, err)
	default:
		cl.session.Handle(context.Background(), m.Request)
	}
}

func (c *conversation) together(t *testing.T, input string) string {
	g := closeGate(t, c.db)
	for line := range strings.Lines(input) {
		name, request, _ := strings.Cut(line, " ")
		c.handle(c.client(t, name), request)
	}
	close(g.open)
	for _, cl := range c.clients {
		cl.t = t
		cl.settle()
	}
	return c.sent(t)
}

// sent takes what the sessions were sent.
func (c *conversation) sent(t *testing.T) string {
	var out strings.Builder
	for _, cl := range c.clients {
		cl.t = t
		for _, frame := range cl.frames() {
			fmt.Fprintf(&out, "%s< %s\n", cl.name, c.named(frame))
		}
		if err := cl.out.Closing(); err != nil {
			fmt.Fprintf(&out, "%s is disconnected: %v\n", cl.name, err)
		}
	}
	if out.Len() == 0 {
		return "(nothing)"
	}
	return out.String()
}

// named returns a message with the name of the position that it has.
func (c *conversation) named(frame string) string {
	text, ok := strings.CutPrefix(frame, `{"a":"at","b":{"d":"`)
	if !ok {
		return frame
	}
	text = strings.TrimSuffix(text, `"}}`)
	i := slices.Index(c.positions, text)
	if i < 0 {
		i, c.positions = len(c.positions), append(c.positions, text)
	}
	return fmt.Sprintf("at @%d", i+1)
}

func (c *conversation) left(t *testing.T) string {
	var out strings.Builder
	err := c.db.store.View(func(tx *store.Tx) error {
		for p, err := range tx.Disconnects().All() {
			if err != nil {
				return err
			}
			var records pending.Writes
			if err := records.Restore(p); err != nil {
				return err
			}
			for w := range records.All() {
				n := tree.FromCanonical(w.Value.Text())
				fmt.Fprintf(&out, "%s %s %s", strings.TrimPrefix(p.Session, "session-"), w.Target, n.JSON())
				if w.Only != nil {
					fmt.Fprintf(&out, " if %s is %s", w.Only.Path, w.Only.Value.JSON())
				}
				out.WriteByte('\n')
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Len() == 0 {
		return "(nothing)"
	}
	return out.String()
}
