package tree

import (
	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A Builder makes an object node from children that are added in key order. The
// zero Builder is ready to use. It does not check the order of keys, so a
// caller that adds them out of order makes a node that is not canonical.
type Builder struct {
	buf []byte
	any bool // a child was added
}

// Priority sets the node's priority. It must be called before Child.
func (b *Builder) Priority(p Node) {
	if !p.IsEmpty() {
		b.buf = append(append(b.buf, `{".priority":`...), p.text...)
	}
}

// Child adds a child. An absent child is left out.
func (b *Builder) Child(key string, n Node) {
	if n.IsEmpty() {
		return
	}
	b.open(key)
	b.buf = piecewise.Append(b.buf, n.text)
}

// member adds a child as it stands in the text of another node: its quoted key and value.
func (b *Builder) member(text string) {
	b.separate()
	b.buf = piecewise.Append(b.buf, text)
}

func (b *Builder) open(key string) {
	b.separate()
	b.buf = append(jsontext.AppendQuoted(piecewise.Grow(b.buf, 2*len(key)+len(`"":`)), key), ':')
}

func (b *Builder) separate() {
	if len(b.buf) == 0 {
		b.buf = append(b.buf, '{')
	} else {
		b.buf = append(b.buf, ',')
	}
	b.any = true
}

// Node returns the finished node: Empty if no child was added.
func (b *Builder) Node() Node {
	if !b.any {
		return Empty
	}
	return Node{piecewise.String(append(b.buf, '}'))}
}

// Len returns the bytes appended so far.
func (b *Builder) Len() int { return len(b.buf) }
