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
		if string(test.got) != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, test.got, test.want)
		}
		if _, err := ParseMessage(string(test.got)); err != nil {
			t.Errorf("%s: %s is refused: %v", test.name, test.got, err)
		}
	}
}

// What is written reads back.
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
