package dogwood

import (
	"context"
	"testing"

	"github.com/dogwooddb/dogwood/sdk-go/internal/replica"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// deaf is a Conn without another end.
type deaf struct{}

func (deaf) Send([]byte) error { return nil }

func (deaf) Receive() ([]byte, error) { select {} }

func (deaf) Close() error { return nil }

// Whatever a server says, the client does not break.
func FuzzServerMessages(f *testing.F) {
	for _, text := range []string{
		`{"t":"d","d":{"a":"d","b":{"p":"a","d":{"b":1}}}}`,
		`{"t":"d","d":{"a":"d","b":{"p":"list/x/.priority","d":1,"t":1}}}`,
		`{"t":"d","d":{"a":"m","b":{"p":"list","d":{"x":null,"y":{"z":[1]}},"t":1}}}`,
		`{"t":"d","d":{"r":1,"b":{"s":"ok","d":{"w":["no_index"]}}}}`,
		`{"t":"d","d":{"r":2,"b":{"s":"permission_denied","d":"no"}}}`,
		`{"t":"d","d":{"r":3,"b":{"s":"datastale","d":5}}}`,
		`{"t":"d","d":{"a":"c","b":{"p":"list","q":[{"vf":"r","l":2}]}}}`,
		`{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":""}}}`,
		`{"t":"c","d":{"t":"s","d":{"x":1}}}`,
	} {
		f.Add([]byte(text), []byte(text))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		c := &Client{options: Options{}.withDefaults(), slots: make(chan struct{}, 9), asked: make(map[int64]asked)}
		c.ctx, c.cancel = context.WithCancel(t.Context())
		defer c.cancel()
		c.replica = replica.New((*listens)(c))
		c.link = &link{conn: deaf{}, done: make(chan struct{}), wake: make(chan struct{}, 1)}
		whole, v, stopWhole, _ := c.follow(tree.MustParsePath("a"), tree.Query{})
		_, _, stopWindow, _ := c.follow(tree.MustParsePath("list"), tree.Query{Limit: 2, FromLast: true})
		if err := c.begin(t.Context(), &request{op: "set", encode: func(dst []byte, _ int64) []byte { return dst }}, nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{one, two} {
			if m, err := wire.ParseServerMessage(text); err == nil {
				_ = c.handle(m) // most of it is refused
			}
		}
		if s, ok, _ := whole.pop(); ok && s.Node.JSON() == "" {
			t.Error("a node has no text")
		}
		_ = v.State()
		stopWhole()
		stopWindow()
	})
}
