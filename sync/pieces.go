package sync

import (
	"context"
	"io"

	"github.com/dogwooddb/dogwood/sync/pieces"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// putPiece returns what puts pieces into the log, each as a task of the committer. Errors are those of
// loadError.
//
// Pieces are commits without an effect: they make a long value part of the log before the
// commit that makes it visible. So no entry grows with the value, and the committer's work for
// each is bounded by pieces.Bytes.
func (d *core) putPiece(ctx context.Context, q *quota.Quota, l *line) pieces.Put {
	return func(op entry.Operation) (wait func() error, err error) {
		t := pieceTask(op)
		t.bytes, t.quota, t.line = pieces.Bytes, q, l
		if err := d.add(context.WithoutCancel(ctx), t); err != nil {
			return nil, loadError(err)
		}
		return func() error { return loadError(t.wait(context.Background())) }, nil
	}
}

// putDrop puts the end of pieces into the log.
func (d *core) putDrop(op entry.Operation) { _ = d.add(context.Background(), pieceTask(op)) }

// pieceTask returns a task that notes an operation without an effect of its own.
func pieceTask(op entry.Operation) *call {
	t := &call{f: func(b *batch) error {
		b.notes.piece(op)
		b.dirty = true
		return nil
	}}
	t.start()
	return t
}

// sendParts puts the text of a large write into the log.
func (wr *writer) sendParts(ctx context.Context, w *Write, p *prepared, l *line) error {
	if !wr.db.logs {
		return nil
	}
	op := writeEntry(w, p.decidedWrite, inOrder(p.writes))
	text := entry.Text(op)
	if len(text) <= pieces.Bytes {
		return nil
	}
	p.text = pieces.New()
	put := wr.db.putPiece(ctx, w.Quota, l)
	for piece := range entry.Pieces(text) {
		part := &entry.Part{ID: p.text.ID, Seq: p.text.Sent, Text: piece}
		if err := wr.turnOf(*w).Yield(func() error { return p.text.Send(part, put) }); err != nil {
			return err
		}
	}
	return wr.turnOf(*w).Yield(func() error { return p.text.Settle(0) })
}

// logText returns a reader of a text that goes to the log, or nil if there is no log.
func (d *core) logText(ctx context.Context, at tree.Path, src io.Reader, o *store.LoadOptions, now int64) *pieces.Text {
	if !d.logs {
		return nil
	}
	if o.ServerValue == nil {
		now = 0
	}
	return &pieces.Text{Reader: src, At: at, Now: now, Put: d.putPiece(ctx, nil, nil), Pieces: pieces.New()}
}
