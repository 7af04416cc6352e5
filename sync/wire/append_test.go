package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// Everything that is written, byte for byte. Later tests only check that it is
// JSON.
func TestAppend(t *testing.T) {
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{
			"hello", AppendHello(nil, 1795239618409, "127.0.0.1:9901", "s-1"),
			`{"t":"c","d":{"t":"h","d":{"ts":1795239618409,"v":"5","h":"127.0.0.1:9901","s":"s-1"}}}`,
		},
		{
			"hello with features", AppendHello(nil, 1, "h", "s", "w", "x"),
			`{"t":"c","d":{"t":"h","d":{"ts":1,"v":"5","h":"h","s":"s","f":["w","x"]}}}`,
		},
		{"pong", AppendControl(nil, ControlPong, ""), `{"t":"c","d":{"t":"o","d":null}}`},
		{"switch", AppendControl(nil, ControlSwitch, "{}"), `{"t":"c","d":{"t":"a","d":{}}}`},
		{"end", AppendControl(nil, ControlEnd, []byte("{}")), `{"t":"c","d":{"t":"n","d":{}}}`},
		{"reset", AppendControlText(nil, ControlReset, "h:1"), `{"t":"c","d":{"t":"r","d":"h:1"}}`},
		{"shutdown", AppendControlText(nil, ControlShutdown, `a "b"`), `{"t":"c","d":{"t":"s","d":"a \"b\""}}`},

		{"ok write", AppendOK(nil, 12, ""), `{"t":"d","d":{"r":12,"b":{"s":"ok","d":""}}}`},
		{"ok listen", AppendOK(nil, 0, DataNone), `{"t":"d","d":{"r":0,"b":{"s":"ok","d":{}}}}`},
		{"ok with", AppendOKWith(nil, 5, func(dst []byte) []byte { return append(dst, '1') }), `{"t":"d","d":{"r":5,"b":{"s":"ok","d":1}}}`},
		{"ok get", AppendOK(nil, 5, []byte(`{"a":1}`)), `{"t":"d","d":{"r":5,"b":{"s":"ok","d":{"a":1}}}}`},
		{
			"ok without index", AppendOK(nil, 5, DataNoIndex),
			`{"t":"d","d":{"r":5,"b":{"s":"ok","d":{"w":["no_index"]}}}}`,
		}, {
			"error", AppendError(nil, 7, StatusPermissionDenied, TextPermissionDenied),
			`{"t":"d","d":{"r":7,"b":{"s":"permission_denied","d":"Permission denied"}}}`,
		}, {
			"error with a rule", AppendDenied(nil, 7, StatusPermissionDenied, TextPermissionDenied, "/a/.write"),
			`{"t":"d","d":{"r":7,"b":{"s":"permission_denied","d":"Permission denied","rule":"/a/.write"}}}`,
		},

		{
			"notices", AppendNotices(nil, 7, "/a", "", 3, false),
			`{"t":"d","d":{"r":7,"a":"nt","b":{"p":"/a","t":3,"chg":1}}}`,
		}, {
			"notices of the next connection", AppendNotices(nil, 7, "/a", `{"l":1}`, 3, true),
			`{"t":"d","d":{"r":7,"a":"nt","b":{"p":"/a","q":{"l":1},"t":3}}}`,
		},

		{"data", AppendPush(nil, PushData, "a", `{"c":3}`, 0), `{"t":"d","d":{"a":"d","b":{"p":"a","d":{"c":3}}}}`},
		{"tagged data", AppendPush(nil, PushData, "a", "null", 12), `{"t":"d","d":{"a":"d","b":{"p":"a","d":null,"t":12}}}`},
		{
			"merge", AppendPush(nil, PushMerge, "", []byte(`{"a/b":1}`), 3),
			`{"t":"d","d":{"a":"m","b":{"p":"","d":{"a/b":1},"t":3}}}`,
		}, {
			"range merge", AppendPush(nil, PushRangeMerge, `q"`, `[{"e":"k","m":{}}]`, 0),
			`{"t":"d","d":{"a":"rm","b":{"p":"q\"","d":[{"e":"k","m":{}}]}}}`,
		},

		{"cancel default", AppendCancel(nil, "a", nil), `{"t":"d","d":{"a":"c","b":{"p":"a"}}}`},
		{
			"cancel filtered", AppendCancel(nil, "a", []string{`{"l":1}`, `{"i":"m"}`}),
			`{"t":"d","d":{"a":"c","b":{"p":"a","q":[{"l":1},{"i":"m"}]}}}`,
		}, {
			"cancel with a reason", AppendCancelBecause(nil, "a", []string{`{"l":1}`}, StatusTooBig, `too "much"`),
			`{"t":"d","d":{"a":"c","b":{"p":"a","q":[{"l":1}],"s":"too_big","d":"too \"much\""}}}`,
		}, {
			"auth revoked", AppendAuthRevoked(nil, StatusExpiredToken, TextExpiredToken),
			`{"t":"d","d":{"a":"ac","b":{"s":"expired_token","d":"Auth token is expired."}}}`,
		},
	}
	for _, test := range tests {
		if string(test.got) != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, test.got, test.want)
		}
		if !json.Valid(test.got) {
			t.Errorf("%s: %s is not JSON", test.name, test.got)
		}
	}
}

