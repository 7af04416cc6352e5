package echo

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPieces: wherever the text is cut, the marks are found, and what looks like one is kept.
func TestPieces(t *testing.T) {
	const text = `{"a":"mark 1","b":["mark 0","mark ","ma"],"mark 1":"\"mark 1","c":"mark 12"}`
	replaced := strings.NewReplacer(`"mark x1"`, "ONE", `"mark x0"`, "ZERO", `"mark x12"`, "TWELVE").Replace
	marked := strings.NewReplacer(`"mark 1","b"`, `"mark x1","b"`, `"mark 0"`, `"mark x0"`, `"mark 12"`, `"mark x12"`).Replace(text)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var to bytes.Buffer
		w := NewWriter(&to, "mark x")
		for rest := marked; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			if _, err := io.WriteString(w, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		size := int64(to.Len())
		r, size := Fill(&to, size, w.Values(func(n int) string {
			return map[int]string{0: "ZERO", 1: "ONE", 12: "TWELVE"}[n]
		}))
		got, err := io.ReadAll(r)
		if want := replaced(marked); err != nil || string(got) != want || size != int64(len(want)) {
			t.Fatalf("%s, %v; it says %d bytes\nwant %s", got, err, size, want)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestErrors(t *testing.T) {
	w := NewWriter(failing{}, "m")
	if _, err := fmt.Fprint(w, "long text"); err != io.ErrShortWrite {
		t.Errorf("Write = %v", err)
	}
}
