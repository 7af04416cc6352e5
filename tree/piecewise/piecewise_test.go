package piecewise

import (
	"bytes"
	"strings"
	"testing"
)

// sizes are around everything that the functions distinguish.
var sizes = []int{0, 1, 100, piece - 1, piece, piece + 1, 2 * piece, 5*piece + 7}

func TestAppend(t *testing.T) {
	for _, had := range sizes {
		for _, n := range sizes {
			src := bytes.Repeat([]byte("ab1"), n)[:n]
			dst := bytes.Repeat([]byte("x"), had)
			want := string(dst) + string(src)
			if got := Append(dst, src); string(got) != want {
				t.Errorf("%d bytes behind %d: wrong", n, had)
			}
			if got := Append(append(make([]byte, 0, had+n), dst...), string(src)); string(got) != want {
				t.Errorf("text of %d bytes behind %d in place: wrong", n, had)
			}
		}
	}
}

func TestGrow(t *testing.T) {
	for _, n := range sizes {
		s := make([]string, n)
		for i := range s {
			s[i] = strings.Repeat("x", i%3)
		}
		grown := Grow(s[:n:n], 1)
		if len(grown) != n || cap(grown) <= n {
			t.Fatalf("%d elements: %d with room for %d", n, len(grown), cap(grown))
		}
		for i := range grown {
			if grown[i] != s[i] {
				t.Fatalf("%d elements: the one at %d differs", n, i)
			}
		}
	}
	full := make([]int, 3, 10)
	if grown := Grow(full, 7); &grown[0] != &full[0] {
		t.Error("a slice with room was moved")
	}
}

// What grows by one element at a time is moved seldom.
func TestAdd(t *testing.T) {
	var s []int
	moves := 0
	for i := range 1_000_000 {
		if len(s) == cap(s) {
			moves++
		}
		s = Add(s, i)
	}
	for i, e := range s {
		if e != i {
			t.Fatalf("%d at %d", e, i)
		}
	}
	if moves > 100 {
		t.Errorf("moved %d times", moves)
	}
}

func TestStrings(t *testing.T) {
	for _, n := range sizes {
		b := bytes.Repeat([]byte("ab1"), n)[:n]
		if got := String(b); got != string(b) {
			t.Errorf("%d bytes: wrong", n)
		}
		if got := Join(b, b, b[:n/2]); got != string(b)+string(b)+string(b[:n/2]) {
			t.Errorf("%d bytes joined: wrong", n)
		}
	}
	if Join[string]() != "" {
		t.Error("no parts are not the empty text")
	}
	b := []byte("abc")
	s := String(b)
	if b[0] = 'x'; s != "abc" {
		t.Error("a copy changed with what it was copied from")
	}
}
