package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// encodePieces cuts a message as a browser does: base64 with dots, pieces of at
// most size characters, numbered from seg.
func encodePieces(seg int, msg string, size int) (pieces []Piece) {
	text := base64.URLEncoding.WithPadding('.').EncodeToString([]byte(msg))
	total := (len(text) + size - 1) / size
	for chunk := range slices.Chunk([]byte(text), size) {
		pieces = append(pieces, Piece{Seg: seg + len(pieces), Total: total, Data: string(chunk)})
	}
	return pieces
}

func TestParsePieces(t *testing.T) {
	query := "id=7&pw=x&ser=5&ns=demo&seg0=12&ts0=2&d0=eyJ0&seg1=13&ts1=2&d1=In0.&seg3=1&ts3=1&d3=e30."
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParsePieces(values)
	want := []Piece{{12, 2, "eyJ0"}, {13, 2, "In0."}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("ParsePieces(%s) = %v, %v, want %v", query, got, err, want)
	}
	if got, err := ParsePieces(url.Values{"id": {"7"}}); got != nil || err != nil {
		t.Errorf("a poll without pieces gave %v, %v", got, err)
	}
	for _, query := range []string{
		"seg0=&ts0=1&d0=e30.", "seg0=-1&ts0=1&d0=e30.", "seg0=1e3&ts0=1&d0=e30.", "seg0=1&d0=e30.",
		"seg0=1&ts0=x&d0=e30.", "seg0=1000000000&ts0=1&d0=e30.",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParsePieces(values); !errors.Is(err, ErrBadFrame) {
			t.Errorf("ParsePieces(%s) = %v, %v, want ErrBadFrame", query, got, err)
		}
	}
}

func TestDecodeWebSafe(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"eyJ0IjoiYyJ9", `{"t":"c"}`},
		{"e30.", "{}"}, {"e30=", "{}"}, {"e30", "{}"},
		{"MQ..", "1"}, {"MQ==", "1"}, {"MQ", "1"},
		{"Pz8_Pj4-", "???>>>"}, // alphabet: _ and -
		{"w6nwn5iA", "é😀"},
		{"7aCA", "\uFFFD"}, // a lone surrogate, as old browsers encode it
	}
	for _, test := range tests {
		if got, err := DecodeWebSafe(test.text); err != nil || got != test.want {
			t.Errorf("DecodeWebSafe(%q) = %q, %v, want %q", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"a", "e30..", "e3...", "....", "e30.e30.", "e+/a", "e30 ", "e3\n0", "MQ."} {
		if got, err := DecodeWebSafe(text); !errors.Is(err, ErrBadFrame) {
			t.Errorf("DecodeWebSafe(%q) = %q, %v, want ErrBadFrame", text, got, err)
		}
	}
}

func TestReassembler(t *testing.T) {
	tests := []struct {
		name  string
		order []int // of the pieces: three of "one", one of "2", two of "III"
		want  [][]string
	}{
		{"in order", []int{0, 1, 2, 3, 4, 5}, [][]string{2: {"one..."}, 3: {"2"}, 5: {"III"}}},
		{"backwards", []int{5, 4, 3, 2, 1, 0}, [][]string{5: {"one...", "2", "III"}}},
		{"a poll overtakes", []int{0, 3, 4, 1, 2, 5}, [][]string{4: {"one...", "2"}, 5: {"III"}}},
		{"repeated polls", []int{0, 0, 2, 2, 1, 0, 3, 2, 3, 5, 5, 4, 4}, [][]string{4: {"one..."}, 6: {"2"}, 11: {"III"}, 12: nil}},
	}
	pieces := encodePieces(0, "one...", 3)
	pieces = append(pieces, encodePieces(3, "2", 4)...)
	pieces = append(pieces, encodePieces(4, "III", 2)...)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r Reassembler
			for i, n := range test.order {
				got, err := r.Add(pieces[n])
				if err != nil {
					t.Fatalf("Add(%v): %v", pieces[n], err)
				}
				var want []string
				if i < len(test.want) {
					want = test.want[i]
				}
				if !slices.Equal(got, want) {
					t.Errorf("Add(%v), call %d: %q, want %q", pieces[n], i, got, want)
				}
			}
			if r.size != 0 || len(r.ahead) != 0 || r.Held() != 0 {
				t.Errorf("left over: %d characters, %d pieces, %d bytes", r.size, len(r.ahead), r.Held())
			}
		})
	}
}

