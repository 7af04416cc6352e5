package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every request in the transcripts of the protocol document, and the forms of
// other clients.
func TestParseMessage(t *testing.T) {
	tests := []struct {
		text   string
		id     int64
		action string
		want   Body // without Raw
	}{
		{
			`{"t":"d","d":{"r":11,"a":"q","b":{"p":"/a","h":""}}}`, 11, ActionListen,
			Body{Path: "/a", HasPath: true, HasHash: true},
		}, {
			`{"t":"d","d":{"r":76,"a":"q","b":{"p":"/list","q":{"l":1,"vf":"r"},"t":16,"h":"g0sy="}}}`, 76, ActionListen,
			Body{Path: "/list", HasPath: true, Hash: "g0sy=", HasHash: true, Query: `{"l":1,"vf":"r"}`, HasQuery: true, Tag: 16, HasTag: true},
		}, {
			`{"t":"d","d":{"r":0,"a":"q","b":{"h":"x","p":"a","ch":{"hs":[""],"ps":[]}}}}`, 0, ActionListen,
			Body{Path: "a", HasPath: true, Hash: "x", HasHash: true, CompoundHash: `{"hs":[""],"ps":[]}`},
		}, {
			`{"t":"d","d":{"r":5,"a":"g","b":{"p":"/","q":{}}}}`, 5, ActionGet,
			Body{Path: "/", HasPath: true, Query: `{}`, HasQuery: true},
		}, {
			`{"t":"d","d":{"r":4,"a":"p","b":{"p":"/a/b/x","d":null}}}`, 4, ActionPut,
			Body{Path: "/a/b/x", HasPath: true, Data: `null`, HasData: true},
		}, {
			`{"t":"d","d":{"r":4,"a":"p","b":{"p":"/a"}}}`, 4, ActionPut,
			Body{Path: "/a", HasPath: true},
		}, {
			`{"t":"d","d":{"r":56,"a":"p","b":{"p":"/cnt","d":101,"h":"5PG1="}}}`, 56, ActionPut,
			Body{Path: "/cnt", HasPath: true, Data: `101`, HasData: true, Hash: "5PG1=", HasHash: true},
		}, {
			`{"t":"d","d":{"r":1,"a":"p","b":{"p":"/a","d":"it \"is\" {[,"}}}`, 1, ActionPut,
			Body{Path: "/a", HasPath: true, Data: `"it \"is\" {[,"`, HasData: true},
		}, {
			`{"t":"d","d":{"r":8,"a":"m","b":{"p":"/","d":{"a/b/y":"t","g":null}}}}`, 8, ActionMerge,
			Body{Path: "/", HasPath: true, Data: `{"a/b/y":"t","g":null}`, HasData: true},
		}, {
			`{"t":"d","d":{"r":65,"a":"oc","b":{"p":"/pres/u","d":null}}}`, 65, ActionDisconnectStop,
			Body{Path: "/pres/u", HasPath: true, Data: `null`, HasData: true},
		}, {
			`{"t":"d","d":{"r":2,"a":"gauth","b":{"cred":"owner"}}}`, 2, ActionAdminAuth,
			Body{Cred: "owner"},
		}, {
			`{"t":"d","d":{"r":2,"a":"gauth","b":{"cred":"ya29","authvar":{"uid":"u"}}}}`, 2, ActionAdminAuth,
			Body{Cred: "ya29", AuthVar: `{"uid":"u"}`, HasAuthVar: true},
		}, {
			`{"t":"d","d":{"r":2,"a":"gauth","b":{"cred":"ya29","noauth":true}}}`, 2, ActionAdminAuth,
			Body{Cred: "ya29", NoAuth: true},
		}, {
			`{"t":"d","d":{"r":3,"a":"appcheck","b":{"token":"x"}}}`, 3, ActionAppCheck,
			Body{Token: "x"},
		}, {
			`{"t":"d","d":{"r":9,"a":"unauth","b":{}}}`, 9, ActionUnauth,
			Body{},
		}, {
			`{"t":"d","d":{"r":1,"a":"s","b":{"c":{"sdk.node.12-19-0":1}}}}`, 1, ActionStats,
			Body{Counters: `{"sdk.node.12-19-0":1}`},
		}, {
			" { \"d\" : { \"b\" : { \"d\" : [ 1 , 2 ] , \"p\" : \"a\" } ,\n\"a\" : \"p\" , \"r\" : 7 } ,\t\"t\" : \"d\" }\r\n", 7, ActionPut,
			Body{Path: "a", HasPath: true, Data: `[ 1 , 2 ]`, HasData: true},
		}, { // an escape in a key, an unknown key, and the last of two keys wins
			`{"t":"c","\u0074":"d","d":{"r":1,"a":"n","x":[{}],"b":{"\u0070":"\/r\u00e9\ud83d\ude00","y":1}}}`, 1, ActionUnlisten,
			Body{Path: "/ré😀", HasPath: true},
		}, { // an escaped half of a pair loses itself, not its neighbours
			`{"t":"d","d":{"r":1,"a":"n","b":{"p":"a\ud800\u0041"}}}`, 1, ActionUnlisten,
			Body{Path: "a\uFFFDA", HasPath: true},
		},
	}
	for _, test := range tests {
		m, err := ParseMessage(test.text)
		if err != nil {
			t.Errorf("ParseMessage(%s): %v", test.text, err)
			continue
		}
		r := m.Request
		if m.Control != nil || r.ID != test.id || r.Action != test.action {
			t.Errorf("ParseMessage(%s) = control %v, r %d, a %q, want r %d, a %q",
				test.text, m.Control, r.ID, r.Action, test.id, test.action)
		}
		if !isObject(r.Body.Raw) || !strings.Contains(test.text, r.Body.Raw) {
			t.Errorf("ParseMessage(%s): Raw = %s, want the body", test.text, r.Body.Raw)
		}
		r.Body.Raw = ""
		if r.Body != test.want {
			t.Errorf("ParseMessage(%s):\n got %+v\nwant %+v", test.text, r.Body, test.want)
		}
	}
}

