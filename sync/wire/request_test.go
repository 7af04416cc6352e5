package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestAppendRequest(t *testing.T) {
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{
			"listen", AppendListen(nil, 2, "/a", "", 0, ""),
			`{"t":"d","d":{"r":2,"a":"q","b":{"p":"/a","h":""}}}`,
		}, {
			"filtered listen", AppendListen(nil, 3, "/a", `{"l":2,"vf":"r"}`, 12, "x="),
			`{"t":"d","d":{"r":3,"a":"q","b":{"p":"/a","q":{"l":2,"vf":"r"},"t":12,"h":"x="}}}`,
		},
		{"get", AppendGet(nil, 0, "/a", ""), `{"t":"d","d":{"r":0,"a":"g","b":{"p":"/a","q":{}}}}`},
		{"query", AppendGet(nil, 0, "/a", `{"i":"n"}`), `{"t":"d","d":{"r":0,"a":"g","b":{"p":"/a","q":{"i":"n"}}}}`},
		{"put", AppendPut(nil, 7, `/a"`, `{"x":1}`), `{"t":"d","d":{"r":7,"a":"p","b":{"p":"/a\"","d":{"x":1}}}}`},
		{"merge", AppendMerge(nil, 8, "/", []byte(`{"a/b":1}`)), `{"t":"d","d":{"r":8,"a":"m","b":{"p":"/","d":{"a/b":1}}}}`},
		{"auth", AppendAuth(nil, 9, ActionAuth, "a.b.c"), `{"t":"d","d":{"r":9,"a":"auth","b":{"cred":"a.b.c"}}}`},
		{"admin auth", AppendAuth(nil, 9, ActionAdminAuth, "owner"), `{"t":"d","d":{"r":9,"a":"gauth","b":{"cred":"owner"}}}`},
	}
	for _, test := range tests {
		expectRequest(t, test.name, test.got, test.want)
	}
}

// expectRequest compares a request with what it is to be, and parses it.
func expectRequest(t *testing.T, name string, got []byte, want string) {
	t.Helper()
	if string(got) != want {
		t.Errorf("%s:\n got %s\nwant %s", name, got, want)
	}
	if _, err := ParseMessage(string(got)); err != nil {
		t.Errorf("%s: %s is refused: %v", name, got, err)
	}
}

// Requests that were appended are read back.
func TestRequestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(0, 1<<53).Draw(t, "id")
		path := rapid.String().Draw(t, "path")
		tag := rapid.Int64Range(0, 1<<53).Draw(t, "tag")
		query := rapid.SampledFrom([]string{"", `{"l":1}`}).Draw(t, "query")
		data := rapid.SampledFrom([]string{`null`, `{"a":[1,"}"]}`, `"x"`}).Draw(t, "data")
		for _, c := range []struct {
			text []byte
			want Request
		}{
			{
				AppendListen(nil, id, path, query, tag, "h"),
				Request{ID: id, Action: ActionListen, Body: Body{
					Path: path, HasPath: true, Query: query, HasQuery: query != "",
					Tag: tag, HasTag: tag != 0, Hash: "h", HasHash: true,
				}},
			}, {
				AppendPut(nil, id, path, data),
				Request{ID: id, Action: ActionPut, Body: Body{Path: path, HasPath: true, Data: data, HasData: true}},
			}, {
				AppendMerge(nil, id, path, data),
				Request{ID: id, Action: ActionMerge, Body: Body{Path: path, HasPath: true, Data: data, HasData: true}},
			}, {
				AppendAuth(nil, id, ActionAuth, path),
				Request{ID: id, Action: ActionAuth, Body: Body{Cred: path}},
			},
		} {
			m, err := ParseMessage(string(c.text))
			m.Request.Body.Raw = ""
			if err != nil || m.Control != nil || m.Request != c.want {
				t.Fatalf("%s reads as %+v, %v, want %+v", c.text, m.Request, err, c.want)
			}
		}
	})
}

func TestAppendRequestAllocs(t *testing.T) {
	buf := make([]byte, 0, 4096)
	data := []byte(`{"name":"Lobby"}`)
	for name, f := range map[string]func(){
		"AppendPut":    func() { AppendPut(buf, 12, "rooms/ré1", data) },
		"AppendListen": func() { AppendListen(buf, 12, "rooms", `{"l":1}`, 1, "") },
		"AppendGet":    func() { AppendGet(buf, 12, "rooms", "") },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", name, n)
		}
	}
}

func TestAppendClientRequest(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"unlisten", AppendUnlisten(nil, 13, "/a", "", 0), `{"t":"d","d":{"r":13,"a":"n","b":{"p":"/a"}}}`},
		{
			"unlisten query", AppendUnlisten(nil, 14, "/a", `{"l":2,"vf":"r"}`, 16),
			`{"t":"d","d":{"r":14,"a":"n","b":{"p":"/a","q":{"l":2,"vf":"r"},"t":16}}}`,
		},
		{"put if", AppendPutIf(nil, 55, "/cnt", `1`, ""), `{"t":"d","d":{"r":55,"a":"p","b":{"p":"/cnt","d":1,"h":""}}}`},
		{
			"on disconnect", AppendDisconnect(nil, 61, ActionDisconnectPut, "/pres/u", `{"off":{".sv":"timestamp"}}`),
			`{"t":"d","d":{"r":61,"a":"o","b":{"p":"/pres/u","d":{"off":{".sv":"timestamp"}}}}}`,
		},
		{
			"cancel", AppendDisconnect(nil, 65, ActionDisconnectStop, "/pres/u", `null`),
			`{"t":"d","d":{"r":65,"a":"oc","b":{"p":"/pres/u","d":null}}}`,
		},
		{"sign out", AppendSignOut(nil, 3), `{"t":"d","d":{"r":3,"a":"unauth","b":{}}}`},
	} {
		expectRequest(t, c.name, c.got, c.want)
	}
}

// Requests that were appended are read back.
func TestClientRequestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(0, 1<<53).Draw(t, "id")
		path := rapid.String().Draw(t, "path")
		tag := rapid.Int64Range(0, 1<<53).Draw(t, "tag")
		query := rapid.SampledFrom([]string{"", `{"l":1}`}).Draw(t, "query")
		data := rapid.SampledFrom([]string{`null`, `{"a":[1,"}"]}`, `"x"`}).Draw(t, "data")
		place := Body{Path: path, HasPath: true}
		value := place
		value.Data, value.HasData = data, true
		checked := value
		checked.Hash, checked.HasHash = path, true
		view := place
		view.Query, view.HasQuery, view.Tag, view.HasTag = query, query != "", tag, tag != 0
		for _, c := range []struct {
			text []byte
			want Request
		}{
			{AppendUnlisten(nil, id, path, query, tag), Request{ID: id, Action: ActionUnlisten, Body: view}},
			{AppendPutIf(nil, id, path, data, path), Request{ID: id, Action: ActionPut, Body: checked}},
			{AppendDisconnect(nil, id, ActionDisconnectMerge, path, data), Request{ID: id, Action: ActionDisconnectMerge, Body: value}},
			{AppendSignOut(nil, id), Request{ID: id, Action: ActionUnauth}},
		} {
			m, err := ParseMessage(string(c.text))
			m.Request.Body.Raw = ""
			if err != nil || m.Control != nil || m.Request != c.want {
				t.Fatalf("%s reads as %+v, %v, want %+v", c.text, m.Request, err, c.want)
			}
		}
	})
}
