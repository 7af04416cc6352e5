package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCollector(t *testing.T) {
	tests := []struct {
		name   string
		frames []string
		want   []string
	}{
		{"whole messages", []string{`{"a":1}`, `{"b":2}`}, []string{`{"a":1}`, `{"b":2}`}},
		{"keep-alive", []string{"0", `{}`, "0", "0", `[]`}, []string{`{}`, `[]`}},
		{"pieces", []string{"3", `{"a"`, `:`, `1}`, `{}`}, []string{`{"a":1}`, `{}`}},
		{"a count of one", []string{"1", `{}`, `[]`}, []string{`{}`, `[]`}},
		{"pieces that look like counts", []string{"4", "1", "0", "", "23", `{}`}, []string{"1023", `{}`}},
		{"a count with zeros in front", []string{"000002", "{", "}"}, []string{"{}"}},
		{"too long for a count", []string{"1234567", ""}, []string{"1234567", ""}},
		{"no counts", []string{"1.0", "-1", "+1", " 1", "1 ", "٣"}, []string{"1.0", "-1", "+1", " 1", "1 ", "٣"}},
		{"a pair that the client destroyed", []string{"2", "\"\uFFFD", "\uFFFD\""}, []string{"\"\uFFFD\uFFFD\""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c Collector
			var got []string
			for _, frame := range test.frames {
				msg, done, err := c.Add(frame)
				if err != nil {
					t.Fatalf("Add(%q): %v", frame, err)
				}
				if done {
					got = append(got, msg)
				}
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", test.want) {
				t.Errorf("messages %q, want %q", got, test.want)
			}
			if c.pieces != nil || c.size != 0 || c.left != 0 {
				t.Errorf("left over: %d pieces, %d bytes, %d to come", len(c.pieces), c.size, c.left)
			}
		})
	}
}

func TestCollectorErrors(t *testing.T) {
	tests := []struct {
		name   string
		max    int
		frames []string
		want   error
		text   string
	}{
		{"no pieces", 0, []string{"00"}, ErrBadFrame, "bad frame: count 00"},
		{"too many pieces", 0, []string{"10000"}, ErrTooLarge, "message too large: count 10000"},
		{"one large message", 4, []string{"abcd", "abcde"}, ErrTooLarge, "message too large: 5 bytes"},
		{"large in pieces", 4, []string{"3", "ab", "cd", "e"}, ErrTooLarge, "message too large: over 4 bytes in pieces"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Collector{MaxBytes: test.max}
			last := len(test.frames) - 1
			for _, frame := range test.frames[:last] {
				if _, _, err := c.Add(frame); err != nil {
					t.Fatalf("Add(%q): %v", frame, err)
				}
			}
			_, done, err := c.Add(test.frames[last])
			if !errors.Is(err, test.want) || err.Error() != test.text || done {
				t.Errorf("error %v, want %s", err, test.text)
			}
			if _, _, again := c.Add(`{}`); again != err {
				t.Errorf("the next call returned %v, want the same error", again)
			}
			if c.pieces != nil {
				t.Error("pieces are kept after an error")
			}
		})
	}
}

func TestCollectorLimits(t *testing.T) {
	// As many pieces as the largest message can need are accepted.
	c := Collector{MaxBytes: 20000 * MaxUnit}
	if _, _, err := c.Add("20001"); err != nil {
		t.Error(err)
	}
	if _, _, err := (&Collector{MaxBytes: 20000 * MaxUnit}).Add("20002"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("count 20002: %v, want ErrTooLarge", err)
	}
	// A count alone costs nothing.
	n := testing.AllocsPerRun(10, func() {
		var c Collector
		if _, _, err := c.Add("9999"); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("a count allocates %v times, want 0", n)
	}
	// A whole message is passed on, not copied.
	whole := strings.Repeat("a", 1000)
	n = testing.AllocsPerRun(10, func() {
		var c Collector
		if _, done, err := c.Add(whole); err != nil || !done {
			t.Fatal(done, err)
		}
	})
	if n != 0 {
		t.Errorf("a whole message allocates %v times, want 0", n)
	}
}

// FuzzCollector feeds frames, one per line, to the Collector and to a naive
// reading of the rules, and watches the memory bound.
func FuzzCollector(f *testing.F) {
	f.Add("0\n2\n{\"a\n\":1}\n0\n{}")
	f.Add("1\n0\n0\n999999")
	f.Add("3\n1\n2\n3\n00")
	f.Add("2\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Fuzz(func(t *testing.T, stream string) {
		const limit = 64
		c := Collector{MaxBytes: limit}
		var want string
		left := 0 // of the naive reading
		for frame := range strings.SplitSeq(stream, "\n") {
			msg, done, err := c.Add(frame)
			if err != nil {
				if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrBadFrame) {
					t.Errorf("Add(%q): error of no class: %v", frame, err)
				}
				return
			}
			if kept := len(strings.Join(c.pieces, "")); kept > limit || kept != c.size {
				t.Errorf("%d bytes kept, size says %d, limit is %d", kept, c.size, limit)
			}
			switch {
			case left > 0:
				want += frame
				left--
			case isCount(frame):
				fmt.Sscanf(frame, "%d", &left)
				want = ""
				if done {
					t.Errorf("Add(%q) returned message %q", frame, msg)
				}
				continue
			default:
				want = frame
			}
			if done != (left == 0) || done && msg != want {
				t.Errorf("Add(%q) = %q, %v, want %q, %v", frame, msg, done, want, left == 0)
			}
		}
	})
}

func BenchmarkCollector(b *testing.B) {
	frames := []string{"64"}
	for range 64 {
		frames = append(frames, strings.Repeat("a", MaxUnit))
	}
	b.SetBytes(64 * MaxUnit)
	b.ReportAllocs()
	var c Collector
	for b.Loop() {
		for _, frame := range frames {
			if _, _, err := c.Add(frame); err != nil {
				b.Fatal(err)
			}
		}
	}
}