// Any client cuts where it likes and the network shuffles as it likes, within
// the distance that is allowed.
func TestReassemblerShuffled(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var want []string
		var pieces []Piece
		for range 1 + rnd.IntN(10) {
			msg := strings.Repeat("日é😀x", 1+rnd.IntN(20))
			want = append(want, msg)
			pieces = append(pieces, encodePieces(len(pieces), msg, 1+rnd.IntN(30))...)
		}
		rnd.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		r := Reassembler{MaxAhead: len(pieces)}
		var got []string
		for _, p := range pieces {
			msgs, err := r.Add(p)
			if err != nil {
				t.Fatalf("seed %d: Add(%v): %v", seed, p, err)
			}
			got = append(got, msgs...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: messages %q, want %q", seed, got, want)
		}
	}
}

func TestReassemblerErrors(t *testing.T) {
	tests := []struct {
		name   string
		r      Reassembler
		pieces []Piece
		want   error
	}{
		{"empty piece", Reassembler{}, []Piece{{0, 1, ""}}, ErrBadFrame},
		{"message of no pieces", Reassembler{}, []Piece{{0, 0, "e30."}}, ErrBadFrame},
		{"totals that differ", Reassembler{}, []Piece{{0, 2, "e3"}, {1, 3, "0."}}, ErrBadFrame},
		{"no base64", Reassembler{}, []Piece{{0, 1, "e3%0"}}, ErrBadFrame},
		{"default distance", Reassembler{}, []Piece{{256, 1, "e30."}, {257, 1, "e30."}}, ErrTooLarge},
		{"too far ahead", Reassembler{MaxAhead: 2}, []Piece{{2, 1, "e30."}, {3, 1, "e30."}}, ErrTooLarge},
		{"large message", Reassembler{MaxBytes: 6}, []Piece{{0, 3, "AAAA"}, {1, 3, "AAAA"}, {2, 3, "A"}}, ErrTooLarge},
		{"much ahead", Reassembler{MaxBytes: 6}, []Piece{{1, 1, "AAAA"}, {2, 1, "AAAA"}, {3, 1, "A"}}, ErrTooLarge},
		{"more pieces than characters", Reassembler{MaxBytes: 6}, []Piece{{0, 9, "A"}}, ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := test.r
			last := len(test.pieces) - 1
			for _, p := range test.pieces[:last] {
				if _, err := r.Add(p); err != nil {
					t.Fatalf("Add(%v): %v", p, err)
				}
			}
			_, err := r.Add(test.pieces[last])
			if !errors.Is(err, test.want) {
				t.Errorf("Add(%v): %v, want %v", test.pieces[last], err, test.want)
			}
			if _, again := r.Add(Piece{0, 1, "e30."}); again != err {
				t.Errorf("the next call returned %v, want the same error", again)
			}
			if r.ahead != nil || r.Held() != 0 {
				t.Error("pieces are kept after an error")
			}
		})
	}
}

// A message of exactly MaxBytes passes, for every remainder of base64.
func TestReassemblerLargest(t *testing.T) {
	for size := 30; size < 36; size++ {
		r := Reassembler{MaxBytes: size}
		msg := strings.Repeat("a", size)
		var got []string
		for _, p := range encodePieces(0, msg, 7) {
			msgs, err := r.Add(p)
			if err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			got = append(got, msgs...)
		}
		if len(got) != 1 || got[0] != msg {
			t.Errorf("%d bytes came back as %q", size, got)
		}
	}
}

