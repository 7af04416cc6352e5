package tree

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// AppendPlain appends the node as REST shows it: without priorities, and with
// objects whose keys are mostly the integers from 0 as arrays (REST §4.3). The
// absent node is null. The form loses information: it cannot be read back as it
// was, so it is for answers only.
func AppendPlain(dst []byte, n Node) []byte {
	s := n.JSON()
	return appendForm(piecewise.Grow(dst, len(s)), s)
}

// AppendExport appends the node in the REST export form: priorities are kept
// (REST §4.4).
func AppendExport(dst []byte, n Node) []byte { return piecewise.Append(dst, n.JSON()) }

func appendForm(dst []byte, s string) []byte {
	if s[0] != '{' {
		return piecewise.Append(dst, s)
	}
	n := Node{s}
	i := firstChild(s)
	if i < 0 {
		return append(dst, n.Value().text...)
	}
	if n.isArray() {
		return appendArray(dst, n)
	}
	dst = append(dst, '{')
	for m := range n.members() {
		if m.start != i {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.key(s)...), ':')
		dst = appendForm(dst, m.value(s))
	}
	return append(dst, '}')
}

// isArray reports whether an array stands for the object: all keys are canonical
// decimal numbers and the greatest is below twice their count.
func (n Node) isArray() bool {
	count, last := 0, 0
	for m := range n.members() {
		i, isIndex := ArrayIndex(n.text[m.start+1 : m.keyEnd-1])
		if !isIndex {
			return false
		}
		count, last = count+1, i
	}
	return last < 2*count
}

// ArrayIndex returns the index that a key stands for where an object is shown as an array.
// Keys such as "07" stand for none.
func ArrayIndex(key string) (int, bool) {
	if key == "" || len(key) > 9 || key[0] == '0' && len(key) > 1 || key[0] > '9' {
		return 0, false // the last of which is most keys, for which an error would be made
	}
	i, err := strconv.ParseUint(key, 10, 31)
	return int(i), err == nil
}

func appendArray(dst []byte, n Node) []byte {
	dst = append(dst, '[')
	next := 0
	for m := range n.members() {
		i, _ := ArrayIndex(n.text[m.start+1 : m.keyEnd-1])
		for ; next < i; next++ {
			dst = append(dst, "null,"...)
		}
		dst = append(appendForm(dst, m.value(n.text)), ',')
		next++
	}
	dst[len(dst)-1] = ']'
	return dst
}

// AppendPretty appends compact JSON, which must be valid, in the layout of
// print=pretty: two spaces of indent, " : " behind keys, arrays of leaves on
// one line (REST §4.2). It ends without a newline.
func AppendPretty(dst []byte, compact string) []byte {
	p := pretty{dst: piecewise.Grow(dst, len(compact)), src: compact}
	p.value(0)
	return p.dst
}

// PrettyPieces yields what AppendPretty appends in pieces of about size bytes, which must be 4
// or more. A piece is good until the next, and a character is in one piece. Indentation can make
// short members more than ten times as long, so a long text is better not made at once.
func PrettyPieces(compact string, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		p := pretty{src: compact, size: size, yield: yield}
		if p.value(0); !p.ended {
			yield(p.dst)
		}
	}
}

// It works on the text and makes no nodes, since arrays are no nodes.
type pretty struct {
	dst []byte
	src string
	pos int

	yield func([]byte) bool // takes pieces of dst; nil: all stays in it
	size  int               // of a piece
	ended bool              // no more pieces are wanted
}

// give has what was made taken if it is long enough.
func (p *pretty) give() {
	if p.yield != nil && len(p.dst) >= p.size {
		p.ended = p.ended || !p.yield(p.dst)
		p.dst = p.dst[:0]
	}
}

func (p *pretty) value(indent int) {
	p.give()
	switch p.src[p.pos] {
	case '{':
		p.object(indent)
	case '[':
		p.array(indent)
	case '"':
		end := jsontext.SkipString(p.src, p.pos)
		p.take(end)
	default:
		end := p.pos
		for end < len(p.src) && strings.IndexByte(",]}", p.src[end]) < 0 {
			end++
		}
		p.take(end)
	}
}

func (p *pretty) take(end int) {
	for p.yield != nil && end-p.pos > p.size {
		next := p.pos + p.size
		for !utf8.RuneStart(p.src[next]) {
			next--
		}
		p.dst = append(p.dst, p.src[p.pos:next]...)
		p.pos = next
		p.give()
	}
	p.dst = piecewise.Append(p.dst, p.src[p.pos:end])
	p.pos = end
}

func (p *pretty) newline(indent int) {
	p.dst = append(p.dst, '\n')
	for range indent {
		p.dst = append(p.dst, ' ', ' ')
	}
}

func (p *pretty) object(indent int) {
	p.dst = append(p.dst, '{')
	if p.src[p.pos+1] == '}' {
		p.dst = append(p.dst, ' ', '}')
		p.pos += 2
		return
	}
	for p.pos++; !p.ended && p.src[p.pos] != '}'; {
		if p.src[p.pos] == ',' {
			p.dst = append(p.dst, ',')
			p.pos++
		}
		p.newline(indent + 1)
		p.take(jsontext.SkipString(p.src, p.pos))
		p.dst = append(p.dst, " : "...)
		p.pos++
		p.value(indent + 1)
	}
	p.pos++
	p.newline(indent)
	p.dst = append(p.dst, '}')
}

func (p *pretty) array(indent int) {
	p.dst = append(p.dst, '[', ' ')
	if p.src[p.pos+1] == ']' {
		p.dst = append(p.dst, ']')
		p.pos += 2
		return
	}
	for p.pos++; !p.ended && p.src[p.pos] != ']'; {
		if p.src[p.pos] == ',' {
			p.dst = append(p.dst, ',', ' ')
			p.pos++
		}
		p.value(indent)
	}
	p.pos++
	p.dst = append(p.dst, ' ', ']')
}
