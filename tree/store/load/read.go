package load

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// A reader reads JSON of any size. What is small enough it hands to package tree in one
// piece; only objects, arrays and strings above that it takes apart itself.
type reader[V, C any] struct {
	builder Builder[V, C]
	ctx     context.Context
	text    *Text
	whole   int // bytes of what is read in one piece
}

// Read reads a text, which must be one value for path p, and has it stored. Values of up
// to whole bytes, at most MaxWhole, are parsed at once. The value that is returned is
// absent if there is none, that is, if it collapsed to null. Errors about the text are
// *tree.ParseError.
func Read[V, C any](ctx context.Context, text *Text, p tree.Path, whole int, b Builder[V, C]) (V, error) {
	r := &reader[V, C]{builder: b, ctx: ctx, text: text, whole: whole}
	return r.document(p)
}

// MaxNesting bounds how deep objects and arrays nest in a text, as in package tree.
const MaxNesting = 2*tree.MaxDepth + 8

const (
	maxKeyText = 6*tree.MaxKeyBytes + 2 // a key, all of it escapes
	ctxEvery   = 1024                   // members between looks at the context
	chunkBytes = 32 << 10               // of a string that is read in parts
)

// document reads the text, which must be one value.
func (r *reader[V, C]) document(p tree.Path) (none V, err error) {
	v, err := r.value(Place{Path: p}, 0)
	if err != nil {
		return none, err
	}
	if r.text.peek() != 0 || r.text.pos < r.text.end {
		return none, r.text.fail(0, tree.BadJSON, "unexpected text after the value")
	}
	if r.text.err != io.EOF {
		return none, r.text.err
	}
	return v, nil
}

// value reads one value and stores what is not the row itself. The row is
// absent if there is none, that is, if it collapsed to null.
func (r *reader[V, C]) value(at Place, nest int) (none V, err error) {
	if nest > MaxNesting {
		return none, r.text.fail(0, tree.TooDeep, "nested too deep")
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
	return none, r.text.broken(0, "a value")
}

// piece reads a value that is there as a whole.
func (r *reader[V, C]) piece(at Place, size int) (none V, err error) {
	n, err := r.parse(size, at.depth())
	if err != nil {
		return none, err
	}
	return r.builder.Node(at, n)
}

// parse takes the next bytes and reads them as a value.
func (r *reader[V, C]) parse(size, depth int) (tree.Node, error) {
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
func (r *reader[V, C]) noServerValue() error {
	return r.text.fail(0, tree.BadServerValue, "server value in data to be loaded")
}

// object reads an object that is not in one piece.
func (r *reader[V, C]) object(at Place, nest int) (none V, err error) {
	path := at.Resolve()
	o := object[V, C]{reader: r, at: at, path: path, nest: nest, into: r.builder.Container(path)}
	r.text.pos++
	for more := r.text.peek() != '}'; more; {
		if err := o.member(); err != nil {
			return none, err
		}
		if more = r.text.peek() == ','; more {
			r.text.pos++
		}
	}
	if err := r.text.expect('}'); err != nil {
		return none, err
	}
	return o.finish()
}

// An object is one that is being read.
type object[V, C any] struct {
	*reader[V, C]
	at       Place
	nest     int
	path     tree.Path
	into     C
	count    int // members so far
	priority tree.Node
	val      V    // .value, absent if it collapsed
	valued   bool // there is a .value that is not null
}

func (o *object[V, C]) member() error {
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
	child, err := o.value(Place{o.path, key}, o.nest+1)
	if err != nil {
		return err
	}
	return o.builder.Add(o.into, key, child)
}

// key reads the key of a member.
func (o *object[V, C]) key() (string, error) {
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
	case o.path.Len() >= tree.MaxDepth:
		return "", o.text.fail(0, tree.TooDeep, "more than %d levels", tree.MaxDepth)
	}
	o.text.pos += size
	return key, nil
}

// readPriority reads what follows ".priority".
func (o *object[V, C]) readPriority() (tree.Node, error) {
	o.text.peek()
	size, ok := o.text.whole(MaxWhole)
	if !ok && len(o.text.more(MaxWhole)) < MaxWhole {
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
func (o *object[V, C]) readValue() error {
	o.builder.Drop(o.val)
	o.valued = o.text.peek() != 'n'
	v, err := o.value(o.at, o.nest+1)
	o.val = v
	return err
}

func (o *object[V, C]) finish() (none V, err error) {
	v, present, err := o.builder.Close(o.into, o.priority)
	switch {
	case err != nil:
		return none, err
	case o.valued && present:
		return none, o.text.fail(-1, tree.BadValue, ".value or .sv beside other keys")
	case o.valued:
		return o.builder.WithPriority(o.at, o.val, o.priority)
	}
	return v, nil
}

// array reads an array that is not in one piece.
func (r *reader[V, C]) array(at Place, nest int) (none V, err error) {
	path := at.Resolve()
	into := r.builder.Container(path)
	r.text.pos++
	if path.Len() >= tree.MaxDepth && r.text.peek() != ']' {
		return none, r.text.fail(0, tree.TooDeep, "more than %d levels", tree.MaxDepth)
	}
	for i := 0; i > 0 || r.text.peek() != ']'; i++ {
		if i%ctxEvery == 0 && r.ctx.Err() != nil {
			return none, r.ctx.Err()
		}
		key := strconv.Itoa(i)
		child, err := r.value(Place{path, key}, nest+1)
		if err != nil {
			return none, err
		}
		if err := r.builder.Add(into, key, child); err != nil {
			return none, err
		}
		if r.text.peek() == ']' {
			break
		}
		if err := r.text.expect(','); err != nil {
			return none, err
		}
	}
	if err := r.text.expect(']'); err != nil {
		return none, err
	}
	v, _, err := r.builder.Close(into, tree.Empty)
	return v, err
}

// longString reads a string that is not in one piece, part by part.
func (r *reader[V, C]) longString() (none V, err error) {
	long, err := r.builder.String()
	if err != nil {
		return none, err
	}
	r.text.pos++
	length := 0
	for done := false; !done; {
		var size int
		size, done = r.text.piece(chunkBytes)
		if size == 0 && !done {
			return none, r.text.broken(r.text.end-r.text.pos, "the end of a string")
		}
		part, err := r.stringPart(size)
		if err != nil {
			return none, err
		}
		if length += len(part); length > tree.MaxStringBytes {
			return none, r.text.fail(0, tree.TooLong, "string exceeds the maximum of %d bytes", tree.MaxStringBytes)
		}
		if err := long.Append(part); err != nil {
			return none, err
		}
	}
	r.text.pos++
	return long.Value(), nil
}

// stringPart takes some bytes from inside a string.
func (r *reader[V, C]) stringPart(size int) (string, error) {
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