func TestParseControl(t *testing.T) {
	tests := []struct {
		text string
		want Control
	}{
		{`{"t":"c","d":{"t":"p","d":{}}}`, Control{ControlPing, `{}`}},
		{`{"d":{"d":{},"t":"a"},"t":"c"}`, Control{ControlSwitch, `{}`}},
		{`{"t":"c","d":{"t":"n"}}`, Control{ControlEnd, ``}},
	}
	for _, test := range tests {
		m, err := ParseMessage(test.text)
		if err != nil || m.Control == nil || *m.Control != test.want {
			t.Errorf("ParseMessage(%s) = %v, %v, want %v", test.text, m.Control, err, test.want)
		}
	}
}

func TestParseMessageErrors(t *testing.T) {
	tests := []struct {
		text string
		id   int64
		msg  string
	}{
		{``, -1, `not JSON`},
		{`hello`, -1, `not JSON`},
		{`{"t":"d","d":{}`, -1, `not JSON`},
		{`{"t":"d","d":{}}}`, -1, `not JSON`},
		{`{"t":"d","d":{"r":01,"a":"n","b":{}}}`, -1, `not JSON`},
		{"{\"t\":\"d\",\"d\":{\"r\":1,\"a\":\"\xff\",\"b\":{}}}", -1, `not UTF-8`},
		{`"x"`, -1, `not an object`},
		{`[{"t":"d"}]`, -1, `not an object`},
		{`1234567`, -1, `not an object`},
		{`{}`, -1, `d is absent, want an object`},
		{`{"d":{}}`, -1, `t is absent, want "c" or "d"`},
		{`{"t":"x","d":{}}`, -1, `t is "x", want "c" or "d"`},
		{`{"t":1,"d":{}}`, -1, `t is 1, want "c" or "d"`},
		{`{"t":"d","d":[]}`, -1, `d is [], want an object`},
		{`{"t":"c","d":{"d":{}}}`, -1, `t is absent, want a string`},
		{`{"t":"c","d":{"t":7,"d":{}}}`, -1, `t is 7, want a string`},
		{`{"t":"d","d":{"a":"n","b":{}}}`, -1, `r is absent, want an integer from 0`},
		{`{"t":"d","d":{"r":-1,"a":"n","b":{}}}`, -1, `r is -1, want an integer from 0`},
		{`{"t":"d","d":{"r":-0,"a":"n","b":{}}}`, -1, `r is -0, want an integer from 0`},
		{`{"t":"d","d":{"r":1.5,"a":"n","b":{}}}`, -1, `r is 1.5, want an integer from 0`},
		{`{"t":"d","d":{"r":1e3,"a":"n","b":{}}}`, -1, `r is 1e3, want an integer from 0`},
		{`{"t":"d","d":{"r":9223372036854775808,"a":"n","b":{}}}`, -1, `r is 9223372036854775808, want an integer from 0`},
		{`{"t":"d","d":{"r":"1","a":"n","b":{}}}`, -1, `r is "1", want an integer from 0`},
		{`{"t":"d","d":{"r":3,"b":{}}}`, 3, `a is absent, want a string`},
		{`{"t":"d","d":{"r":3,"a":null,"b":{}}}`, 3, `a is null, want a string`},
		{`{"t":"d","d":{"r":3,"a":"n"}}`, 3, `b is absent, want an object`},
		{`{"t":"d","d":{"r":3,"a":"n","b":null}}`, 3, `b is null, want an object`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"p":5}}}`, 3, `b.p is 5, want a string`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"h":null}}}`, 3, `b.h is null, want a string`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"q":[]}}}`, 3, `b.q is [], want an object`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"t":0}}}`, 3, `b.t is 0, want an integer from 1`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"t":true}}}`, 3, `b.t is true, want an integer from 1`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"ch":""}}}`, 3, `b.ch is "", want an object`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"cred":{}}}}`, 3, `b.cred is {}, want a string`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"token":1}}}`, 3, `b.token is 1, want a string`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"noauth":1}}}`, 3, `b.noauth is 1, want a boolean`},
		{`{"t":"d","d":{"r":3,"a":"n","b":{"c":1}}}`, 3, `b.c is 1, want an object`},
		{
			`{"t":"d","d":{"r":3,"a":"n","b":{"p":[` + strings.Repeat("1,", 99) + `1]}}}`, 3,
			`b.p is [` + strings.Repeat("1,", 19) + `1, want a string`,
		},
	}
	for _, test := range tests {
		_, err := ParseMessage(test.text)
		var format *FormatError
		if !errors.As(err, &format) {
			t.Errorf("ParseMessage(%s): error %v, want a FormatError", test.text, err)
			continue
		}
		if format.ID != test.id || format.Msg != test.msg {
			t.Errorf("ParseMessage(%s):\n got %d %s\nwant %d %s", test.text, format.ID, format.Msg, test.id, test.msg)
		}
	}
}

func TestParseMessageNesting(t *testing.T) {
	const head, tail = `{"t":"d","d":{"r":1,"a":"p","b":{"p":"a","d":`, `}}}`
	nested := func(n int) string {
		return head + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + tail
	}
	if _, err := ParseMessage(nested(maxNesting - 3)); err != nil {
		t.Errorf("%d levels: %v", maxNesting, err)
	}
	deep := []string{
		nested(maxNesting - 2),
		nested(1e6),
		strings.Repeat(`[`, 1e6),
		strings.Repeat(`{"a":`, 1e6),
		strings.Repeat(`["]",`, 1e6),
	}
	for _, text := range deep {
		_, err := ParseMessage(text)
		want := &FormatError{ID: -1, Msg: "more than 100 levels"}
		if strings.HasPrefix(text, head) {
			want = &FormatError{ID: 1, Msg: TextTooDeep}
		}
		if format := (*FormatError)(nil); !errors.As(err, &format) || *format != *want {
			t.Errorf("ParseMessage(%.20s…) = %v, want %v", text, err, want)
		}
	}
	// Brackets in strings and side by side are not levels.
	for _, data := range []string{`"` + strings.Repeat(`[{\"`, 1000) + `"`, `[` + strings.Repeat(`[{}],`, 1000) + `0]`} {
		if _, err := ParseMessage(head + data + tail); err != nil {
			t.Errorf("ParseMessage(…%.20s…): %v", data, err)
		}
	}
}

// TestIDOfDeepMessages: a message that is too deep is answered if the id of its request is found,
// whatever else is wrong with it.
func TestIDOfDeepMessages(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for text, want := range map[string]int64{
		` {"d":{"b":{"d":` + deep + `},"a":"p","r":7} , "t":"d"}`:              7,
		`{"t":"d","d":{"r":7,"r":8,"b":` + deep + `}}`:                         8,
		`{"t":"d","d":{"b":{"r":5,"d":` + deep + `},"r":9}} behind`:            9,
		`{"t":"d","d":{"b":` + deep + `}}`:                                     -1,
		`{"t":"d","d":{"r":-1,"b":` + deep + `}}`:                              -1,
		`{"t":"d","d":{"r":"1","b":` + deep + `}}`:                             -1,
		`{"t":"c","d":{"r":1,"b":` + deep + `}}`:                               -1,
		`{"t":"d","d":[` + deep + `],"r":1}`:                                   -1,
		`{"t":"d","d":{"r":1,"b":` + strings.Repeat(`{"a":`, 200):              1,
		`{"d":{"b":` + deep + `,"r":4},"t":"d","x`:                             4,
		`{"d":{"b":` + deep + `,"r":4},"t":"d","x":`:                           4,
		`{"d":{"b":` + deep + `,"r":4},"t":"d","x"`:                            4,
		`{"d":{"b":` + deep + `,"r":4},"t":`:                                   -1,
		`{"d":{"b":` + deep + `,"r":` + strings.Repeat("9", 30) + `},"t":"d"}`: -1,
	} {
		_, err := ParseMessage(text)
		if format := (*FormatError)(nil); !errors.As(err, &format) || format.ID != want {
			t.Errorf("ParseMessage(%.30s…%.30s) = %v, want the id %d", text, text[max(0, len(text)-30):], err, want)
		}
	}
}

func TestFormatErrorText(t *testing.T) {
	_, err := ParseMessage(`{"t":"d","d":{"r":"1"}}`)
	const want = `malformed message: r is "1", want an integer from 0`
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestParseMessageAllocs(t *testing.T) {
	texts := []string{
		`{"t":"d","d":{"r":76,"a":"q","b":{"p":"/list","q":{"l":1,"vf":"r"},"t":16,"h":"g0syMO1vjATW0z0hTh+uQ0X1sd8="}}}`,
		`{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a/b","d":{"x":1.5,"y":"a \"quote\"","z":{"0":1}}}}}`,
	}
	for _, text := range texts {
		n := testing.AllocsPerRun(100, func() {
			if _, err := ParseMessage(text); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("ParseMessage(%s) allocates %v times, want 0", text, n)
		}
	}
}

// FuzzParseMessage compares with encoding/json: what is accepted means the same
// to both, and what is refused gives a FormatError.
func FuzzParseMessage(f *testing.F) {
	for _, text := range []string{
		`{"t":"d","d":{"r":76,"a":"q","b":{"p":"/list","q":{"l":1},"t":16,"h":"g="}}}`,
		`{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a","d":{"x":[1,null,true],"y":"\ud83d\ude00\\"}}}}`,
		`{"t":"d","d":{"r":2,"a":"gauth","b":{"cred":"x","authvar":null,"noauth":false}}}`,
		`{"t":"c","d":{"t":"p","d":{}}}`,
		" {\"\\u0074\" : \"c\",\"t\":\"d\" , \"d\" : {\"r\" : 1 , \"a\":\"s\",\"b\":{\"c\":{}} } } ",
		`{"t":"d","d":{"r":1,"a":"p","b":{"d":-0.0e+1}}}`,
		`[[[[`, `{"t":`, `0`, ``,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMessage(text)
		if err != nil {
			if format := new(FormatError); !errors.As(err, &format) || !utf8.ValidString(format.Msg) {
				t.Errorf("error %q, want a FormatError in UTF-8", err)
			}
			return
		}
		inner := object(t, object(t, json.RawMessage(text))["d"])
		if m.Control != nil {
			compareString(t, "t", inner["t"], m.Control.Type)
			compareRaw(t, "d", inner["d"], m.Control.Data)
			return
		}
		compareString(t, "a", inner["a"], m.Request.Action)
		compareRaw(t, "b", inner["b"], m.Request.Body.Raw)
		body := object(t, inner["b"])
		compareRaw(t, "b.d", body["d"], m.Request.Body.Data)
		compareRaw(t, "b.q", body["q"], m.Request.Body.Query)
		compareString(t, "b.p", body["p"], m.Request.Body.Path)
		if _, has := body["d"]; has != m.Request.Body.HasData {
			t.Errorf("HasData = %v, want %v", m.Request.Body.HasData, has)
		}
	})
}

func object(t *testing.T, raw json.RawMessage) (members map[string]json.RawMessage) {
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatalf("accepted, but encoding/json says %v", err)
	}
	return members
}

func compareRaw(t *testing.T, name string, want json.RawMessage, got string) {
	if got != string(want) {
		t.Errorf("%s = %q, want %q", name, got, want)
	}
}

func compareString(t *testing.T, name string, raw json.RawMessage, got string) {
	var want string
	if raw != nil {
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
	}
	if got != want {
		t.Errorf("%s = %q, want %q", name, got, want)
	}
}

func BenchmarkParseMessage(b *testing.B) {
	benchmarks := []struct{ name, text string }{
		{"listen", `{"t":"d","d":{"r":76,"a":"q","b":{"p":"/list","q":{"l":1,"vf":"r"},"t":16,"h":"g0syMO1vjATW0z0hTh+uQ0X1sd8="}}}`},
		{"put", `{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a/b","d":{"n":1,"done":false,"text":"` + strings.Repeat("the quick brown fox ", 9) + `"}}}}`},
		{"put1MB", `{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a/b","d":[` + strings.Repeat(`{"name":"Ana","n":12345},`, 40000) + `0]}}}`},
	}
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseMessage(bm.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
