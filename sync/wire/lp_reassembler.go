package wire

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// DefaultMaxAhead is how far a piece may run ahead unless a Reassembler is told
// otherwise. A browser has two polls open, a few more after timeouts, and the
// 1870 characters of one hold about thirty of the shortest messages.
const DefaultMaxAhead = 256

// A Reassembler puts the messages of one long-poll connection back together
// (protocol §14). Polls may arrive in any order, and more than once when a browser
// repeats a request whose connection broke. The zero Reassembler is ready.
type Reassembler struct {
	MaxBytes int // largest message in bytes; also bounds all that is kept; 0 is DefaultMaxBytes
	MaxAhead int // how many pieces may be missing before one; 0 is DefaultMaxAhead

	next  int           // number of the first piece that has not arrived
	ahead map[int]Piece // pieces that arrived before next, by number
	text  webSafe       // the parts that have come of the message that began before next
	parts int           // pieces in text
	total int           // pieces that message has
	size  int           // characters of ahead and text
	early int           // bytes that ahead takes
	err   error
}

// pieceBytes is what a piece that is kept takes in addition to its text.
const pieceBytes = 128

// Held returns how many bytes of memory the pieces of unfinished messages take.
func (r *Reassembler) Held() int64 { return int64(cap(r.text.bytes) + r.early) }

// Add takes a piece and returns the messages that it completes, in the order
// in which the client sent them. Pieces that are known already are ignored.
// Errors wrap ErrTooLarge or ErrBadFrame; after the first one every call
// returns it again.
func (r *Reassembler) Add(p Piece) (msgs []string, err error) {
	if r.err != nil {
		return nil, r.err
	}
	if _, known := r.ahead[p.Seg]; known || p.Seg < r.next {
		return nil, nil
	}
	if err := r.check(p); err != nil {
		return nil, r.fail(err)
	}
	r.size += len(p.Data)
	if p.Seg > r.next {
		r.hold(p)
		return nil, nil
	}
	for ok := true; ok; p, ok = r.takeNext() {
		msg, done, err := r.piece(p)
		if err != nil {
			return nil, r.fail(err)
		}
		if done {
			msgs = append(msgs, msg)
		}
	}
	return msgs, nil
}

// check reports a piece that no client sends or that is too much.
func (r *Reassembler) check(p Piece) error {
	switch limit := r.maxText(); {
	case p.Total < 1 || p.Data == "":
		return fmt.Errorf("%w: piece %d of %d with %d characters", ErrBadFrame, p.Seg, p.Total, len(p.Data))
	case p.Seg-r.next > r.maxAhead():
		return fmt.Errorf("%w: piece %d while %d is missing", ErrTooLarge, p.Seg, r.next)
	case p.Total > limit || r.size+len(p.Data) > limit:
		return fmt.Errorf("%w: over %d characters of base64", ErrTooLarge, limit)
	}
	return nil
}

// hold keeps a piece that is not next. It copies the data, which is part of a
// URL of any length.
func (r *Reassembler) hold(p Piece) {
	if r.ahead == nil {
		r.ahead = make(map[int]Piece)
	}
	p.Data = strings.Clone(p.Data)
	r.ahead[p.Seg] = p
	r.early += len(p.Data) + pieceBytes
}

// takeNext returns the piece that is next, if it was held.
func (r *Reassembler) takeNext() (Piece, bool) {
	p, ok := r.ahead[r.next]
	if ok {
		delete(r.ahead, r.next)
		r.early -= len(p.Data) + pieceBytes
	}
	return p, ok
}

// piece appends the piece that is next and returns the message it completes.
func (r *Reassembler) piece(p Piece) (msg string, done bool, err error) {
	r.next++
	if r.parts == 0 {
		r.total = p.Total
	}
	if p.Total != r.total {
		return "", false, fmt.Errorf("%w: piece %d says %d pieces, before it was %d", ErrBadFrame, p.Seg, p.Total, r.total)
	}
	r.parts++
	if err := r.text.add(p.Data, r.parts == r.total); err != nil || r.parts < r.total {
		return "", false, err
	}
	msg, chars := r.text.message()
	r.size -= chars
	r.text, r.parts = webSafe{}, 0
	return msg, true, nil
}

func (r *Reassembler) fail(err error) error {
	r.err, r.ahead, r.text, r.early = err, nil, webSafe{}, 0
	return err
}

// maxText is MaxBytes in characters of base64.
func (r *Reassembler) maxText() int {
	n := r.MaxBytes
	if n <= 0 {
		n = DefaultMaxBytes
	}
	return base64.URLEncoding.EncodedLen(n)
}

func (r *Reassembler) maxAhead() int {
	if r.MaxAhead > 0 {
		return r.MaxAhead
	}
	return DefaultMaxAhead
}