// FuzzReassembler feeds lines of "seg ts d" and checks the bounds; the order of
// arrival must not matter for what is returned.
func FuzzReassembler(f *testing.F) {
	f.Add("0 1 e30.\n1 2 e3\n2 2 0.")
	f.Add("2 2 0.\n1 2 e3\n0 1 e30.\n0 1 e30.")
	f.Add("1 1 MQ\n0 1 e3%0\n7 1 e30=")
	f.Add("9 9 A\n0 0 A\n1 1 ")
	f.Fuzz(func(t *testing.T, lines string) {
		const maxBytes, maxAhead = 48, 8
		inOrder := Reassembler{MaxBytes: maxBytes, MaxAhead: maxAhead}
		r := inOrder
		var got []string
		first := map[int]Piece{}
		for line := range strings.SplitSeq(lines, "\n") {
			p, ok := parsePiece(line)
			if !ok {
				return
			}
			msgs, err := r.Add(p)
			if err != nil {
				if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrBadFrame) {
					t.Errorf("Add(%v): error of no class: %v", p, err)
				}
				return
			}
			kept := r.text.chars
			for _, held := range r.ahead {
				kept += len(held.Data)
			}
			if kept != r.size || kept > base64.URLEncoding.EncodedLen(maxBytes) || len(r.ahead) > maxAhead {
				t.Errorf("kept %d characters, size says %d, and %d pieces", kept, r.size, len(r.ahead))
			}
			got = append(got, msgs...)
			if _, known := first[p.Seg]; !known {
				first[p.Seg] = p
			}
		}
		var want []string
		for seg := range r.next {
			msgs, err := inOrder.Add(first[seg])
			if err != nil {
				t.Fatalf("in order: Add(%v): %v", first[seg], err)
			}
			want = append(want, msgs...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("messages %q, in order %q", got, want)
		}
	})
}

func parsePiece(line string) (p Piece, ok bool) {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) < 3 {
		return p, false
	}
	var err1, err2 error
	p.Seg, err1 = strconv.Atoi(fields[0])
	p.Total, err2 = strconv.Atoi(fields[1])
	p.Data = fields[2]
	return p, err1 == nil && err2 == nil && p.Seg >= 0
}

func TestParseCallbackID(t *testing.T) {
	for _, s := range []string{"1", "0", "12345678901234567890"} {
		if cb, err := ParseCallbackID(s); err != nil || cb.digits != s {
			t.Errorf("ParseCallbackID(%q) = %v, %v", s, cb, err)
		}
	}
	for _, s := range []string{"", "a", "1(", "1;alert(1)", "-1", "1.5", " 1", "１", "123456789012345678901"} {
		if cb, err := ParseCallbackID(s); !errors.Is(err, ErrBadFrame) {
			t.Errorf("ParseCallbackID(%q) = %v, %v, want ErrBadFrame", s, cb, err)
		}
	}
}

func TestScripts(t *testing.T) {
	cb, err := ParseCallbackID("7")
	if err != nil {
		t.Fatal(err)
	}
	poll := func(msgs ...string) string {
		var list [][]byte
		for _, msg := range msgs {
			list = append(list, []byte(msg))
		}
		return string(AppendPollScript(nil, cb, 3, list))
	}
	tests := []struct{ name, got, want string }{
		{"start", string(AppendStartScript(nil, cb, "c1", "p1")), `parent.pLPCommand7("start","c1","p1");`},
		{"start, strange id", string(AppendStartScript(nil, cb, "\"</script>\u2028", "")), `parent.pLPCommand7("start","\"<\/script>\u2028","");`},
		{"close", string(AppendCloseScript(nil, cb, -1)), `parent.pLPCommand7("close");`},
		{"close after 5", string(AppendCloseScript(nil, cb, 5)), `parent.pLPCommand7("close",5);`},
		{"nothing", poll(), `parent.pRTLPCB7(3,[]);`},
		{"one", poll(`{"t":"c"}`), `parent.pRTLPCB7(3,[{"t":"c"}]);`},
		{"two", poll(`{"t":"c"}`, `{"t":"d"}`), `parent.pRTLPCB7(3,[{"t":"c"},{"t":"d"}]);`},
		{"separators", poll("{\"\u2028\":\"a\u2029\u202a\u2027\"}"), "parent.pRTLPCB7(3,[{\"\\u2028\":\"a\\u2029\u202a\u2027\"}]);"},
		{"end tag", poll(`{"a</b":"</script><!--<\/x <"}`), `parent.pRTLPCB7(3,[{"a<\/b":"<\/script><!--<\/x <"}]);`},
		{"prototype", poll(`{"__proto__":1,"a":{"__proto__" : {}}}`), `parent.pRTLPCB7(3,[{["__proto__"]:1,"a":{["__proto__"] : {}}}]);`},
		{"prototype, escaped", poll(`{"\u005f_pr\u006Fto__":1}`), `parent.pRTLPCB7(3,[{["__proto__"]:1}]);`},
		{"no prototype", poll(`{"a":"__proto__","x\"__proto__":1,"__proto_":"__proto__:"}`), `parent.pRTLPCB7(3,[{"a":"__proto__","x\"__proto__":1,"__proto_":"__proto__:"}]);`},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, test.got, test.want)
		}
	}
}

