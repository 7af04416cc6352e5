package entry

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/jsontext"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// An Encoder makes the entries of one commit after another, in memory that it uses again. The
// zero Encoder is ready.
//
// Operations are appended as the batch is decided, and the header, which has their number and
// checksum, is put in front at the end: room for the longest header is left at the beginning
// of the memory. So the usual entry is made without an allocation and without being copied.
type Encoder struct {
	buf  []byte // room for a header, and the lines
	n    int    // lines
	head [maxHeader]byte
	all  []byte // entries of the last commit that had several
}

// maxKept bounds the memory that an encoder keeps.
const maxKept = 1 << 20

// Reset forgets what was added.
func (e *Encoder) Reset() {
	if cap(e.buf) > maxKept {
		e.buf = nil
	}
	if e.all = e.all[:0]; cap(e.all) > maxKept {
		e.all = nil
	}
	e.buf, e.n = append(e.buf[:0], room[:]...), 0
}

// room is where the header will be, which is known when the lines are.
var room [maxHeader]byte

// Len returns the length of the operations that were added.
func (e *Encoder) Len() int { return max(len(e.buf)-maxHeader, 0) }

// Empty reports whether nothing was added.
func (e *Encoder) Empty() bool { return e.n == 0 }

// Full reports whether the entry is as long as one should be. A quarter is left
// for the last operation of the batch, so that an entry is rarely cut.
func (e *Encoder) Full() bool { return e.Len() >= maxLines-maxLines/4 }

// Add adds an operation. It does not keep it.
func (e *Encoder) Add(op Operation) {
	e.begin()
	e.buf = op.append(e.buf)
	e.end()
}

// AddWrite is Add for a Write, and does not allocate.
func (e *Encoder) AddWrite(w Write) {
	e.begin()
	e.buf = w.append(e.buf)
	e.end()
}

func (e *Encoder) begin() {
	if len(e.buf) == 0 {
		e.Reset()
	}
}

func (e *Encoder) end() {
	e.buf = append(e.buf, '\n')
	e.n++
}

// Seal returns the entries of what was added, as the commit that the header names: one behind
// the other, and mostly just one. More is that of the last one. The memory is good until the next
// Reset.
func (e *Encoder) Seal(h Header) []byte {
	if e.Len() <= maxLines {
		lines := e.buf[maxHeader:]
		head := h.append(e.head[:0], e.n, lines)
		from := maxHeader - len(head)
		copy(e.buf[from:], head)
		return e.buf[from:]
	}
	return e.cut(h)
}

// cut is Seal for what is too long for one entry. An operation that is longer
// than an entry goes in parts, and a join stands where it belongs in the order.
// Lines that an entry has alone, as pieces of imports are, are not copied before.
func (e *Encoder) cut(h Header) []byte {
	var lines, joined []byte
	all := slices.Grow(e.all[:0], len(e.buf)+(e.n+1)*maxHeader)
	n, long, last := 0, 0, h.More
	flush := func(more bool) {
		h.More = more
		all = append(h.append(all, n, lines), lines...)
		lines, n = nil, 0
	}
	add := func(op []byte) {
		if len(lines)+len(op) > maxLines {
			flush(true)
		}
		switch n++; n {
		case 1:
			lines = op
		case 2:
			joined = append(append(joined[:0], lines...), op...)
			lines = joined
		default:
			joined = append(joined, op...)
			lines = joined
		}
	}
	for line := range bytes.Lines(e.buf[maxHeader:]) {
		if len(line) <= maxLines {
			add(line)
			continue
		}
		id := fmt.Sprintf("%016x.%d.%d", h.Run, h.Revision, long)
		long++
		parts := 0
		for text := range Pieces(piecewise.Own(line[:len(line)-1])) { // which nothing keeps
			op := make([]byte, 0, len(text)+len(text)/4+len(id)+64) // most texts have few quotes
			add(append((&Part{id, parts, text}).append(op), '\n'))
			parts++
		}
		add(append((&Join{id, parts}).append(nil), '\n'))
	}
	flush(last)
	e.all = all
	return all
}

// maxPiece is the longest piece of a text in an operation: quoted it is twice as long at most.
const maxPiece = maxLines/2 - maxHeader

// Pieces cuts a text without control characters, such as JSON on one line, into pieces that an
// operation can have. Pieces end between characters, since a JSON string cannot hold half of
// one.
func Pieces(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(text) > maxPiece {
			n := maxPiece
			for n > maxPiece-utf8.UTFMax && !utf8.RuneStart(text[n]) {
				n--
			}
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
		if len(text) > 0 {
			yield(text)
		}
	}
}

func (w Write) append(b []byte) []byte {
	b = appendWrites(append(b, `{"w":`...), w.Writes)
	if w.ID != nil {
		b = w.ID.append(append(b, `,"id":`...))
	}
	if w.Merge != nil {
		b = appendPath(append(b, `,"merge":`...), *w.Merge)
	}
	return append(w.By.append(b), '}')
}

func (s *Seen) append(b []byte) []byte { return append(s.ID.append(append(b, `{"id":`...)), '}') }

func (id *ID) append(b []byte) []byte {
	b = hex.AppendEncode(append(b, '"'), id.Writer[:])
	b = strconv.AppendUint(append(b, ':'), id.Number, 10)
	return append(b, '"')
}

