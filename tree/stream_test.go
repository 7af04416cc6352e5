package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A memorySink builds a value in memory. What it stores are nodes.
type memorySink struct{}

func (memorySink) Node(_ Path, n Node) (Stored, error)    { return n, nil }
func (memorySink) Container(Path) Container               { return new(memoryContainer) }
func (memorySink) String() (LongString, error)            { return new(memoryString), nil }
func (memorySink) Drop(Stored)                            {}
func (memorySink) ServerValue(Target, Draft) (Node, bool) { return Empty, false }
func (memorySink) WithPriority(_ Path, v Stored, priority Node) (Stored, error) {
	return v.(Node).WithPriority(priority), nil
}

type memoryContainer struct{ node Node }

func (c *memoryContainer) Node(key string, n Node) error {
	c.node = c.node.With(Root.Child(key), n)
	return nil
}

func (c *memoryContainer) Child(key string, v Stored) error { return c.Node(key, v.(Node)) }

func (c *memoryContainer) Close(priority Node) (Stored, error) {
	if c.node.IsEmpty() {
		return nil, nil
	}
	return c.node.WithPriority(priority), nil
}

type memoryString struct{ strings.Builder }

func (s *memoryString) Append(part string) error { _, err := s.WriteString(part); return err }
func (s *memoryString) Value() Stored            { return String(s.String()) }

// parseInParts is ParseNode through a stream.
func parseInParts(src io.Reader, whole int) (Node, error) {
	v, err := ParseStream(context.Background(), src, Root, whole, memorySink{})
	n, _ := v.(Node)
	return n, err
}

// streamTexts are texts in which the parts of a stream may begin and end anywhere.
func streamTexts() []string {
	long := strings.Repeat(`a\u00e4é😀\ud83d\ude00`, longPart/8)
	return []string{
		`null`, ` 7 `, `"` + long + `"`, `{"a":{"b":"` + long + `"},"c":[1,null,{"d":true}]}`,
		`{"b":1,"a":{"x":{}},"b":{"c":"again"}}`, `{"a":1,"a":null}`, `[[[]]]`, `[[1,2,[3,null]],[null],4]`,
		`{".priority":3,"a":{".value":"text",".priority":"p"}}`, `{".value":{"a":1},".value":2}`, `{".value":{"a":{"b":1}},".value":null}`,
		`{".value":{"a":{"b":1},"c":2},".priority":"x"}`, `{".priority":{".value":4},"a":1}`, `{"a":{".value":{}},"b":{".value":[]}}`,
		`{".value":1,"a":2}`, `{"b":"some text",".value":{"x":1}}`, `{"a":`, `{"a" 1}`, `{"a":1} x`, `{"a/b":1}`, `{".priority":{}}`, `{".priority":{"a":1},"b":2}`, `[1,`, `"ab`, ``,
		`{"10":1,"9":2,"a":{"z":1,"y":2,"x":[1,2]},"A":"\n\"\\"}`, `{"\u0061b":1,"a":2,"\u0061b":3}`, `[-0,1e2,0.1,1234567890123456789,1e400]`,
		`{"a":"` + long + `","b":"` + long[:len(long)-3] + `"}`, "{\"a\":\"\xff" + long + `"}`, `{"a":"` + long + "\xe9\x88\"}", `{"a":"` + long + "\x01\"}", `{"a":"` + long + `\x"}`,
		`{"` + strings.Repeat("k", MaxKeyBytes) + `":1}`, `{"` + strings.Repeat(`\u0061`, MaxKeyBytes) + `":{"b":2}}`, `{"` + strings.Repeat("k", mostKeyText+1) + `":1}`,
		`{"a":{".sv":"timestamp"}}`, strings.Repeat("[", maxNesting+2), strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1),
		strings.Repeat(`{"a":[`, MaxDepth/2) + "1" + strings.Repeat("]}", MaxDepth/2), strings.Repeat(`{".value":`, 40) + "1" + strings.Repeat("}", 40),
	}
}

// TestParseStream reads values in parts of a few bytes and wants what ParseNode reads, or an
// error of the same kind.
func TestParseStream(t *testing.T) {
	for _, src := range streamTexts() {
		for _, whole := range []int{1, 12, 1 << 10, 1 << 20} {
			sameInParts(t, src, strings.NewReader(src), whole)
			sameInParts(t, src, iotest.HalfReader(strings.NewReader(src)), whole)
			if len(src) < 1<<12 {
				sameInParts(t, src, iotest.OneByteReader(strings.NewReader(src)), whole)
			}
		}
	}
}

