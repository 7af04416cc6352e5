package servertest

import (
	"testing"

	"github.com/gorilla/websocket"
	"github.com/tidwall/gjson"
)

func TestServer(t *testing.T) {
	s := New(t, Options{})
	s.Set("/rooms/one", `{"name":"Lobby"}`)
	if got := s.Get("rooms/one/name"); got != `"Lobby"` {
		t.Errorf("name = %s", got)
	}
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+s.Host+"/.ws?v=5&ns="+Namespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	_, hello, err := ws.ReadMessage()
	if err != nil || gjson.GetBytes(hello, "d.t").String() != "h" {
		t.Errorf("hello = %s, %v", hello, err)
	}
	s.Set("/", "null")
	if got := s.Get("/"); got != "null" {
		t.Errorf("root = %s", got)
	}
}
