package servertest

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/leaktest"
)

func TestMain(m *testing.M) {
	http.DefaultTransport = &http.Transport{DisableKeepAlives: true} // no connection outlives its test
	leaktest.Main(m)
}

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

// Rules apply to clients with a token, not to the test itself.
func TestRules(t *testing.T) {
	s := New(t, Options{})
	s.SetRules(`{"rules": {".write": "auth.uid == 'ana' && auth.token.level == 3"}}`)
	s.Set("a", "1")
	for _, test := range []struct {
		token string
		want  int
	}{
		{Token("ana", map[string]any{"level": 3}), http.StatusOK},
		{Token("ana", nil), http.StatusUnauthorized},
		{Token("bo", map[string]any{"level": 3}), http.StatusUnauthorized},
	} {
		u := "http://" + s.Host + "/a.json?ns=" + Namespace + "&auth=" + url.QueryEscape(test.token)
		req, err := http.NewRequest(http.MethodPut, u, strings.NewReader("2"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != test.want {
			t.Errorf("%s: %s, want %d", test.token, res.Status, test.want)
		}
	}
	if got := s.Get("a"); got != "2" {
		t.Errorf("a = %s", got)
	}
}

// Places that a data document declares follow from writes.
func TestData(t *testing.T) {
	s := New(t, Options{})
	s.SetData(`{"format": "dogwood-data/1", "define": {"members": {"count": "/members/$g/$u", "to": "/sizes/$g"}}}`)
	s.Set("members/g", `{"ana":true,"bo":true}`)
	if got := s.Get("sizes"); got != `{"g":2}` {
		t.Errorf("sizes = %s", got)
	}
}

// A database that was given no data document has that of the options, also when they change.
func TestDefaultData(t *testing.T) {
	define := func(to string) *derive.Document {
		d, err := derive.Parse(`{"format": "dogwood-data/1", "define": {"members": {"count": "/` + to + `/$g/$u", "to": "/sizes/` + to + `/$g"}}}`)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	s := New(t, Options{Data: define("a"), DataOf: map[string]*derive.Document{"own": define("b")}})
	s.Set("/", `{"a":{"g":{"x":1}},"b":{"g":{"x":1}}}`)
	if got := s.Get("sizes"); got != `{"a":{"g":1}}` {
		t.Errorf("sizes = %s", got)
	}
	s.Set("/", "null")
	kept, err := s.SetDefaultData(t.Context(), define("c"), nil)
	if err != nil || len(kept) != 0 {
		t.Error(kept, err)
	}
	s.Set("/", `{"a":{"g":{"x":1}},"c":{"g":{"x":1,"y":1}}}`)
	if got := s.Get("sizes"); got != `{"c":{"g":2}}` {
		t.Errorf("sizes = %s", got)
	}
	s.Set("/", "null")
	s.SetData(define("d").Source())
	if kept, err := s.SetDefaultData(t.Context(), define("e"), nil); err != nil || len(kept) != 1 || kept[0] != Namespace {
		t.Error(kept, err)
	}
	s.Set("/", `{"d":{"g":{"x":1}},"e":{"g":{"x":1}}}`)
	if got := s.Get("sizes"); got != `{"d":{"g":1}}` {
		t.Errorf("sizes = %s", got)
	}
}
