package store

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A loadReader reads JSON of any size into a load. What is small enough it hands
// to package tree in one piece; only objects, arrays and strings above that it
// takes apart itself.
type loadReader struct {
	load  *Load
	ctx   context.Context
	text  *window
	whole int // bytes of what is read in one piece
}

// Bounds of what stands in front of a value.
const (
	maxKeyText = 6*tree.MaxKeyBytes + 2 // a key, all of it escapes
	maxNesting = 2*tree.MaxDepth + 8    // as in package tree
	ctxEvery   = 1024                   // members between looks at the context
)

// document reads the text, which must be one value.
func (r *loadReader) document() (row, error) {
	v, err := r.value(place{path: r.load.path}, 0)
	if err != nil {
		return row{}, err
	}
	if r.text.peek() != 0 || r.text.pos < r.text.end {
		return row{}, r.text.fail(0, tree.BadJSON, "unexpected text after the value")
	}
	if r.text.err != io.EOF {
		return row{}, r.text.err
	}
	return v, nil
}

// A place is where a value goes: a child of a container, or its path itself.
type place struct {
	path tree.Path
	key  string // "" for the path itself
}

func (p place) resolve() tree.Path {
	if p.key == "" {
		return p.path
	}
	return p.path.Child(p.key)
}

func (p place) depth() int {
	if p.key == "" {
		return p.path.Len()
	}
	return p.path.Len() + 1
}

// value reads one value and stores what is not the row itself. The row is
// absent if there is none, that is, if it collapsed to null.
func (r *loadReader) value(at place, nest int) (row, error) {
	if nest > maxNesting {
		return row{}, r.text.fail(0, tree.TooDeep, "nested too deep")
	}
	c := r.text.peek()
	if size, ok := r.text.whole(r.whole); ok {
		return r.piece(at, size)
	}
	switch c {
	case '{':
		return r.object(at, nest)
	case '[':
		return r.array(at, nest)
	case '"':
		return r.longString()
	}
	return row{}, r.text.broken(0, "a value")
}

// piece reads a value that is there as a whole.
func (r *loadReader) piece(at place, size int) (row, error) {
	n, err := r.parse(size, at.depth())
	if err != nil {
		return row{}, err
	}
	return r.load.node(at, n)
}

// parse takes the next bytes and reads them as a value.
func (r *loadReader) parse(size, depth int) (tree.Node, error) {
	src := string(r.text.buf[r.text.pos : r.text.pos+size])
	d, err := tree.Parse(src, depth, tree.Strict)
	if err != nil {
		return tree.Empty, r.text.moved(err, 0)
	}
	n, ok := d.Node()
	if !ok {
		return tree.Empty, r.noServerValue()
	}
	r.text.pos += size
	return n, nil
}

// noServerValue refuses server values: what is loaded is data that is there, and
// an increment has nothing to add to.
func (r *loadReader) noServerValue() error {
	return r.text.fail(0, tree.BadServerValue, "server value in data to be loaded")
}

// object reads an object that is not in one piece.
func (r *loadReader) object(at place, nest int) (row, error) {
	o := objectLoad{loadReader: r, at: at, nest: nest, into: r.load.container(at.resolve())}
	r.text.pos++
	for more := r.text.peek() != '}'; more; {
		if err := o.member(); err != nil {
			return row{}, err
		}
		if more = r.text.peek() == ','; more {
			r.text.pos++
		}
	}
	if err := r.text.expect('}'); err != nil {
		return row{}, err
	}
	return o.finish()
}

// An objectLoad is an object that is being read.
type objectLoad struct {
	*loadReader
	at       place
	nest     int
	into     *loadContainer
	count    int // members so far
	priority tree.Node
	val      row  // .value, absent if it collapsed
	valued   bool // there is a .value that is not null
}

func (o *objectLoad) member() error {
	if o.count++; o.count%ctxEvery == 0 && o.ctx.Err() != nil {
		return o.ctx.Err()
	}
	if o.text.peek() != '"' {
		return o.text.broken(0, "a key")
	}
	key, err := o.key()
	if err != nil {
		return err
	}
	if err := o.text.expect(':'); err != nil {
		return err
	}
	switch key {
	case ".priority":
		o.priority, err = o.readPriority()
		return err
	case ".value":
		return o.readValue()
	case ".sv":
		return o.noServerValue()
	}
	child, err := o.value(place{o.into.path, key}, o.nest+1)
	if err != nil {
		return err
	}
	return o.load.add(o.into, key, child)
}