// append appends the members of an object.
func (y By) append(b []byte) []byte {
	if y.UID != "" {
		b = appendText(append(b, `,"uid":`...), y.UID)
	}
	if y.Admin {
		b = append(b, `,"admin":true`...)
	}
	if y.Door != "" {
		b = appendText(append(b, `,"door":`...), y.Door)
	}
	if y.Cause != "" {
		b = appendText(append(b, `,"cause":`...), y.Cause)
	}
	return b
}

func appendWrites(b []byte, writes []tree.ResolvedWrite) []byte {
	b = append(b, '{')
	for i, w := range writes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTarget(b, w.Target)
		b = append(b, ':')
		if w.Node.IsEmpty() {
			b = append(b, "null"...)
		} else {
			b = piecewise.Append(b, w.Node.Text())
		}
	}
	return append(b, '}')
}

func appendTarget(b []byte, t tree.Target) []byte {
	b = appendPath(b, t.Path)
	if t.Priority {
		b = b[:len(b)-1]
		if !t.Path.IsRoot() {
			b = append(b, '/')
		}
		b = append(b, `.priority"`...)
	}
	return b
}

// appendPath appends a path with a leading slash as a JSON string.
func appendPath(b []byte, p tree.Path) []byte {
	from := len(b)
	b = jsontext.AppendQuoted(append(b, '/'), p.Clean())
	b[from], b[from+1] = '"', '/' // the slash and the quote change places
	return b
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return jsontext.AppendQuoted(b, s)
}

func (l *Left) append(b []byte) []byte {
	b = appendText(append(b, `{"od":`...), l.Session)
	for i, r := range l.Put {
		b = append(b, separator(i, `,"put":[`)...)
		b = strconv.AppendUint(append(b, '['), r.Number, 10)
		b = append(piecewise.Append(append(b, ','), r.Text), ']')
	}
	if len(l.Put) > 0 {
		b = append(b, ']')
	}
	for i, number := range l.Delete {
		b = strconv.AppendUint(append(b, separator(i, `,"del":[`)...), number, 10)
	}
	if len(l.Delete) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

func separator(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

func (r *Rules) append(b []byte) []byte {
	b = append(append(b, `{"rules":`...), r.Version...)
	return append(appendText(append(b, `,"source":`...), r.Source), '}')
}

func (d *Data) append(b []byte) []byte {
	b = append(append(b, `{"data":`...), d.Version...)
	return append(appendText(append(b, `,"source":`...), d.Source), '}')
}

func (s *States) append(b []byte) []byte {
	return append(append(append(b, `{"states":`...), s.Changes...), '}')
}

func (k *Kept) append(b []byte) []byte {
	b = strconv.AppendInt(append(append(append(b, `{"`...), k.Kind...), `":`...), k.N, 10)
	b = strconv.AppendUint(append(b, `,"def":`...), uint64(k.Definition), 10)
	if !k.Path.IsRoot() {
		b = appendPath(append(b, `,"of":`...), k.Path)
	}
	if !k.At.IsRoot() {
		b = appendPath(append(b, `,"at":`...), k.At)
	}
	return append(b, '}')
}

func (s *Setting) append(b []byte) []byte {
	b = appendText(append(b, `{"set":{`...), s.Name)
	return append(appendText(append(b, ':'), s.Value), "}}"...)
}

func (l *Load) append(b []byte) []byte {
	b = appendText(append(b, `{"load":`...), l.ID)
	b = appendPath(append(b, `,"at":`...), l.At)
	if l.Now != 0 {
		b = strconv.AppendInt(append(b, `,"now":`...), l.Now, 10)
	}
	b = strconv.AppendInt(append(b, `,"seq":`...), int64(l.Seq), 10)
	return append(appendText(append(b, `,"json":`...), l.Text), '}')
}

func (l *Link) append(b []byte) []byte {
	b = appendText(append(b, `{"link":`...), l.ID)
	if len(l.Writes) > 0 {
		b = appendWrites(append(b, `,"w":`...), l.Writes)
	}
	return append(l.By.append(b), '}')
}

func (d *Drop) append(b []byte) []byte {
	return append(appendText(append(b, `{"drop":`...), d.ID), '}')
}

func (p *Part) append(b []byte) []byte {
	b = appendText(append(b, `{"part":`...), p.ID)
	b = strconv.AppendInt(append(b, `,"seq":`...), int64(p.Seq), 10)
	return append(appendText(append(b, `,"text":`...), p.Text), '}')
}

func (j *Join) append(b []byte) []byte {
	b = appendText(append(b, `{"join":`...), j.ID)
	return append(strconv.AppendInt(append(b, `,"n":`...), int64(j.Parts), 10), '}')
}

// Text returns an operation as its line in an entry, for what is sent in parts. Long values are
// copied once, and a piece at a time.
func Text(op Operation) string { return piecewise.Own(op.append(make([]byte, 0, size(op)))) }

// size returns about how long the line of an operation is, and no less if it is long.
func size(op Operation) int {
	n := maxPiece
	if w, ok := op.(Write); ok {
		for _, w := range w.Writes {
			n += len(w.Node.Text()) + 2*len(w.Target.Path.Clean()) + 32
		}
	}
	return n
}
