package tree

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A weighedText is a text that measures how much memory is in use while it is read.
type weighedText struct {
	parts  []string // of which each is repeated
	times  []int
	rest   string
	read   int
	heap   uint64 // the most that was in use
	weighs int    // at how many bytes it is measured next
}

const weighEvery = 4 << 20

func (w *weighedText) Read(p []byte) (int, error) {
	for w.rest == "" {
		if len(w.parts) == 0 {
			return 0, io.EOF
		}
		if w.times[0] == 0 {
			w.parts, w.times = w.parts[1:], w.times[1:]
			continue
		}
		w.rest = w.parts[0]
		w.times[0]--
	}
	n := copy(p, w.rest)
	w.rest = w.rest[n:]
	if w.read += n; w.read >= w.weighs {
		w.weighs += weighEvery
		w.heap = max(w.heap, heapInUse())
	}
	return n, nil
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// forgetful is a sink that stores nothing.
type forgetful struct{}

func (forgetful) Node(Path, Node) (Stored, error)                       { return true, nil }
func (forgetful) Container(Path) Container                              { return forgottenContainer{} }
func (forgetful) String() (LongString, error)                           { return forgottenString{}, nil }
func (forgetful) WithPriority(_ Path, v Stored, _ Node) (Stored, error) { return v, nil }
func (forgetful) Drop(Stored)                                           {}
func (forgetful) ServerValue(Target, Draft) (Node, bool)                { return Empty, false }

type forgottenContainer struct{}

func (forgottenContainer) Node(string, Node) error    { return nil }
func (forgottenContainer) Child(string, Stored) error { return nil }
func (forgottenContainer) Close(Node) (Stored, error) { return true, nil }

type forgottenString struct{}

func (forgottenString) Append(string) error { return nil }
func (forgottenString) Value() Stored       { return true }

// TestStreamMemory: whatever a text of 32 MiB and more looks like, little of it is in memory.
func TestStreamMemory(t *testing.T) {
	tier.Need(t, tier.Full)
	const size = 32 << 20
	spaces := strings.Repeat(" ", 1<<20)
	repeat := func(text string) (string, int) { return strings.Repeat(text, 1<<10), size / len(text) >> 10 }
	nulls, nullTimes := repeat(`"a":null,`)
	ones, oneTimes := repeat(`1,`)
	again, againTimes := repeat(`"b":1,"a":2,`)
	priority := `{".priority":"` + strings.Repeat("p", 9<<20) + `","a":`
	for name, c := range map[string]struct {
		parts []string
		times []int
		kind  ParseKind // of the error that is wanted
		fails bool
	}{
		"nulls under one key":      {parts: []string{`{"b":1,`, nulls, `"c":1}`}, times: []int{1, nullTimes, 1}},
		"keys that come again":     {parts: []string{`{`, again, `"c":1}`}, times: []int{1, againTimes, 1}},
		"an array":                 {parts: []string{`[`, ones, `1]`}, times: []int{1, oneTimes, 1}},
		"space behind a key":       {parts: []string{`{"a"`, spaces, `:1}`}, times: []int{1, 32, 1}},
		"space behind a colon":     {parts: []string{`{"a":`, spaces, `1}`}, times: []int{1, 32, 1}},
		"space between keys":       {parts: []string{`{"k":1`, `,` + spaces[:300<<10] + `"a":1`, `}`}, times: []int{1, 200, 1}},
		"space in a priority":      {parts: []string{`{".priority":`, spaces, `1,"a":1}`}, times: []int{1, 32, 1}},
		"priorities":               {parts: []string{priority}, times: []int{8}, kind: TooLong, fails: true},
		"space before a wrong key": {parts: []string{`{"a/b"`, spaces, `:1}`}, times: []int{1, 32, 1}, kind: BadKey, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			text := &weighedText{parts: c.parts, times: c.times, weighs: weighEvery}
			before := heapInUse()
			_, err := ParseStream(context.Background(), text, Root, 64<<10, forgetful{})
			wrong := (*ParseError)(nil)
			if c.fails && (!errors.As(err, &wrong) || wrong.Kind != c.kind) || !c.fails && err != nil {
				t.Error(err)
			}
			if wrong != nil && c.kind == BadKey && (wrong.Line != 1 || wrong.Col != 2) {
				t.Errorf("position %d:%d, want 1:2", wrong.Line, wrong.Col)
			}
			if most := before + 48<<20; text.heap > most {
				t.Errorf("%d MiB in use, want at most %d", text.heap>>20, most>>20)
			}
		})
	}
}
