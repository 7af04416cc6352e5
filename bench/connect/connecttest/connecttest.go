// Package connecttest has a server whose side of a realtime connection a test writes.
package connecttest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorilla/websocket"
)

// Hello is the first message of a server.
const Hello = `{"t":"c","d":{"t":"h","d":{"ts":1,"v":"5","h":"x","s":"1"}}}`

// Server starts a server that runs f for each connection, and returns its address.
func Server(t *testing.T, f func(ws *websocket.Conn)) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		f(ws)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Say sends messages. The reader notices if some are missing.
func Say(ws *websocket.Conn, texts ...string) {
	for _, text := range texts {
		_ = ws.WriteMessage(websocket.TextMessage, []byte(text))
	}
}
