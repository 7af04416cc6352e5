package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// splitVectors is testdata/vectors/wire-frame-split.json: what a JavaScript
// client makes of messages of some lengths.
type splitVectors struct {
	Cases []struct {
		Length, Segments int
		Lengths          []int
		Header           *string
	}
	SurrogateSplit struct {
		Length  int
		Lengths []int
	}
}

func readSplitVectors(t *testing.T) (v splitVectors) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/vectors/wire-frame-split.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Cases) == 0 {
		t.Fatal("no cases in the vector file")
	}
	return v
}

// split returns the count frame, "" if there is none, and the UTF-16 lengths
// of the pieces of msg.
func split(t *testing.T, msg string) (header string, lengths []int) {
	t.Helper()
	frames, err := AppendFrames(nil, []byte(msg))
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) > 1 {
		header, frames = string(frames[0]), frames[1:]
	}
	if got := string(bytes.Join(frames, nil)); got != msg {
		t.Errorf("the frames of %d bytes join to other %d bytes", len(msg), len(got))
	}
	for _, frame := range frames {
		lengths = append(lengths, UTF16Len(frame))
	}
	return header, lengths
}

// Where no pair is in the way, the server cuts as clients do.
func TestAppendFramesVectors(t *testing.T) {
	for _, c := range readSplitVectors(t).Cases {
		var want string
		if c.Header != nil {
			want = *c.Header
		}
		for _, char := range []string{"a", "é", "日"} {
			header, lengths := split(t, strings.Repeat(char, c.Length))
			if header != want || !slices.Equal(lengths, c.Lengths) {
				t.Errorf("%d × %s: header %q, lengths %v, want %q, %v", c.Length, char, header, lengths, want, c.Lengths)
			}
		}
	}
}

// A client cuts inside of a surrogate pair; the server cuts before it.
func TestAppendFramesKeepsPairs(t *testing.T) {
	v := readSplitVectors(t).SurrogateSplit
	msg := strings.Repeat("a", v.Lengths[0]-1) + "😀" + strings.Repeat("a", v.Lengths[1]-1)
	if n := UTF16Len([]byte(msg)); n != v.Length {
		t.Fatalf("message has %d units, the vector has %d", n, v.Length)
	}
	header, lengths := split(t, msg)
	want := []int{v.Lengths[0] - 1, v.Lengths[1] + 1}
	if header != "2" || !slices.Equal(lengths, want) {
		t.Errorf("header %q, lengths %v, want 2, %v", header, lengths, want)
	}
	header, lengths = split(t, strings.Repeat("😀", MaxUnit))
	if header != "2" || !slices.Equal(lengths, []int{MaxUnit, MaxUnit}) {
		t.Errorf("pairs only: header %q, lengths %v, want two full pieces", header, lengths)
	}
}

func TestAppendFramesShares(t *testing.T) {
	short := []byte(`{"t":"c"}`)
	frames, err := AppendFrames([][]byte{[]byte("before")}, short)
	if err != nil || len(frames) != 2 || &frames[1][0] != &short[0] {
		t.Errorf("a short message was not appended as it is: %q, %v", frames, err)
	}
	// 16384 units in more bytes are one frame, too.
	wide := bytes.Repeat([]byte("日"), MaxUnit)
	frames, err = AppendFrames(nil, wide)
	if err != nil || len(frames) != 1 || len(frames[0]) != len(wide) {
		t.Errorf("%d units became %d frames, %v", MaxUnit, len(frames), err)
	}
	// Appending to a piece must not run into the next one.
	frames, err = AppendFrames(nil, bytes.Repeat([]byte("a"), MaxUnit+1))
	if err != nil || cap(frames[1]) != MaxUnit {
		t.Errorf("the first piece has capacity %d, %v, want %d", cap(frames[1]), err, MaxUnit)
	}
}

