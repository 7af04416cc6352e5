package store

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// Marks of integer keys. Text keys begin with a byte from 0x20 up, so integer
// keys come first.
const (
	markInteger   = 0x02
	markCanonical = 0x00 // "7"
	markPadded    = 0x01 // "007", "-0"
)

// appendKey appends the ordered key: byte order of ordered keys is
// tree.CompareKeys of keys. Text keys keep their length. Bytes are compared by
// bbolt, which takes no function for it. The permutation of lead bytes makes
// UTF-8 sort as UTF-16 does: characters beyond the first plane are surrogates
// there, and sort before those from U+E000 on.
func appendKey(dst []byte, key string) []byte {
	n, ok := tree.IntegerKey(key)
	if !ok {
		for i := 0; i < len(key); i++ {
			dst = append(dst, tree.UTF16Lead(key[i]))
		}
		return dst
	}
	dst = append(dst, markInteger)
	dst = binary.BigEndian.AppendUint32(dst, uint32(n)^1<<31)
	extra := len(key) - len(strconv.Itoa(int(n)))
	if extra == 0 {
		return append(dst, markCanonical)
	}
	positive := byte(1)
	if key[0] == '-' {
		positive = 0
	}
	dst = append(dst, markPadded)
	dst = binary.BigEndian.AppendUint16(dst, uint16(extra))
	return append(dst, positive) // decides between "-0" and "00"
}

// decodeKey is the inverse of appendKey. ok is false for bytes that it does
// not make.
func decodeKey(b []byte) (key string, ok bool) {
	var short [64]byte // which most keys fit into
	text, ok := appendDecoded(short[:0], b)
	return string(text), ok
}

// appendDecoded is decodeKey for those who have room for the key.
func appendDecoded(dst, b []byte) (key []byte, ok bool) {
	if len(b) == 0 {
		return dst, false
	}
	if b[0] != markInteger {
		return appendText(dst, b), true
	}
	if len(b) < 6 {
		return dst, false
	}
	n := int32(binary.BigEndian.Uint32(b[1:]) ^ 1<<31)
	switch {
	case len(b) == 6 && b[5] == markCanonical:
		return strconv.AppendInt(dst, int64(n), 10), true
	case len(b) != 9 || b[5] != markPadded:
		return dst, false
	}
	digits := strconv.Itoa(int(n))
	zeros := strings.Repeat("0", int(binary.BigEndian.Uint16(b[6:])))
	switch {
	case b[8] == 1:
		return append(append(dst, zeros...), digits...), true
	case n == 0: // "-0": the minus is one of the extra characters
		return append(append(dst, '-'), zeros...), true
	}
	return append(append(append(dst, '-'), zeros...), digits[1:]...), true
}

// appendText appends the text whose ordered key b is.
func appendText(dst, b []byte) []byte {
	for _, c := range b {
		switch {
		case c < 0xEE:
		case c <= 0xF2:
			c += 2
		case c == 0xF3 || c == 0xF4:
			c -= 5
		}
		dst = append(dst, c)
	}
	return dst
}

func decodeText(b []byte) string { return string(appendText(make([]byte, 0, len(b)), b)) }

// rowKey returns the key of a row: container id and ordered key.
func rowKey(container uint64, key string) []byte {
	return appendRowKey(make([]byte, 0, maxRowKey(key)), container, key)
}

// maxRowKey is at least the length of the row key. Ordered keys of integers take
// up to nine bytes.
func maxRowKey(key string) int { return 8 + len(key) + 9 }

func appendRowKey(dst []byte, container uint64, key string) []byte {
	return appendKey(binary.BigEndian.AppendUint64(dst, container), key)
}

