// Package piecewise copies large memory a piece at a time.
//
// The runtime can't interrupt a goroutine in the middle of one copy. Until it can, the
// garbage collector can't begin or end, and while it waits for that, no other goroutine
// runs, on any processor. A copy of some megabytes to memory that was just got from the
// system takes tens of milliseconds, because every page of it is touched for the first
// time. So one client's long text would stop all others for as long. The functions here
// copy in pieces and let others run in between: to leave that to the runtime is not
// enough, since it has to hit the moment between two pieces. Short copies are what they
// would be without this package.
package piecewise

import (
	"runtime"
	"strings"
	"unsafe"
)

// piece is the most bytes that are copied at once.
const piece = 128 << 10

// Append appends src to dst as the built-in function does.
func Append[T ~string | ~[]byte](dst []byte, src T) []byte {
	if len(src) <= piece {
		if len(src) <= cap(dst)-len(dst) {
			return append(dst, src...)
		}
		return append(Grow(dst, len(src)), src...)
	}
	dst = Grow(dst, len(src))
	for len(src) > piece {
		dst = append(dst, src[:piece]...)
		src = src[piece:]
		runtime.Gosched()
	}
	return append(dst, src...)
}

// Grow returns s with room for n more elements, as slices.Grow does.
func Grow[E any](s []E, n int) []E {
	if n <= cap(s)-len(s) {
		return s
	}
	var e E
	each := max(piece/max(int(unsafe.Sizeof(e)), 1), 1) // elements in a piece
	need := len(s) + n
	if need <= each {
		return append(s, make([]E, n)...)[:len(s)]
	}
	grown := make([]E, 0, max(need, len(s)+len(s)/2))
	for len(s) > each {
		grown = append(grown, s[:each]...)
		s = s[each:]
		runtime.Gosched()
	}
	return append(grown, s...)
}

// Add appends one element to s as the built-in function append does.
func Add[E any](s []E, e E) []E {
	if len(s) == cap(s) {
		s = Grow(s, 1)
	}
	return append(s, e)
}

// Write appends s to what b has.
func Write(b *strings.Builder, s string) {
	for len(s) > piece {
		b.WriteString(s[:piece])
		s = s[piece:]
		runtime.Gosched()
	}
	b.WriteString(s)
}

// String returns b as a string, a copy.
func String(b []byte) string {
	if len(b) <= piece {
		return string(b)
	}
	return Own(Append(make([]byte, 0, len(b)), b))
}

// Own returns b as a string without a copy. Nothing may change b from now on.
func Own(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Join returns all parts as one string.
func Join[T ~string | ~[]byte](parts ...T) string {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	all := make([]byte, 0, size)
	for _, p := range parts {
		all = Append(all, p)
	}
	return Own(all)
}
