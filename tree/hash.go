package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"sort"
)

// Hash returns the protocol's hash of a node, which clients send with listens
// and transactions: base64 of a SHA-1 over the node's text form
// (protocol §8.1). The hash of the absent node is "".
//
// It reads the whole value and hashes each object from the hashes of its
// children. So it costs as much as the value is long and is not for the
// committer; see package sync/fingerprint.
func (n Node) Hash() string { return hashWith(doubleHex, n) }

// HashJS is Hash as the JS SDK computes it: its encoding of a double is wrong
// for some numbers, such as 2^53-1. Equal to Hash for all others.
func (n Node) HashJS() string { return hashWith(jsDoubleHex, n) }

// MatchesHash reports whether h is the node's hash in either form.
func (n Node) MatchesHash(h string) bool { return n.Hash() == h || n.HashJS() == h }

// A hasher appends the texts of a node and of its descendants to one buffer and
// replaces each by its hash as soon as it is complete. So the buffer has the
// text of one object on each level, with hashes for its children, and not the
// whole value.
type hasher struct {
	hex func([]byte, float64) []byte
	buf []byte
}

func hashWith(hex func([]byte, float64) []byte, n Node) string {
	h := hasher{hex: hex, buf: make([]byte, 0, 512)}
	h.hash(n)
	return string(h.buf)
}

func (h *hasher) hash(n Node) {
	if n.IsEmpty() {
		return
	}
	start := len(h.buf)
	h.text(n)
	sum := sha1.Sum(h.buf[start:])
	h.buf = base64.StdEncoding.AppendEncode(h.buf[:start], sum[:])
}

// text appends what is hashed.
func (h *hasher) text(n Node) {
	if p := n.Priority(); !p.IsEmpty() {
		h.buf = append(h.buf, "priority:"...)
		h.leaf(p.text)
		h.buf = append(h.buf, ':')
	}
	if n.IsLeaf() {
		h.leaf(n.Value().text)
		return
	}
	for _, m := range n.membersByPriority() {
		key := unquote(m.key(n.text))
		h.buf = append(append(append(h.buf, ':'), key...), ':')
		h.hash(Node{m.value(n.text)})
	}
}

func (h *hasher) leaf(v string) {
	switch class(v) {
	case classFalse, classTrue:
		h.buf = append(append(h.buf, "boolean:"...), v...)
	case classString:
		h.buf = append(append(h.buf, "string:"...), unquote(v)...)
	default:
		f, _ := Node{v}.NumberValue()
		h.buf = h.hex(append(h.buf, "number:"...), f)
	}
}

// membersByPriority returns the children in their default order. It is key
// order unless a child has a priority.
func (n Node) membersByPriority() []member {
	members := make([]member, 0, 16)
	sorted := true
	for m := range n.members() {
		sorted = sorted && !hasPriority(m.value(n.text))
		members = append(members, m)
	}
	if !sorted { // stable: ties stay in key order
		priority := func(m member) Node { return Node{m.value(n.text)}.Priority() }
		sort.SliceStable(members, func(i, j int) bool {
			return CompareValues(priority(members[i]), priority(members[j])) < 0
		})
	}
	return members
}

// doubleHex appends the 16 hex digits of a double's IEEE 754 bits.
func doubleHex(dst []byte, f float64) []byte { return appendHex64(dst, math.Float64bits(f)) }

func appendHex64(dst []byte, x uint64) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], x)
	return hex.AppendEncode(dst, b[:])
}

// jsDoubleHex is doubleHex as the JS SDK has it. It is right for integers below
// 2^47, which TestJSIntegers checks; they are most numbers.
func jsDoubleHex(dst []byte, f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1<<47 {
		return doubleHex(dst, f)
	}
	return jsComputedHex(dst, f)
}

// jsComputedHex repeats the arithmetic of the JS SDK, which takes the exponent
// from a quotient of logarithms and so gets it wrong just below powers of two.
// Wrong mantissas then overflow into 53 bits and are cut, as in the original.
func jsComputedHex(dst []byte, f float64) []byte {
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
	return appendHex64(dst, sign<<(eBits+fBits)|e<<fBits|m)
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