// Listeners of one change share all bytes before the tag.
func TestAppendPushShares(t *testing.T) {
	prefix := AppendPushPrefix(nil, PushData, "rooms/r1", `{"name":"Lobby"}`)
	if head := AppendPushHead(nil, PushData, "rooms/r1"); string(head)+`{"name":"Lobby"}` != string(prefix) {
		t.Errorf("head %s is no start of prefix %s", head, prefix)
	}
	for _, tag := range []int64{0, 1, 12, 1 << 53} {
		whole := AppendPush([]byte("x"), PushData, "rooms/r1", `{"name":"Lobby"}`, tag)
		parts := AppendPushSuffix(append([]byte("x"), prefix...), tag)
		if string(whole) != string(parts) || !json.Valid(whole[1:]) {
			t.Errorf("tag %d: whole %s, in parts %s", tag, whole, parts)
		}
	}
}

func TestAppendString(t *testing.T) {
	tests := []struct{ s, want string }{
		{``, `""`},
		{`plain é 日 😀 </a> &`, `"plain é 日 😀 </a> &"`},
		{"\"\\/", `"\"\\/"`},
		{"\n\r\t\b\f\x00\x1f\x7f", `"\n\r\t\b\f\u0000\u001f` + "\x7f\""},
		{"\u2028\uFFFD", "\"\u2028\uFFFD\""},
		{"a\xffb\xc0\xafc", "\"a\uFFFDb\uFFFD\uFFFDc\""},
		{"\xed\xa0\x80", "\"\uFFFD\uFFFD\uFFFD\""}, // a surrogate
		{"日\xe6\x97", "\"日\uFFFD\uFFFD\""},
	}
	for _, test := range tests {
		if got := string(AppendString(nil, test.s)); got != test.want {
			t.Errorf("AppendString(%q) = %s, want %s", test.s, got, test.want)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"\\\n\x00", "é😀\u2028", "\xff\xed\xa0\x80x", "日\xe6"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := AppendString([]byte("x"), s)[1:]
		var got string
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("AppendString(%q) = %s: %v", s, text, err)
		}
		if want := string([]rune(s)); got != want {
			t.Errorf("AppendString(%q) reads back as %q", s, got)
		}
		if !utf8.Valid(text) {
			t.Errorf("AppendString(%q) = %q, not UTF-8", s, text)
		}
		if back, ok := jsontext.Unquote(string(text)); !ok || back != got {
			t.Errorf("jsontext.Unquote(%s) = %q, %v", text, back, ok)
		}
	})
}

func TestTextNoIndex(t *testing.T) {
	const want = `Index not defined, add ".indexOn": "pos", for path "/p", to the rules`
	if got := TextNoIndex("pos", "/p"); got != want {
		t.Errorf("TextNoIndex = %s, want %s", got, want)
	}
}

func TestAppendAllocs(t *testing.T) {
	buf := make([]byte, 0, 4096)
	data := []byte(`{"name":"Lobby"}`)
	queries := []string{`{"l":1}`}
	tests := []struct {
		name string
		f    func()
	}{
		{"AppendPush", func() { AppendPush(buf, PushData, "rooms/ré1", data, 12) }},
		{"AppendOK", func() { AppendOK(buf, 12, data) }},
		{"AppendOK string", func() { AppendOK(buf, 12, DataNone) }},
		{"AppendError", func() { AppendError(buf, 12, StatusDataStale, TextDataStale) }},
		{"AppendControl", func() { AppendControl(buf, ControlPong, "") }},
		{"AppendHello", func() { AppendHello(buf, 1795239618409, "host", "id") }},
		{"AppendCancel", func() { AppendCancel(buf, "a", queries) }},
	}
	for _, test := range tests {
		if n := testing.AllocsPerRun(100, test.f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", test.name, n)
		}
	}
}

func ExampleAppendPushPrefix() {
	push := AppendPushPrefix(nil, PushData, "rooms/r1/name", `"Lobby"`)
	for _, tag := range []int64{0, 12} { // two listeners, the second one filtered
		fmt.Printf("%s\n", AppendPushSuffix(push[:len(push):len(push)], tag))
	}
	// Output:
	// {"t":"d","d":{"a":"d","b":{"p":"rooms/r1/name","d":"Lobby"}}}
	// {"t":"d","d":{"a":"d","b":{"p":"rooms/r1/name","d":"Lobby","t":12}}}
}

func BenchmarkAppendPush(b *testing.B) {
	buf := make([]byte, 0, 4096)
	data := []byte(`{"name":"Lobby","open":true}`)
	b.ReportAllocs()
	for b.Loop() {
		AppendPush(buf, PushData, "rooms/r1", data, 12)
	}
}

func BenchmarkAppendOK(b *testing.B) {
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		AppendOK(buf, 12, "")
	}
}

func BenchmarkAppendString(b *testing.B) {
	benchmarks := []struct{ name, s string }{
		{"plain", strings.Repeat("rooms/r1 ", 100)},
		{"wide", strings.Repeat("日本 ", 100)},
		{"escapes", strings.Repeat("a\"\n", 300)},
	}
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			buf := make([]byte, 0, 4096)
			b.SetBytes(int64(len(bm.s)))
			for b.Loop() {
				AppendString(buf, bm.s)
			}
		})
	}
}
