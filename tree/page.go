package tree

import (
	"strconv"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// A Page is a part of the children of a node, described and not read: what a console needs to
// know of each child of a large node before it is opened.
type Page struct {
	Revision uint64
	Children []PageChild // in the order of the query, or from its end to its start

	// Whole says that Count and More are told, since the reader may read the whole node.
	Whole bool
	Count int  // children of the node
	More  bool // the query has more children beyond its limit
}

// A PageChild describes one child.
type PageChild struct {
	Key      string
	Value    Node // a leaf; of a long string its beginning
	Bytes    int  // of a string if Value is only its beginning; 0: Value is all
	Object   bool // it has children
	Children int  // so many; 0 if they are not counted
	Priority Node
}

// PreviewChars is how many characters a page shows of a string.
const PreviewChars = 120

// Describe returns what a page tells of a child that is at hand.
func Describe(key string, n Node) PageChild {
	c := PageChild{Key: key, Priority: n.Priority()}
	if c.Object = n.IsObject(); c.Object {
		c.Children = n.NumChildren()
		return c
	}
	c.Value = n.Value()
	if text, ok := c.Value.StringValue(); ok {
		c.Value, c.Bytes = Preview(text, len(text))
	}
	return c
}

// Preview returns the beginning of a string that has so many bytes, and their number if that
// is not all of it.
func Preview(start string, size int) (Node, int) {
	chars := 0
	for i := range start {
		if chars++; chars > PreviewChars {
			return String(start[:i]), size
		}
	}
	if size > len(start) {
		return String(start), size
	}
	return String(start), 0
}

// AppendJSON appends the page as clients are told of it (REST §19.4).
func (p *Page) AppendJSON(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, `{"revision":`...), p.Revision, 10)
	if p.Whole {
		dst = strconv.AppendInt(append(dst, `,"count":`...), int64(p.Count), 10)
	}
	dst = append(dst, `,"children":[`...)
	for i := range p.Children {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.Children[i].appendJSON(dst)
	}
	dst = append(dst, ']')
	if p.Whole {
		dst = strconv.AppendBool(append(dst, `,"more":`...), p.More)
	}
	return append(dst, '}')
}

func (c *PageChild) appendJSON(dst []byte) []byte {
	dst = jsontext.AppendQuoted(append(dst, `{"k":`...), c.Key)
	if c.Object {
		dst = append(dst, `,"t":"o"`...)
		if c.Children > 0 {
			dst = strconv.AppendInt(append(dst, `,"n":`...), int64(c.Children), 10)
		}
	} else {
		dst = append(append(dst, `,"t":"`...), kindLetter(c.Value), '"')
		dst = append(append(dst, `,"v":`...), c.Value.JSON()...)
	}
	if c.Bytes > 0 {
		dst = strconv.AppendInt(append(dst, `,"b":`...), int64(c.Bytes), 10)
	}
	if !c.Priority.IsEmpty() {
		dst = append(append(dst, `,"p":`...), c.Priority.JSON()...)
	}
	return append(dst, '}')
}

// kindLetter names the kind of a leaf.
func kindLetter(leaf Node) byte {
	switch class(leaf.Text()) {
	case classString:
		return 's'
	case classFalse, classTrue:
		return 'b'
	}
	return 'n'
}

// Size returns about how long the page is as JSON.
func (p *Page) Size() int {
	size := 64
	for i := range p.Children {
		size += 48 + len(p.Children[i].Key) + len(p.Children[i].Value.Text())
	}
	return size
}