func idKey(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

// rootKey is the row key of the root.
var rootKey = idKey(0)

// The classes of values in index entries, in the order of tree.CompareValues.
const (
	classNull   = 0x10
	classFalse  = 0x20
	classTrue   = 0x30
	classNumber = 0x40
	classString = 0x50
	classObject = 0x60
)

// maxIndexed is how many bytes of a string an index entry holds. Longer strings
// that agree so far are put in order when they are read.
const maxIndexed = 512

// Ends of strings in index entries. A zero byte within is followed by 0xFF.
const (
	endOfString = 0x00
	cutString   = 0x01
)

// objectValue stands for any object as an index value: all are equal.
var objectValue = tree.FromCanonical("{}")

// appendValue appends an index value so that bytes sort as CompareValues. Those of a list follow
// each other: no value begins with another one, so the first that differs decides.
func appendValue(dst []byte, v tree.Node) []byte {
	if v.IsList() {
		for each := range v.List() {
			dst = appendValue(dst, each)
		}
		return dst
	}
	if v.IsEmpty() {
		return append(dst, classNull)
	}
	if b, ok := v.BoolValue(); ok {
		if b {
			return append(dst, classTrue)
		}
		return append(dst, classFalse)
	}
	if f, ok := v.NumberValue(); ok {
		return appendNumber(append(dst, classNumber), f, v.Value().Text())
	}
	if s, ok := v.StringValue(); ok {
		return appendString(append(dst, classString), s)
	}
	return append(dst, classObject)
}

// The sign bit is flipped for positive numbers and all bits for negative ones: so the
// bits sort as the numbers do. Integers beyond 2^53 are several for one double, and the
// integer itself follows to put those in order.
func appendNumber(dst []byte, f float64, text string) []byte {
	if f == 0 {
		f = 0 // no negative zero
	}
	bits := math.Float64bits(f)
	if f < 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	dst = binary.BigEndian.AppendUint64(dst, bits)
	if !wideInteger(f) {
		return dst
	}
	i, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil:
		return append(appendInteger(dst, i), isInteger)
	case f < 0: // below all 64-bit integers
		return append(appendInteger(dst, math.MinInt64), belowIntegers)
	}
	return append(appendInteger(dst, math.MaxInt64), aboveIntegers)
}

func appendInteger(dst []byte, i int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(i)^1<<63)
}

// What follows the integer behind a double that several 64-bit integers may be.
const (
	belowIntegers = 0
	isInteger     = 1
	aboveIntegers = 2
)

// wideInteger reports whether several 64-bit integers may be the same double f.
func wideInteger(f float64) bool { return math.Abs(f) >= 1<<53 && math.Abs(f) <= 1<<63 }

// The end is marked by 00 and a byte, so that a string sorts before every longer one that
// begins with it. A zero byte in the text is followed by FF for that reason.
func appendString(dst []byte, s string) []byte {
	end := byte(endOfString)
	if len(s) > maxIndexed {
		s, end = s[:maxIndexed], cutString
	}
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			dst = append(dst, 0, 0xFF)
		} else {
			dst = append(dst, tree.UTF16Lead(s[i]))
		}
	}
	return append(dst, 0, end)
}

// splitValues is splitValue for an order of n values. cut is how many bytes the values have up
// to the first one that has been cut, 0 if all are whole.
func splitValues(b []byte, n int) (v tree.Node, size, cut int, ok bool) {
	if n == 1 {
		v, size, part, ok := splitValue(b)
		if part {
			cut = size
		}
		return v, size, cut, ok
	}
	values := make([]tree.Node, 0, tree.MaxOrder)
	for range n {
		v, each, part, ok := splitValue(b[size:])
		if !ok {
			return tree.Empty, 0, 0, false
		}
		if size += each; part && cut == 0 {
			cut = size
		}
		values = append(values, v)
	}
	return tree.ListValue(values), size, cut, true
}

// splitValue splits an index entry's tail into value and ordered key. cut
// reports that the value is only the beginning of a string.
func splitValue(b []byte) (v tree.Node, size int, cut, ok bool) {
	if len(b) == 0 {
		return v, 0, false, false
	}
	switch b[0] {
	case classNull:
		return tree.Empty, 1, false, true
	case classFalse, classTrue:
		return tree.Bool(b[0] == classTrue), 1, false, true
	case classObject:
		return objectValue, 1, false, true
	case classNumber:
		return splitNumber(b)
	case classString:
		return splitString(b)
	}
	return v, 0, false, false
}

func splitNumber(b []byte) (v tree.Node, size int, cut, ok bool) {
	if len(b) < 9 {
		return v, 0, false, false
	}
	bits := binary.BigEndian.Uint64(b[1:])
	if bits>>63 == 1 {
		bits &^= 1 << 63
	} else {
		bits = ^bits
	}
	f := math.Float64frombits(bits)
	if !wideInteger(f) {
		return tree.Number(f), 9, false, true
	}
	if len(b) < 18 {
		return v, 0, false, false
	}
	if b[17] != isInteger {
		return tree.Number(f), 18, false, true
	}
	i := int64(binary.BigEndian.Uint64(b[9:]) ^ 1<<63)
	return tree.FromCanonical(strconv.FormatInt(i, 10)), 18, false, true
}

func splitString(b []byte) (v tree.Node, size int, cut, ok bool) {
	var text []byte
	for i := 1; i+1 < len(b); i++ {
		switch {
		case b[i] != 0:
			text = append(text, b[i])
		case b[i+1] == 0xFF:
			text = append(text, 0)
			i++
		default:
			return tree.String(decodeText(text)), i + 2, b[i+1] == cutString, true
		}
	}
	return v, 0, false, false
}
