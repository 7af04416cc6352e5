package wire

import (
	"slices"
	"testing"
)

// lookupsOf parses a request and reads its entries up to the first error.
func lookupsOf(t *testing.T, body string) (list []Lookup, err error) {
	t.Helper()
	m, err := ParseMessage(`{"t":"d","d":{"r":1,"a":"bg","b":` + body + `}}`)
	if err != nil {
		return nil, err
	}
	for l, err := range m.Request.Body.ReadLookups() {
		if err != nil {
			return list, err
		}
		list = append(list, l)
	}
	return list, nil
}

func TestReadLookups(t *testing.T) {
	for _, c := range []struct {
		body string
		want []Lookup
		err  string
	}{
		{body: `{"g":[]}`},
		{body: `{}`},
		{
			body: `{"g":[ {"p":"/a"} , {"q":{"l":1},"p":""},{"k":"/u/\u0061","c":"/g/$key","q":{}} ]}`,
			want: []Lookup{{Path: "/a"}, {Query: `{"l":1}`}, {Path: "/u/a", Query: `{}`, Each: "/g/$key"}},
		},
		{body: `{"g":[{"p":"/a","other":[1,2]}]}`, want: []Lookup{{Path: "/a"}}},
		{body: `{"g":{}}`, err: "malformed message: b.g is {}, want an array"},
		{body: `{"g":[{"p":"/a"},1]}`, want: []Lookup{{Path: "/a"}}, err: "malformed message: b.g[1] is 1, want an object"},
		{body: `{"g":[{"p":1}]}`, err: "malformed message: b.g[0].p is 1, want a string"},
		{body: `{"g":[{"p":"","q":[]}]}`, err: "malformed message: b.g[0].q is [], want an object"},
		{body: `{"g":[{}]}`, err: "malformed message: b.g[0] is {}, want p, or k and c"},
		{body: `{"g":[{"p":"a","c":"$key"}]}`, err: `malformed message: b.g[0] is {"p":"a","c":"$key"}, want p, or k and c`},
		{body: `{"g":[{"k":"a"}]}`, err: `malformed message: b.g[0] is {"k":"a"}, want p, or k and c`},
	} {
		got, err := lookupsOf(t, c.body)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(got, c.want) || text != c.err {
			t.Errorf("%s: %+v, %q, want %+v, %q", c.body, got, text, c.want, c.err)
		}
	}
}

// Requests that were appended are read back.
func TestAppendGetAll(t *testing.T) {
	want := []Lookup{{Path: `/a"b`}, {Path: "/x", Query: `{"l":1,"vf":"r"}`}, {Path: "/k", Each: "/g/$key/n"}, {Path: "/k", Query: `{}`, Each: "$key"}}
	text := string(AppendGetAll(nil, 7, want))
	m, err := ParseMessage(text)
	if err != nil || m.Request.ID != 7 || m.Request.Action != ActionGetAll {
		t.Fatalf("%s: %+v, %v", text, m.Request, err)
	}
	got, err := lookupsOf(t, m.Request.Body.Raw)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
	}
}

// FuzzReadLookups: whatever is in a request, its entries are refused, or appended
// and read again they are the same.
func FuzzReadLookups(f *testing.F) {
	f.Add(`[{"p":"/a"},{"k":"/u","c":"/g/$key","q":{"l":2,"i":".key"}}]`)
	f.Add(`[ {"p" : "\u0061" , "q":{} } , [] ]`)
	f.Add(`[[],"]",{"p":"]}"}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		list, err := lookupsOf(t, `{"g":`+raw+`}`)
		if err != nil {
			return
		}
		m, err := ParseMessage(string(AppendGetAll(nil, 1, list)))
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		again, err := lookupsOf(t, m.Request.Body.Raw)
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("%q: %+v, then %+v, %v", raw, list, again, err)
		}
	})
}