func sameInParts(t *testing.T, text string, src io.Reader, whole int) {
	t.Helper()
	want, wrong := ParseNode(text)
	got, err := parseInParts(src, whole)
	if got != want || (err == nil) != (wrong == nil) {
		t.Errorf("%.60q, %d bytes at once: %.60s, %v; want %.60s, %v", text, whole, got.JSON(), err, want.JSON(), wrong)
		return
	}
	is, should := (*ParseError)(nil), (*ParseError)(nil)
	if errors.As(err, &is) != errors.As(wrong, &should) || is != nil && is.Kind != should.Kind && !strings.Contains(text, ".sv") {
		t.Errorf("%.60q, %d bytes at once: %v, want %v", text, whole, err, wrong)
	}
}

// TestParseStreamSaysWhere: errors have the same text and position as those of a text that is
// in memory.
func TestParseStreamSaysWhere(t *testing.T) {
	tier.Unraced(t)
	rows := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\"k%07d\": {\"text\": \"some words\",\n \"list\": [1, 2, 3]},\n", i)
		}
		return "{" + b.String()
	}
	for _, n := range []int{3, 8000} {
		for _, wrong := range []string{
			`"a.b": 1}`, `"a": nothing}`, `"a": [1 2]}`, `"a": "\x"}`, `"a" 1}`, `}`, `"a": 1`, `"a": 1}}`, `"a": .5}`, `"a": 1.}`, `"a": 1e999}`,
			`"a": {".priority": true, "b": 1}}`, `"a": {".value": 1, "b": 1}}`, `"": 1}`, "\"a\": \"\t\"}", "\"a\": \"\xff\"}", `"a": "no end`,
		} {
			text := rows(n) + wrong
			_, want := ParseNode(text)
			_, got := ParseStream(context.Background(), strings.NewReader(text), Root, 4<<10, brokenSink{})
			if want == nil || got == nil || got.Error() != want.Error() {
				t.Errorf("%d rows, then %s: %v, want %v", n, wrong, got, want)
			}
		}
	}
}

// TestParseStreamFails: the error of a source, a context or a sink is what a reader of it
// returns.
func TestParseStreamFails(t *testing.T) {
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader(`{"a":[1,`), iotest.ErrReader(broken))
	if _, err := parseInParts(src, 1); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ParseStream(ctx, strings.NewReader("1"), Root, 1, memorySink{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
	if _, err := ParseStream(context.Background(), strings.NewReader(`{"a":{"b":1}}`), Root, 1, brokenSink{broken}); !errors.Is(err, broken) {
		t.Errorf("the error is %v, want %v", err, broken)
	}
}

// A brokenSink stores nothing.
type brokenSink struct{ err error }

func (s brokenSink) Node(Path, Node) (Stored, error)                 { return nil, s.err }
func (s brokenSink) Container(Path) Container                        { return brokenContainer(s) }
func (s brokenSink) String() (LongString, error)                     { return nil, s.err }
func (s brokenSink) Drop(Stored)                                     {}
func (s brokenSink) ServerValue(Target, Draft) (Node, bool)          { return Empty, false }
func (s brokenSink) WithPriority(Path, Stored, Node) (Stored, error) { return nil, s.err }

type brokenContainer struct{ err error }

func (c brokenContainer) Node(string, Node) error    { return c.err }
func (c brokenContainer) Child(string, Stored) error { return c.err }
func (c brokenContainer) Close(Node) (Stored, error) { return nil, c.err }

// FuzzParseStream compares what a stream gives with the text as a whole.
func FuzzParseStream(f *testing.F) {
	for _, text := range streamTexts() {
		if len(text) < 1<<12 {
			f.Add(text, uint8(16), uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, text string, whole, how uint8) {
		if strings.Contains(text, ".sv") || strings.Contains(text, `\u002`) {
			return // streams refuse server values
		}
		var src io.Reader = strings.NewReader(text)
		switch how % 3 {
		case 1:
			src = iotest.OneByteReader(src)
		case 2:
			src = iotest.DataErrReader(iotest.HalfReader(src))
		}
		sameInParts(t, text, src, 1+int(whole))
	})
}
