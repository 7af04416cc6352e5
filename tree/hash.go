package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
)

// Hash returns the protocol's hash of a node, which clients send with listens
// and transactions: base64 of a SHA-1 over the node's text form (wire protocol
// §8.1). The hash of the absent node is "".
func (n Node) Hash() string { return hasher{doubleHex}.hash(n) }

// HashJS is Hash as the JS SDK computes it: its encoding of a double is wrong
// for some numbers, such as 2^53-1. Equal to Hash for all others.
func (n Node) HashJS() string { return hasher{jsDoubleHex}.hash(n) }

// MatchesHash reports whether h is the node's hash in either form.
func (n Node) MatchesHash(h string) bool { return n.Hash() == h || n.HashJS() == h }

type hasher struct{ hex func([]byte, float64) []byte }

func (h hasher) hash(n Node) string {
	if n.IsEmpty() {
		return ""
	}
	sum := sha1.Sum(h.text(nil, n))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// text appends what is hashed.
func (h hasher) text(dst []byte, n Node) []byte {
	if p := n.Priority(); !p.IsEmpty() {
		dst = append(dst, "priority:"...)
		dst = append(h.leaf(dst, p.text), ':')
	}
	if n.IsLeaf() {
		return h.leaf(dst, n.Value().text)
	}
	for _, c := range childrenByPriority(n) {
		dst = append(append(append(dst, ':'), c.key...), ':')
		dst = append(dst, h.hash(c.node)...)
	}
	return dst
}

func (h hasher) leaf(dst []byte, v string) []byte {
	switch class(v) {
	case classFalse, classTrue:
		return append(append(dst, "boolean:"...), v...)
	case classString:
		return append(append(dst, "string:"...), unquote(v)...)
	}
	f, _ := Node{v}.NumberValue()
	return h.hex(append(dst, "number:"...), f)
}

type keyed struct {
	key  string
	node Node
}

// childrenByPriority returns the children in their default order. It is key
// order unless a child has a priority.
func childrenByPriority(n Node) []keyed {
	var children []keyed
	sorted := true
	for key, child := range n.Children() {
		sorted = sorted && !hasPriority(child.text)
		children = append(children, keyed{key, child})
	}
	if !sorted { // stable: ties stay in key order
		slices.SortStableFunc(children, func(a, b keyed) int {
			return CompareValues(a.node.Priority(), b.node.Priority())
		})
	}
	return children
}

// doubleHex appends the 16 hex digits of a double's IEEE 754 bits.
func doubleHex(dst []byte, f float64) []byte {
	return fmt.Appendf(dst, "%016x", math.Float64bits(f))
}

// jsDoubleHex repeats the arithmetic of the JS SDK, which takes the exponent
// from a quotient of logarithms and so gets it wrong just below powers of two.
// Wrong mantissas then overflow into 53 bits and are cut, as in the original.
func jsDoubleHex(dst []byte, f float64) []byte {
	const eBits, fBits, bias = 11, 52, 1<<10 - 1
	v := math.Abs(f)
	if v == 0 || v < math.Pow(2, 1-bias) {
		return doubleHex(dst, f)
	}
	exp := min(math.Floor(jsLog(v)/math.Ln2), bias)
	e := uint64(exp + bias)
	m := jsBits(roundHalfUp(v*math.Pow(2, fBits-exp) - math.Pow(2, fBits)))
	var sign uint64
	if f < 0 {
		sign = 1
	}
	return fmt.Appendf(dst, "%016x", sign<<(eBits+fBits)|e<<fBits|m)
}

func roundHalfUp(x float64) float64 {
	floor := math.Floor(x)
	if x-floor >= 0.5 {
		return floor + 1
	}
	return floor
}

// jsBits returns the low 52 bits of frac as the SDK reads them, by repeated
// remainder and halving. The odd digits of a negative frac are -1, which prints
// as 1; for tiny numbers frac is infinite, its remainder is no number, and all
// digits are 0.
func jsBits(frac float64) uint64 {
	var m uint64
	for i := range 52 {
		if math.Abs(math.Mod(frac, 2)) == 1 {
			m |= 1 << i
		}
		frac = math.Floor(frac / 2)
	}
	return m
}
