package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestParseServerMessage(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // as show prints it, or the beginning of the error
	}{
		{`{"t":"c","d":{"t":"h","d":{"ts":1,"v":"5","h":"x","s":"1"}}}`, `control h {"ts":1,"v":"5","h":"x","s":"1"}`},
		{`{"d":{"d":null,"t":"o"},"t":"c"}`, `control o null`},
		{`{"t":"c","d":{"t":"zz"}}`, `control zz -`},
		{`{"t":"d","d":{"r":12,"b":{"s":"ok","d":""}}}`, `response 12 ok ""`},
		{` { "d" : { "b" : { "d" : { "a" : "}" } , "s" : "datastale" } , "r" : 0 } , "t" : "d" } `, `response 0 datastale { "a" : "}" }`},
		{`{"t":"d","d":{"r":8,"b":{"s":"permission_denied","d":"no","rule":"/a/.write"}}}`, `response 8 permission_denied "no" by "/a/.write"`},
		{`{"t":"d","d":{"r":1,"b":{"s":"no\"ne"}}}`, `response 1 no"ne -`},
		{`{"t":"d","d":{"a":"d","b":{"p":"a/b","d":{"c":[3]}}}}`, `push d "a/b" tag 0 {"c":[3]}`},
		{`{"t":"d","d":{"a":"m","b":{"p":"a\u0062","d":{},"t":7},"x":[{}]}}`, `push m "ab" tag 7 {}`},
		{`{"t":"d","d":{"a":"c","b":{"p":"a","q":[{"l":1}]}}}`, `push c "a" tag 0 - [{"l":1}]`},
		{`{"t":"d","d":{"a":"c","b":{"p":"a"}}}`, `push c "a" tag 0 -`},
		{`{"t":"d","d":{"a":"sd","b":{"msg":"hello"}}}`, `push sd "" tag 0 -`},

		{``, `malformed message: not a message at byte 0`},
		{`12`, `malformed message: not a message at byte 0`},
		{`{}`, `malformed message: t is absent`},
		{`{"t":"x","d":{}}`, `malformed message: t is "x"`},
		{`{"t":"c","d":[]}`, `malformed message: t is absent`},
		{`{"t":"c","d":{"t":""}}`, `malformed message: t is ""`},
		{`{"t":"d","d":{"r":1}}`, `malformed message: b is absent`},
		{`{"t":"d","d":{"r":1,"b":[]}}`, `malformed message: b is absent`},
		{`{"t":"d","d":{"r":-1,"b":{}}}`, `malformed message: r is -1`},
		{`{"t":"d","d":{"r":99999999999999999999,"b":{}}}`, `malformed message: r is 99999999999999999999`},
		{`{"t":"d","d":{"r":1,"b":{"s":1}}}`, `malformed message: b.s is 1`},
		{`{"t":"d","d":{"a":1,"b":{}}}`, `malformed message: a is 1`},
		{`{"t":"d","d":{"a":"d","b":{"p":1}}}`, `malformed message: b.p is 1`},
		{`{"t":"d","d":{"a":"d","b":{"t":"1"}}}`, `malformed message: b.t is "1"`},
		{`{"t":"d","d":{"a":"d","b":{"p":"a}}}`, `malformed message: not a message at byte`},
		{`{"t":"d","d":{"a":"d","b":{"d":[}}}`, `malformed message: not a message at byte`},
		{`{"t":"d","d":{"a":"d","b":{}}} x`, `malformed message: not a message at byte`},
		{`{"t" "d"}`, `malformed message: not a message at byte`},
		{`{"t":,"d":{}}`, `malformed message: not a message at byte`},
		{`{t:"d"}`, `malformed message: not a message at byte`},
	} {
		m, err := ParseServerMessage([]byte(c.text))
		got := show(m)
		if err != nil {
			got = err.Error()
		}
		if got != c.want && !(err != nil && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func show(m ServerMessage) string {
	data := "-"
	if m.Data != nil {
		data = string(m.Data)
	}
	var b bytes.Buffer
	switch {
	case m.Control != "":
		b.WriteString("control " + m.Control)
	case m.Status != "":
		b.WriteString("response " + jsonText(m.ID) + " " + m.Status)
	default:
		b.WriteString("push " + m.Push + " " + jsonText(string(m.Path)) + " tag " + jsonText(m.Tag))
	}
	if m.Queries != nil {
		data += " " + string(m.Queries)
	}
	if m.Rule != nil {
		data += " by " + string(m.Rule)
	}
	return b.String() + " " + data
}

func jsonText(v any) string {
	text, _ := json.Marshal(v) // a number or a string
	return string(text)
}

func TestParseServerMessageAllocs(t *testing.T) {
	for _, text := range []string{
		`{"t":"d","d":{"r":12,"b":{"s":"ok","d":""}}}`,
		`{"t":"d","d":{"a":"m","b":{"p":"messages/r1","d":{"a":{"x":"y"},"b":null},"t":1}}}`,
	} {
		msg := []byte(text)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := ParseServerMessage(msg); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", text, n)
		}
	}
}

// Nothing panics, and what this package writes it reads.
func FuzzParseServerMessage(f *testing.F) {
	f.Add([]byte(`{"t":"c","d":{"t":"h","d":{"ts":1}}}`))
	f.Add(AppendOK(nil, 5, `{"a":"\""}`))
	f.Add(AppendError(nil, 5, StatusDataStale, "x"))
	f.Add(AppendPush(nil, PushMerge, `a"b`, `{"c":[]}`, 4))
	f.Add([]byte(`{"t":"d","d":{"a":"d","b":{"p":"\ud800","d":`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseServerMessage(text)
		if err != nil || !json.Valid(text) {
			return
		}
		var again []byte
		switch {
		case m.Control != "":
			again = AppendControl(nil, m.Control, m.Data)
		case m.Status != "":
			again = AppendOK(nil, m.ID, m.Data)
		default:
			again = AppendPush(nil, m.Push, string(m.Path), m.Data, m.Tag)
		}
		if m.Push != "" && m.Data == nil {
			return // a push without data is not one that AppendPush writes
		}
		back, err := ParseServerMessage(again)
		if err != nil {
			t.Fatalf("%s written as %s: %v", text, again, err)
		}
		if m.Push != "" && (back.Tag != m.Tag || !bytes.Equal(back.Data, m.Data)) {
			t.Errorf("%s reads as %s, written as %s", text, show(m), again)
		}
	})
}

func BenchmarkParseServerMessage(b *testing.B) {
	msg := AppendPush(nil, PushData, "rooms/r1", `{"name":"Lobby","text":"`+strings.Repeat("x", 200)+`"}`, 12)
	b.ReportAllocs()
	b.SetBytes(int64(len(msg)))
	for b.Loop() {
		if _, err := ParseServerMessage(msg); err != nil {
			b.Fatal(err)
		}
	}
}
