package server

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/server/realtime"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

func protocolDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProtocolConversation plays the conversation of docs/protocol.md: the clients
// send what it says, and the server must answer what it says.
func TestProtocolConversation(t *testing.T) {
	c := conversation{
		network: onSocket(t, Options{Dev: true}),
		clients: make(map[string]*wsClient),
		ids:     make(map[string]string),
	}
	blocks := regexp.MustCompile("(?s)```conversation\n(.*?)```").FindAllStringSubmatch(protocolDocs(t), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/protocol.md has no conversation")
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			c.play(strings.TrimSuffix(line, "\n"))
		}
	}
	for name, client := range c.clients {
		client.request("s", `{"c":{}}`)
		if got := inEnvelope(client.next()); !strings.HasPrefix(got, `{"r":1,"b":{"s":"ok"`) {
			t.Errorf("%s was sent %s, which the conversation does not have", name, got)
		}
	}
}

// A conversation plays lines such as "A> …", which client A sends, and "A< …",
// which it is sent.
type conversation struct {
	*network
	clients map[string]*wsClient
	ids     map[string]string // of sessions, by those in the document
}

func (c *conversation) play(line string) {
	c.t.Helper()
	arrow, text, _ := strings.Cut(line, " ")
	name := strings.TrimRight(arrow, "<>")
	target, connects := strings.CutPrefix(text, "GET ")
	switch {
	case connects:
		c.clients[name] = c.dialDocs(target)
	case text == "close":
		c.clients[name].ws.Close()
		delete(c.clients, name)
	case strings.HasSuffix(arrow, ">"):
		c.clients[name].send(`{"t":"d","d":` + text + `}`)
	case strings.HasPrefix(text, `{"t":"c"`):
		c.hello(c.clients[name].next(), text)
	default:
		if got := inEnvelope(c.clients[name].next()); got != text {
			c.t.Fatalf("%s is sent\n%s\nthe document says\n%s", name, got, text)
		}
	}
}

// dialDocs connects as the document says, but for the ids of sessions.
func (c *conversation) dialDocs(target string) *wsClient {
	c.t.Helper()
	for inDocs, id := range c.ids {
		target = strings.ReplaceAll(target, inDocs, id)
	}
	d := websocket.Dialer{NetDialContext: c.dial}
	ws, _, err := d.Dial("ws://localhost:9000"+target, nil)
	if err != nil {
		c.t.Fatalf("dial %s: %v", target, err)
	}
	c.t.Cleanup(func() { ws.Close() })
	return &wsClient{t: c.t, ws: ws}
}

// hello compares a hello with that in the document, which has another time and
// another session.
func (c *conversation) hello(got, inDocs string) {
	c.t.Helper()
	c.ids[gjson.Get(inDocs, "d.d.s").String()] = gjson.Get(got, "d.d.s").String()
	for _, member := range []string{"d.d.ts", "d.d.s"} {
		inDocs = strings.Replace(inDocs, gjson.Get(inDocs, member).Raw, gjson.Get(got, member).Raw, 1)
	}
	if got != inDocs {
		c.t.Fatalf("hello\n%s\nthe document says\n%s", got, inDocs)
	}
}

// inEnvelope returns the data of a message.
func inEnvelope(message string) string { return gjson.Get(message, "d").Raw }

// TestProtocolHashes checks the table of hashes in docs/protocol.md.
func TestProtocolHashes(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `[^`]+` \\| `([^`]{27}=)` \\|$").FindAllStringSubmatch(protocolDocs(t), -1)
	if len(rows) == 0 {
		t.Fatal("docs/protocol.md has no hashes")
	}
	for _, row := range rows {
		if got := tree.MustParseNode(row[1]).Hash(); got != row[2] {
			t.Errorf("hash of %s = %s, docs/protocol.md says %s", row[1], got, row[2])
		}
	}
}

// TestProtocolNumbers: docs/protocol.md has the times and bounds that are in
// force, and every status and extension.
func TestProtocolNumbers(t *testing.T) {
	docs := strings.Join(strings.Fields(protocolDocs(t)), " ") // wherever lines end
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", d/time.Second) }
	texts := []string{
		"more than " + thousands(wire.MaxUnit) + " UTF-16 code units",
		"at most " + thousands(wire.MaxPieces) + " pieces",
		"sends a WebSocket ping every " + seconds(realtime.PingEvery),
		"sent no first message for " + seconds(realtime.FirstMessage),
		"has sent nothing for " + seconds(realtime.Silence),
		"stops for " + seconds(realtime.Stalled),
		fmt.Sprintf("| depth | %d keys", tree.MaxDepth),
		fmt.Sprintf("| length of a key | %d bytes", tree.MaxKeyBytes),
		fmt.Sprintf("| a string | %d MiB", tree.MaxStringBytes>>20),
		"The first poll must come within " + seconds(realtime.PollFirst),
		"until there is something to send, for " + seconds(realtime.PollHold),
		"no poll has come for " + seconds(realtime.PollIdle),
		fmt.Sprintf("about %d KiB at most", realtime.PollBatch>>10),
		fmt.Sprintf("up to %d ahead", wire.DefaultMaxAhead),
		"It waits for " + seconds(realtime.UpgradeTimeout),
	}
	for _, feature := range wire.Features {
		texts = append(texts, "| `"+feature+"` | [")
	}
	for _, status := range []string{
		wire.StatusOK, wire.StatusPermissionDenied, wire.StatusInvalidParameters, wire.StatusDataStale,
		wire.StatusTooBig, wire.StatusInvalidToken, wire.StatusExpiredToken, wire.StatusUnavailable,
		wire.StatusFailed, wire.StatusError,
	} {
		texts = append(texts, "`"+status+"`")
	}
	for _, text := range texts {
		if !strings.Contains(docs, text) {
			t.Errorf("docs/protocol.md does not say %q", text)
		}
	}
}
