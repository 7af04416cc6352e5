// Package resume says what a client has missed that comes back. A client is given positions: ids
// of places in the log of a database. With one of them it asks for what has changed since, and
// the answer is the paths that were written. The caller reads their values in the state that
// there is now, and sends these in place of everything.
//
// It is an offer, never a promise: whenever the log does not reach back, or it would take long
// to find out, the answer is that it is not known, and the client is sent the whole view.
package resume

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree"
)

// A Position is a place in the log of a database: behind a commit, or behind some of its
// writes.
type Position struct {
	Revision uint64 // of the commit; 0: nowhere
	Writes   uint32 // how many of its writes are in front of the place; 0: all
	Run      uint32 // the end of the id of the run that made the commit
}

// RunOf returns what a Position keeps of the id of a run.
//
// It tells apart two histories with the same numbers. When a data directory is replaced by an
// earlier copy of itself, the numbers of revisions are given again, to other commits; but by
// another run.
func RunOf(id uint64) uint32 { return uint32(id) }

// Marks are how the positions of one view look to its clients. The text is encrypted: it does
// not tell how often others write, and a text of another database, path or query means nothing
// here. It is no proof of a permission. Nil marks have no text.
type Marks struct{ block cipher.Block }

// NewMarks returns the marks of a path and a query. The key is made of the random id of the
// database in its log, which a restored or copied database does not have: the marks of 0, of a
// database without a log, are nil.
func NewMarks(database uint64, p tree.Path, query string) *Marks {
	if database == 0 {
		return nil
	}
	text := binary.BigEndian.AppendUint64([]byte("position"), database)
	text = append(append(text, p.String()...), 0)
	key := sha256.Sum256(append(text, query...))
	block, err := aes.NewCipher(key[:aes.BlockSize])
	if err != nil {
		return nil // does not happen: the key has the right length
	}
	return &Marks{block}
}

// SessionMarks returns the marks of all that a session is sent, whose client is to the rules what
// identity says. Another identity is told nothing of what happened when it was none: it may not
// have had its permission then.
func SessionMarks(database uint64, identity string) *Marks {
	return NewMarks(database, tree.Root, "\x00"+identity)
}

// Append appends the text of a position, nothing for nowhere.
func (m *Marks) Append(dst []byte, p Position) []byte {
	if m == nil || p.Revision == 0 {
		return dst
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, aes.BlockSize), p.Revision)
	b = binary.BigEndian.AppendUint32(b, p.Writes)
	b = binary.BigEndian.AppendUint32(b, p.Run)
	m.block.Encrypt(b, b)
	return base64.RawURLEncoding.AppendEncode(dst, b)
}

// Read returns the position that a text stands for. Of a text that Append has not made it is
// anything, which no log has.
func (m *Marks) Read(text string) (p Position, ok bool) {
	if m == nil || len(text) != base64.RawURLEncoding.EncodedLen(aes.BlockSize) {
		return p, false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return p, false
	}
	m.block.Decrypt(b, b)
	be := binary.BigEndian
	return Position{Revision: be.Uint64(b), Writes: be.Uint32(b[8:]), Run: be.Uint32(b[12:])}, true
}
