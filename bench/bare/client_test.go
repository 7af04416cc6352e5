package bare

import (
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(url, "http:", "ws:", 1)+"/.ws?v=5", nil)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

func say(ws *websocket.Conn, text string) error {
	return ws.WriteMessage(websocket.TextMessage, []byte(text))
}

func hear(t *testing.T, ws *websocket.Conn, want ...string) {
	t.Helper()
	for _, w := range want {
		_, got, err := ws.ReadMessage()
		if err != nil {
			t.Fatalf("%v, want %s", err, w)
		}
		if string(got) != w {
			t.Fatalf("got %s, want %s", got, w)
		}
	}
}

// A conversation, in the messages of the protocol: the requests of ana, the events for bo,
// which follows two paths, and the answers.
func TestConversation(t *testing.T) {
	_, url, ended := serve(t)
	ana, bo := dial(t, url), dial(t, url)
	defer ended()
	defer ana.Close()
	defer bo.Close()
	hear(t, ana, hello)
	hear(t, bo, hello)
	for _, listen := range []string{
		`{"t":"d","d":{"r":1,"a":"q","b":{"p":"v","h":""}}}`,
		`{"t":"d","d":{"r":1,"a":"q","b":{"p":"/messages/r1","q":{"l":5},"t":1,"h":""}}}`,
	} {
		if err := say(bo, listen); err != nil {
			t.Fatal(err)
		}
		hear(t, bo, `{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}`)
	}
	if err := say(ana, "0"); err != nil { // keep-alive
		t.Fatal(err)
	}
	for _, step := range []struct{ says, bo, ana string }{
		{`{"t":"d","d":{"r":1,"a":"auth","b":{"cred":"x"}}}`, ``, `{"t":"d","d":{"r":1,"b":{"s":"ok","d":""}}}`},
		{
			`{"t":"d","d":{"r":2,"a":"p","b":{"p":"/v","d":{"n":1}}}}`,
			`{"t":"d","d":{"a":"d","b":{"p":"v","d":{"n":1}}}}`,
			`{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}`,
		},
		{`{"t":"d","d":{"r":3,"a":"p","b":{"p":"w","d":1}}}`, ``, `{"t":"d","d":{"r":3,"b":{"s":"ok","d":""}}}`},
		{
			`{"t":"d","d":{"r":4,"a":"m","b":{"p":"/","d":{"messages/r1/-K":{"text":"} \" {","sent":{".sv":"timestamp"}},"rooms/r1/last":"-K"}}}}`,
			`{"t":"d","d":{"a":"m","b":{"p":"messages/r1","d":{"-K":{"text":"} \" {","sent":{".sv":"timestamp"}},"-N000000000000000000":null},"t":1}}}`,
			`{"t":"d","d":{"r":4,"b":{"s":"ok","d":""}}}`,
		},
		{`{"t":"d","d":{"r":5,"a":"m","b":{"p":"/","d":{"rooms/r1/last":"-K"}}}}`, ``, `{"t":"d","d":{"r":5,"b":{"s":"ok","d":""}}}`},
	} {
		if err := say(ana, step.says); err != nil {
			t.Fatal(err)
		}
		if step.bo != "" {
			hear(t, bo, step.bo)
		}
		hear(t, ana, step.ana)
	}
}
