package wire

import (
	"testing"

	"pgregory.net/rapid"
)

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
		if string(c.got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, c.got, c.want)
		}
		if _, err := ParseMessage(string(c.got)); err != nil {
			t.Errorf("%s: %s is refused: %v", c.name, c.got, err)
		}
	}
}

// What is written reads back.
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
