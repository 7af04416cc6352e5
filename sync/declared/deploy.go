package declared

import (
	"errors"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// ErrChanged is returned if another document is in force than a change says.
var ErrChanged = errors.New("the data document has changed")

// ErrImport is returned for an import to places that definitions look at or keep.
var ErrImport = errors.New("declared data look at or keep what the import would replace; write it in parts, or import before the data document is deployed")

// A DataError says that a definition cannot be put in force because there are data already.
type DataError struct{ Definition, Path string }

// Error says where there are data.
func (e *DataError) Error() string {
	return fmt.Sprintf("there are data at %s already, and this version puts the definition %q in force for new data only; deploy the document before you write", e.Path, e.Definition)
}

// refuseData refuses new definitions that look at data that are there, or keep places where
// there is something.
func (d *Data) refuseData(tx *store.Tx, document *derive.Document) error {
	next := d.next(document)
	for _, def := range document.Definitions() {
		if d != nil && d.byName[def.Name] == next.states[def] {
			continue
		}
		var found []tree.Path
		note := func(p tree.Path) { found = append(found, p) }
		for from, more := (derive.Place{}), true; more && len(found) == 0; {
			var err error
			if from, more, err = def.WalkSources(keyed{tx}, from, walkSteps, note); err != nil {
				return err
			}
		}
		if _, _, err := def.WalkPlaces(keyed{tx}, derive.Place{}, walkSteps, note); err != nil {
			return err
		}
		if len(found) > 0 {
			return &DataError{def.Name, found[0].String()}
		}
	}
	return nil
}

// walkSteps is how many keys a walk reads at a time.
const walkSteps = 256

// A keyed is a tree whose keys are walked.
type keyed struct{ *store.Tx }

// KeysAfter is that of a derive.Keyed.
func (k keyed) KeysAfter(p tree.Path, key string) (keys []string, err error) {
	l, err := k.Shallow(p, key, walkSteps)
	for key := range l.Keys.All() {
		keys = append(keys, key)
	}
	return keys, err
}

// Supported reports what of a document this version does not apply. The error is of type
// derive.Errors.
func Supported(document *derive.Document) error {
	var errs derive.Errors
	for _, d := range document.Definitions() {
		if d.Kind == derive.Expire || d.Kind == derive.Index {
			errs = append(errs, &derive.Error{Pos: d.Pos, Definition: d.Name, Msg: fmt.Sprintf("definitions of the kind %s are not applied by this version; take it out", d.Kind)})
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return nil
}

// Deploy puts a document in force in a transaction. It returns the data that are in force
// from then on, and the version that it made; isNew is false if that is the last one. d is
// in force before.
func (d *Data) Deploy(tx *store.Tx, c versions.DataChange, now time.Time) (next *Data, v versions.Version, isNew bool, err error) {
	if c.IfHash != "" && c.IfHash != d.Hash() {
		return d, v, false, ErrChanged
	}
	if err := d.refuseData(tx, c.Document); err != nil {
		return d, v, false, err
	}
	if v, isNew, err = versions.AddData(tx, c, now); err != nil || !isNew {
		return d, v, false, err
	}
	next, err = d.enforce(tx, c.Document)
	return next, v, true, err
}

// Put puts in force what Deploy did to another store with the same history.
func (d *Data) Put(tx *store.Tx, v versions.Version, document *derive.Document) (*Data, error) {
	if err := versions.PutData(tx, v, document.Source()); err != nil {
		return nil, err
	}
	return d.enforce(tx, document)
}

// enforce returns the data of another document, and stores their states.
func (d *Data) enforce(tx *store.Tx, document *derive.Document) (*Data, error) {
	next := d.next(document)
	return next, next.save(tx)
}

func (d *Data) next(document *derive.Document) *Data {
	if d == nil {
		return newData(document, stored{})
	}
	return newData(document, d.stored)
}
