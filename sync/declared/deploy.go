package declared

import (
	"errors"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// ErrChanged is returned if another document is in force than a change says (DataChange.IfHash):
// two administrators have deployed at once.
var ErrChanged = errors.New("the data document has changed")

// walkSteps is how many keys a walk reads at a time.
const walkSteps = 256

// A keyed is a tree whose keys are walked. It reads them in pages, from any key on, so a walk can
// end and go on in another transaction.
type keyed struct{ *store.Tx }

// KeysAfter is that of a derive.Keyed.
func (k keyed) KeysAfter(p tree.Path, key string) (keys []string, err error) {
	l, err := k.Shallow(p, key, walkSteps)
	for key := range l.Keys.All() {
		keys = append(keys, key)
	}
	return keys, err
}

// A counted is a tree that counts what a walk reads of it.
type counted struct {
	keyed
	reads *int
}

// Has is that of a derive.Keyed.
func (c counted) Has(p tree.Path) (bool, error) {
	*c.reads++
	return c.keyed.Has(p)
}

// KeysAfter is that of a derive.Keyed.
func (c counted) KeysAfter(p tree.Path, key string) ([]string, error) {
	*c.reads++
	return c.keyed.KeysAfter(p, key)
}

// Deploy puts a document in force in a transaction. It returns the data that are in force
// from then on, and the version that it made; isNew is false if that is the last one. d is
// in force before, and may be nil. found are its Totals.
//
// No place changes here: that is the work of Step. The caller declares the indexes of next, which
// the store builds. Before the first document, store.Declare must have marked the file.
func (d *Data) Deploy(tx *store.Tx, c versions.DataChange, found Totals, now time.Time) (next *Data, v versions.Version, isNew bool, err error) {
	if c.IfHash != "" && c.IfHash != d.Hash() {
		return d, v, false, ErrChanged
	}
	if v, isNew, err = versions.AddData(tx, c, now); err != nil || !isNew {
		return d, v, false, err
	}
	next, err = d.enforce(tx, c.Document, found)
	return next, v, true, err
}

// enforce returns the data of another document, and stores their states.
func (d *Data) enforce(tx *store.Tx, document *derive.Document, found Totals) (*Data, error) {
	next := d.next(document).with(func(s *stored) {
		for i, def := range document.Definitions() {
			s.States[i].settle(def, found)
		}
	})
	return next, next.save(tx)
}

// next returns the data of another document, with the states that go on. It stores nothing, so
// previews use it, too.
func (d *Data) next(document *derive.Document) *Data {
	if d == nil {
		return newData(document, stored{}, nil)
	}
	return newData(document, d.stored, d)
}
