package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"math"
	"strings"
)

// CompoundHash describes a node by the hashes of consecutive ranges of its
// leaves, so that a server that knows the node in another state can send only
// the ranges that differ (protocol §8.3). posts are the paths of the last
// leaf of each range, "/" for a root leaf; hashes has one more for what comes
// behind the last post, which is nothing: "".
func (n Node) CompoundHash() (posts, hashes []string) {
	s := splitter{
		rangeText: rangeText{bracketWriter{brackets: "()"}},
		threshold: splitThreshold(n.estimatedSize()),
		posts:     []string{},
	}
	if !n.IsEmpty() {
		s.leaves(n, s.leaf)
		s.split()
	}
	return s.posts, append(s.hashes, "")
}

// splitThreshold is the number of UTF-16 units after which a range ends. Larger
// nodes get larger ranges, but also more of them.
func splitThreshold(size int) int {
	return max(512, int(math.Sqrt(float64(size)*100)))
}

// It has to end ranges exactly where clients do, because hashes of other ranges cannot be
// compared. The threshold and the estimated sizes are therefore those of the SDKs, down
// to their rounding.
type splitter struct {
	rangeText
	threshold int
	last      []string // keys of the last leaf
	units     int      // UTF-16 length of buf[:counted]
	counted   int
	posts     []string
	hashes    []string
}

func (s *splitter) leaf(n Node) {
	s.rangeText.leaf(n)
	s.last = append(s.last[:0], s.keys...)
	s.units += utf16Len(s.buf[s.counted:])
	s.counted = len(s.buf)
	isPriority := len(s.keys) > 0 && s.keys[len(s.keys)-1] == quotedPriority
	if s.units-len(")") > s.threshold && !isPriority {
		s.split()
	}
}

// split ends a range behind the last leaf.
func (s *splitter) split() {
	if len(s.buf) == 0 {
		return
	}
	keys := make([]string, len(s.last))
	for i, key := range s.last {
		keys[i] = unquote(key)
	}
	post := strings.Join(keys, "/")
	if post == "" {
		post = "/"
	}
	s.posts = append(s.posts, post)
	s.hashes = append(s.hashes, s.hash())
	s.units, s.counted = 0, 0
}

// A rangeText is the text of a range of leaves, from which its hash is made:
// every leaf and every object in parentheses.
type rangeText struct{ bracketWriter }

// leaves calls f for the leaves of n, with keys set. An object's priority is
// the leaf ".priority" before the first child with a greater key. If there is no
// such child, clients leave the priority out, so it is left out here.
func (t *rangeText) leaves(n Node, f func(Node)) {
	if !n.IsObject() {
		f(n)
		return
	}
	priority := n.Priority()
	for m := range n.members() {
		quoted := m.key(n.text)
		if !priority.IsEmpty() && CompareKeys(unquote(quoted), priorityKey) > 0 {
			t.push(quotedPriority)
			f(priority)
			t.pop()
			priority = Empty
		}
		t.push(quoted)
		t.leaves(Node{m.value(n.text)}, f)
		t.pop()
	}
}

func (t *rangeText) leaf(n Node) {
	t.start()
	t.buf = append(t.buf, '(')
	if p := n.Priority(); !p.IsEmpty() {
		t.buf = append(t.buf, "priority:"...)
		t.scalar(p.text)
		t.buf = append(t.buf, ':')
	}
	t.scalar(n.Value().text)
	t.buf = append(t.buf, ')')
}

func (t *rangeText) scalar(v string) {
	switch class(v) {
	case classFalse, classTrue:
		t.buf = append(append(t.buf, "boolean:"...), v...)
	case classString:
		t.buf = append(t.buf, "string:"...)
		t.buf = appendHashString(t.buf, v)
	default:
		f, _ := Node{v}.NumberValue()
		t.buf = doubleHex(append(t.buf, "number:"...), f)
	}
}

// appendHashString appends a canonical string as it stands in range texts: only
// quotes and backslashes are escaped.
func appendHashString(dst []byte, quoted string) []byte {
	if strings.IndexByte(quoted, '\\') < 0 {
		return append(dst, quoted...)
	}
	dst = append(dst, '"')
	for _, c := range []byte(unquote(quoted)) {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// hash ends the range and returns its hash, "" if it has no leaves.
func (t *rangeText) hash() string {
	text := t.end()
	if len(text) == 0 {
		return ""
	}
	sum := sha1.Sum(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// estimatedSize is the size that clients expect the node's JSON to have. Its
// exact value matters: it decides where ranges end.
func (n Node) estimatedSize() int {
	switch class(n.Value().text) {
	case classNull:
		return len("null")
	case classObject:
		return n.estimatedObjectSize()
	}
	size := estimatedScalarSize(n.Value().text)
	if p := n.Priority(); !p.IsEmpty() {
		size += 24 + estimatedScalarSize(p.text)
	}
	return size
}

func (n Node) estimatedObjectSize() int {
	size := 1
	for key, child := range n.Children() {
		size += utf16Len(key) + 4 + child.estimatedSize()
	}
	if p := n.Priority(); !p.IsEmpty() {
		size += 12 + estimatedScalarSize(p.text)
	}
	return size
}

func estimatedScalarSize(v string) int {
	switch class(v) {
	case classFalse, classTrue:
		return 4
	case classString:
		return 2 + utf16Len(unquote(v))
	}
	return 8
}

// utf16Len returns the length of valid UTF-8 text in UTF-16 code units.
func utf16Len[T string | []byte](s T) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i]&0xC0 != 0x80 { // the first byte of a character
			n++
		}
		if s[i] >= 0xF0 { // of one that takes two units
			n++
		}
	}
	return n
}