func TestAppendFramesErrors(t *testing.T) {
	before := [][]byte{[]byte("x")}
	for _, msg := range []string{"", "0", "12", "999999"} {
		if frames, err := AppendFrames(before, []byte(msg)); !errors.Is(err, ErrBadFrame) || len(frames) != 1 {
			t.Errorf("AppendFrames(%q) = %q, %v, want ErrBadFrame", msg, frames, err)
		}
	}
	const unit, pieces = 4, 3
	for n := range unit*pieces + 3 {
		frames, err := appendFrames(before, bytes.Repeat([]byte("a"), n), unit, pieces)
		if n <= unit*pieces && err != nil {
			t.Errorf("%d units: %v", n, err)
		}
		if n > unit*pieces && (!errors.Is(err, ErrTooLarge) || len(frames) != 1) {
			t.Errorf("%d units = %d frames, %v, want ErrTooLarge", n, len(frames), err)
		}
	}
	if MaxPieces != 9999 {
		t.Errorf("MaxPieces = %d, but iOS reads counts of up to four digits", MaxPieces)
	}
}

func TestUTF16Len(t *testing.T) {
	tests := []struct {
		s    string
		want int
	}{
		{"", 0}, {"abc", 3}, {"é", 1}, {"日本", 2}, {"😀", 2}, {"a😀é", 4}, {"\uFFFD", 1}, {"\xff\x80", 2}, {"\xe6\x97", 2},
	}
	for _, test := range tests {
		if got := UTF16Len([]byte(test.s)); got != test.want {
			t.Errorf("UTF16Len(%q) = %d, want %d", test.s, got, test.want)
		}
	}
}

func TestAppendFramesAllocs(t *testing.T) {
	msg := []byte(strings.Repeat("a", MaxUnit))
	dst := make([][]byte, 0, 8)
	if n := testing.AllocsPerRun(100, func() { AppendFrames(dst, msg) }); n != 0 {
		t.Errorf("AppendFrames allocates %v times for one frame, want 0", n)
	}
}

// FuzzAppendFrames checks the frames of any message against the rules for
// sending, and that the Collector gives the message back.
func FuzzAppendFrames(f *testing.F) {
	f.Add("a", 20000, "b")
	f.Add("😀", 9000, "日")
	f.Add("{\"é\"", 16383, "")
	f.Add("\xf0\x9f", 10000, "\x98")
	f.Add("12", 3, "")
	f.Fuzz(func(t *testing.T, part string, n int, tail string) {
		if n < 0 || n > 1<<16 || n*len(part) > 1<<20 {
			return
		}
		msg := strings.Repeat(part, n) + tail
		frames, err := AppendFrames(nil, []byte(msg))
		if err != nil {
			if !isCount(msg) && msg != "" {
				t.Errorf("AppendFrames(%.20q): %v", msg, err)
			}
			return
		}
		var c Collector
		for i, frame := range frames {
			text := string(frame)
			if units := len(utf16.Encode([]rune(text))); units > MaxUnit || units != UTF16Len(frame) || units == 0 {
				t.Errorf("frame %d has %d units, UTF16Len says %d", i, units, UTF16Len(frame))
			}
			if utf8.ValidString(msg) && !utf8.ValidString(text) {
				t.Errorf("frame %d is cut inside of a character", i)
			}
			if len(frames) > 1 && i == 0 && text != strconv.Itoa(len(frames)-1) {
				t.Errorf("count is %q before %d pieces", text, len(frames)-1)
			}
			got, done, err := c.Add(text)
			if err != nil || done != (i == len(frames)-1) {
				t.Errorf("Collector after frame %d of %d: done %v, %v", i, len(frames), done, err)
			}
			if done && got != msg {
				t.Errorf("Collector returned %d other bytes", len(got))
			}
		}
	})
}

func BenchmarkAppendFrames(b *testing.B) {
	benchmarks := []struct{ name, msg string }{
		{"short", strings.Repeat("a", 200)},
		{"ascii1MB", strings.Repeat("a", 1<<20)},
		{"wide1MB", strings.Repeat("日", 1<<20/3)},
	}
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			msg, dst := []byte(bm.msg), [][]byte(nil)
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = AppendFrames(dst[:0], msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
