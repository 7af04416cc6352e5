package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// A Pending operation is something that a session left to be done when it
// ends. The store keeps it and does not read it.
type Pending struct {
	Session string
	Number  uint64 // ascending within a session
	Data    []byte
}

// The length comes first, so that the operations of a session are neighbours
// whatever its name is, and no session's keys are within those of another one.
func pendingKey(session string, number uint64) []byte {
	k := binary.BigEndian.AppendUint16(nil, uint16(len(session)))
	return binary.BigEndian.AppendUint64(append(k, session...), number)
}

// Disconnects are the operations that sessions left to be done when they end.
//
// The operations are in the file before the client gets its reply, so they are
// carried out even if the server is killed. The transaction that carries one
// out deletes its record. That is why each takes effect exactly once, whenever
// the crash comes.
type Disconnects struct{ tx *Tx }

// Disconnects returns the pending operations of all sessions.
func (tx *Tx) Disconnects() Disconnects { return Disconnects{tx} }

// Put stores an operation, replacing one of the same session and number.
func (d Disconnects) Put(p Pending) error {
	return d.tx.put(kv.Disconnect, pendingKey(p.Session, p.Number), p.Data)
}

// Delete removes one operation of a session.
func (d Disconnects) Delete(session string, number uint64) error {
	return d.tx.delete(kv.Disconnect, pendingKey(session, number))
}

// All yields the operations of all sessions, those of one session together
// and in order.
func (d Disconnects) All() iter.Seq2[Pending, error] {
	return func(yield func(Pending, error) bool) {
		c := d.tx.kv.Cursor(kv.Disconnect)
		for k, v := c.Seek(nil); k != nil; k, v = c.Next() {
			p, err := decodePending(k, v)
			if !yield(p, err) || err != nil {
				return
			}
		}
		if err := c.Err(); err != nil {
			yield(Pending{}, err)
		}
	}
}

func decodePending(k, v []byte) (Pending, error) {
	if len(k) < 10 || len(k) != 10+int(binary.BigEndian.Uint16(k)) {
		return Pending{}, fmt.Errorf("%w: unreadable onDisconnect operation", ErrDamaged)
	}
	end := len(k) - 8
	return Pending{
		Session: string(k[2:end]),
		Number:  binary.BigEndian.Uint64(k[end:]),
		Data:    bytes.Clone(v),
	}, nil
}

// Meta returns a value that the layer above keeps in the file, nil if there is
// none.
func (tx *Tx) Meta(name string) ([]byte, error) {
	v, err := getText(tx, []byte("+"+name))
	return bytes.Clone(v), err
}

// getText returns a value that may be large. It is valid until the transaction
// writes.
func getText(tx *Tx, key []byte) ([]byte, error) {
	if v, err := tx.get(kv.Texts, key); v != nil || err != nil {
		return v, err
	}
	return tx.get(kv.Meta, key) // where files of the first versions have it
}

// setText stores a value that may be large.
func setText(tx *Tx, key, value []byte) error {
	if err := tx.delete(kv.Meta, key); err != nil {
		return err
	}
	if value == nil {
		return tx.delete(kv.Texts, key)
	}
	return tx.put(kv.Texts, key, value)
}

// SetMeta stores a value for the layer above; nil removes it.
func (tx *Tx) SetMeta(name string, value []byte) error {
	return setText(tx, []byte("+"+name), value)
}
