package store

import (
	"bytes"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// texts are values with names, which may be large.
type texts struct{ tx *Tx }

func textsOf(tx *Tx) texts { return texts{tx} }

// Meta returns a value that the layer above keeps in the file, nil if there is
// none.
func (tx *Tx) Meta(name string) ([]byte, error) {
	v, err := textsOf(tx).get([]byte("+" + name))
	return bytes.Clone(v), err
}

// get returns a value that may be large. It is valid until the transaction
// writes.
func (t texts) get(key []byte) ([]byte, error) {
	if v, err := t.tx.get(kv.Texts, key); v != nil || err != nil {
		return v, err
	}
	return t.tx.get(kv.Meta, key) // where files of the first versions have it
}

// set stores a value that may be large.
func (t texts) set(key, value []byte) error {
	if err := t.tx.delete(kv.Meta, key); err != nil {
		return err
	}
	if value == nil {
		return t.tx.delete(kv.Texts, key)
	}
	return t.tx.put(kv.Texts, key, value)
}

// SetMeta stores a value for the layer above; nil removes it.
func (tx *Tx) SetMeta(name string, value []byte) error {
	return textsOf(tx).set([]byte("+"+name), value)
}