// FuzzAppendPollScript checks that no message, JSON or not, breaks out of its
// script or makes it panic.
func FuzzAppendPollScript(f *testing.F) {
	for _, s := range []string{"</script>", "\u2028\u2029", "\\", "\"", "__proto__", "<<//", "\xe2\x80"} {
		f.Add(s)
	}
	cb, err := ParseCallbackID("1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		AppendPollScript(nil, cb, 0, [][]byte{[]byte(s)})
		msg := AppendString([]byte(`{"k":`), s)
		msg = AppendString(append(msg, ','), s)
		msg = append(msg, ":1}"...)
		script := string(AppendPollScript(nil, cb, 0, [][]byte{msg}))
		if strings.Contains(script, "</") || strings.ContainsAny(script, "\u2028\u2029") {
			t.Errorf("unescaped: %q", script)
		}
		// Undo what turns JSON into a script; the message must come back.
		back := strings.TrimSuffix(strings.TrimPrefix(script, "parent.pRTLPCB1(0,["), "]);")
		if s == "__proto__" {
			back = strings.Replace(back, `["__proto__"]`, `"__proto__"`, 1)
		}
		if got, want := object(t, []byte(back)), object(t, msg); !maps.EqualFunc(got, want, sameString) {
			t.Errorf("script of %q reads back as %s", msg, back)
		}
	})
}

// sameString compares two JSON values, one of which may have more escapes.
func sameString(a, b json.RawMessage) bool {
	x, _ := jsontext.Unquote(string(a))
	y, _ := jsontext.Unquote(string(b))
	return x == y
}

func BenchmarkAppendPollScript(b *testing.B) {
	cb, err := ParseCallbackID("1")
	if err != nil {
		b.Fatal(err)
	}
	msgs := [][]byte{AppendPush(nil, PushData, "rooms/r1", `{"name":"Lobby <b>","text":"日本"}`, 12)}
	buf := make([]byte, 0, 4096)
	b.SetBytes(int64(len(msgs[0])))
	b.ReportAllocs()
	for b.Loop() {
		AppendPollScript(buf, cb, 7, msgs)
	}
}

// What a Reassembler says that it holds is what it keeps: decoded text, and the pieces that
// came too early.
func TestReassemblerHeld(t *testing.T) {
	const size = 100_000
	r := Reassembler{}
	pieces := encodePieces(0, strings.Repeat("a", size), 1000)
	for _, p := range pieces[1:100] {
		if _, err := r.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if early, want := r.Held(), int64(99*(1000+pieceBytes)); early != want {
		t.Errorf("holds %d bytes of pieces that came early, want %d", early, want)
	}
	for _, p := range slices.Concat(pieces[:1], pieces[100:len(pieces)-1]) {
		if _, err := r.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if held := r.Held(); held < size*9/10 || held > 2*size {
		t.Errorf("holds %d bytes of a message of %d", held, size)
	}
	msgs, err := r.Add(pieces[len(pieces)-1])
	if err != nil || len(msgs) != 1 || len(msgs[0]) != size || r.Held() != 0 {
		t.Errorf("%d messages, %v, and %d bytes are held", len(msgs), err, r.Held())
	}
}
