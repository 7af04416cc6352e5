package sync

import (
	"context"
	"io"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// A value that is too long for one entry of the log goes there in pieces before it takes effect.
// The commit then only names them, so its cost does not grow with the value. Each piece is a task
// of the committer. Readers of the log keep the pieces until the commit comes, and forget
// them when they are dropped or the database was closed in between.

// pieceBytes is the length of a piece.
const pieceBytes = 60 << 10

// pieces are those of one value.
type pieces struct {
	id   string
	sent int
	way  []*call // the pieces that are on their way, oldest first
}

func newPieces() pieces { return pieces{id: strconv.FormatUint(rand.Uint64(), 36)} }

// maxPieces is how many pieces of a value are on their way: they are written while the next
// ones are made.
const maxPieces = 16

// send has a piece put into the log. Errors are those of loadError, also of pieces before it.
func (p *pieces) send(ctx context.Context, d *core, op entry.Operation, q *quota.Quota, l *line) error {
	if err := p.settle(maxPieces - 1); err != nil {
		return err
	}
	t := &call{bytes: pieceBytes, quota: q, line: l, f: func(b *batch) error {
		b.notes.piece(op)
		b.dirty = true
		return nil
	}}
	t.start()
	if err := d.add(context.WithoutCancel(ctx), t); err != nil {
		return loadError(err)
	}
	p.sent++
	p.way = append(p.way, t)
	return nil
}

// settle waits until no more than some pieces are on their way to the log.
func (p *pieces) settle(some int) (err error) {
	for len(p.way) > some && err == nil {
		err = p.way[0].wait(context.Background())
		p.way = p.way[1:]
	}
	return loadError(err)
}

// drop says that the pieces are void. If that is not stored, readers forget them when the
// database is closed.
func (p *pieces) drop(d *core) {
	for len(p.way) > 0 {
		_ = p.settle(0)
	}
	if p.sent == 0 {
		return
	}
	id := p.id
	*p = pieces{}
	t := &call{f: func(b *batch) error {
		b.notes.piece(&entry.Drop{ID: id})
		b.dirty = true
		return nil
	}}
	t.start()
	_ = d.add(context.Background(), t)
}

// sendParts puts the text of a large write into the log.
func (wr *writer) sendParts(ctx context.Context, w *Write, p *prepared, l *line) error {
	if !wr.db.logs {
		return nil
	}
	op := writeEntry(w, inOrder(p.writes))
	text := entry.Text(op)
	if len(text) <= pieceBytes {
		return nil
	}
	p.text = newPieces()
	for piece := range entry.Pieces(text) {
		part := &entry.Part{ID: p.text.id, Seq: p.text.sent, Text: piece}
		err := wr.turnOf(*w).Yield(func() error { return p.text.send(ctx, wr.db, part, w.Quota, l) })
		if err != nil {
			return err
		}
	}
	return wr.turnOf(*w).Yield(func() error { return p.text.settle(0) })
}

// A loggedText is the text of an import that is read, and goes to the log piece by piece. A
// text that fits into one piece waits for the end, since it may be an ordinary write.
type loggedText struct {
	io.Reader
	ctx    context.Context
	db     *core
	at     tree.Path
	now    int64
	text   []byte
	pieces pieces
}

func (t *loggedText) Read(p []byte) (n int, err error) {
	n, err = t.Reader.Read(p)
	t.text = append(t.text, p[:n]...)
	for len(t.text) > 2*pieceBytes {
		if e := t.cut(pieceBytes); e != nil {
			return n, e
		}
	}
	return n, err
}

// cut sends a piece of about so many bytes.
func (t *loggedText) cut(size int) error {
	for n := size; n < len(t.text) && n > size-utf8.UTFMax; n-- {
		if utf8.RuneStart(t.text[n]) {
			size = n
			break
		}
	}
	for piece := range entry.Pieces(string(t.text[:size])) {
		op := &entry.Load{ID: t.pieces.id, At: t.at, Now: t.now, Seq: t.pieces.sent, Text: piece}
		if err := t.pieces.send(t.ctx, t.db, op, nil, nil); err != nil {
			return err
		}
	}
	t.text = append(t.text[:0], t.text[size:]...)
	return nil
}

// finish sends the rest.
func (t *loggedText) finish() error {
	for len(t.text) > 0 {
		if err := t.cut(min(len(t.text), pieceBytes)); err != nil {
			return err
		}
	}
	return t.pieces.settle(0)
}

// logText returns a reader of a text that goes to the log, or nil if there is no log.
func (d *core) logText(ctx context.Context, at tree.Path, src io.Reader, o *store.LoadOptions, now int64) *loggedText {
	if !d.logs {
		return nil
	}
	if o.ServerValue == nil {
		now = 0
	}
	return &loggedText{Reader: src, ctx: ctx, db: d, at: at, now: now, pieces: newPieces()}
}