// key reads the key of a member.
func (o *objectLoad) key() (string, error) {
	size, ok := o.text.whole(maxKeyText)
	if !ok {
		if len(o.text.more(maxKeyText)) < maxKeyText {
			return "", o.text.broken(o.text.end-o.text.pos, "the end of a key")
		}
		return "", o.text.fail(0, tree.BadKey, "key of more than %d bytes", tree.MaxKeyBytes)
	}
	token := string(o.text.buf[o.text.pos : o.text.pos+size])
	key := token[1 : size-1]
	if strings.IndexByte(key, '\\') >= 0 || !tree.ValidKey(key) {
		n, err := tree.ParseNode(token)
		if err != nil {
			return "", o.text.moved(err, 0)
		}
		key, _ = n.StringValue()
	}
	switch {
	case key == ".priority", key == ".value", key == ".sv":
	case !tree.ValidKey(key):
		return "", o.text.fail(0, tree.BadKey, "invalid key %.64q", key)
	case o.into.path.Len() >= tree.MaxDepth:
		return "", o.text.fail(0, tree.TooDeep, "more than %d levels", tree.MaxDepth)
	}
	o.text.pos += size
	return key, nil
}

// readPriority reads what follows ".priority".
func (o *objectLoad) readPriority() (tree.Node, error) {
	o.text.peek()
	size, ok := o.text.whole(maxWholeBytes)
	if !ok && len(o.text.more(maxWholeBytes)) < maxWholeBytes {
		return tree.Empty, o.text.broken(o.text.end-o.text.pos, "the end of a priority")
	}
	src := o.text.buf[o.text.pos : o.text.pos+size]
	n, err := tree.ParseNode(string(src))
	switch {
	case ok && err != nil:
		return tree.Empty, o.text.moved(err, 0)
	case !ok, n.IsObject(), !n.Priority().IsEmpty(), n == tree.Bool(true), n == tree.Bool(false):
		return tree.Empty, o.text.fail(0, tree.BadPriority, "a priority must be a string or a number")
	}
	o.text.pos += size
	return n, nil
}

// readValue reads what follows ".value". If there was one before, this one
// counts.
func (o *objectLoad) readValue() error {
	o.load.drop(o.val)
	o.valued = o.text.peek() != 'n'
	v, err := o.value(o.at, o.nest+1)
	o.val = v
	return err
}

func (o *objectLoad) finish() (row, error) {
	present, err := o.load.close(o.into)
	switch {
	case err != nil:
		return row{}, err
	case o.valued && present:
		return row{}, o.text.fail(-1, tree.BadValue, ".value or .sv beside other keys")
	case o.valued:
		return o.load.withPriority(o.at, o.val, o.priority)
	case !present:
		return row{}, nil
	}
	return row{tag: tagContainer, id: o.into.id, priority: o.priority}, nil
}

// array reads an array that is not in one piece.
func (r *loadReader) array(at place, nest int) (row, error) {
	into := r.load.container(at.resolve())
	r.text.pos++
	if into.path.Len() >= tree.MaxDepth && r.text.peek() != ']' {
		return row{}, r.text.fail(0, tree.TooDeep, "more than %d levels", tree.MaxDepth)
	}
	for i := 0; i > 0 || r.text.peek() != ']'; i++ {
		if i%ctxEvery == 0 && r.ctx.Err() != nil {
			return row{}, r.ctx.Err()
		}
		key := strconv.Itoa(i)
		child, err := r.value(place{into.path, key}, nest+1)
		if err != nil {
			return row{}, err
		}
		if err := r.load.add(into, key, child); err != nil {
			return row{}, err
		}
		if r.text.peek() == ']' {
			break
		}
		if err := r.text.expect(','); err != nil {
			return row{}, err
		}
	}
	if err := r.text.expect(']'); err != nil {
		return row{}, err
	}
	present, err := r.load.close(into)
	if err != nil || !present {
		return row{}, err
	}
	return row{tag: tagContainer, id: into.id}, nil
}

// longString reads a string that is not in one piece into a blob, chunk by
// chunk.
func (r *loadReader) longString() (row, error) {
	b, err := r.load.newBlob()
	if err != nil {
		return row{}, err
	}
	r.text.pos++
	for done := false; !done; {
		var size int
		size, done = r.text.piece(chunkBytes)
		if size == 0 && !done {
			return row{}, r.text.broken(r.text.end-r.text.pos, "the end of a string")
		}
		part, err := r.stringPart(size)
		if err != nil {
			return row{}, err
		}
		if b.row.size+uint64(len(part)) > tree.MaxStringBytes {
			return row{}, r.text.fail(0, tree.TooLong, "string exceeds the maximum of %d bytes", tree.MaxStringBytes)
		}
		if err := r.load.chunk(b, part); err != nil {
			return row{}, err
		}
	}
	r.text.pos++
	return b.row, nil
}

// stringPart takes some bytes from inside a string.
func (r *loadReader) stringPart(size int) (string, error) {
	src := `"` + string(r.text.buf[r.text.pos:r.text.pos+size]) + `"`
	n, err := tree.ParseNode(src)
	if err != nil {
		if r.text.err != nil && !errors.Is(r.text.err, io.EOF) {
			return "", r.text.err
		}
		return "", r.text.moved(err, 1)
	}
	r.text.pos += size
	s, _ := n.StringValue()
	return s, nil
}
