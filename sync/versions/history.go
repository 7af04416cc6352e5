package versions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Errors for versions that never were or are no longer kept.
var (
	ErrNoVersion     = errors.New("no such version of the rules")
	ErrNoDataVersion = errors.New("no such version of the data document")
)

// Bounds of the versions that are kept, of each kind. The last one always is.
const (
	Max             = 100
	MaxVersionBytes = 16 << 20
)

// Texts are one kind of document with its history: the name of the value that has the text
// in force, with which those of the others begin. Sources are in slots that are used again,
// so that no more than Max of them are ever there.
type texts string

func (t texts) history() string { return string(t) + "-versions" }

func (t texts) source(number int64) string { return fmt.Sprintf("%s-source-%02d", t, number%Max) }

func (t texts) none() error {
	if t == metaData {
		return ErrNoDataVersion
	}
	return ErrNoVersion
}

// list returns the versions that are kept, ascending.
func (t texts) list(tx *store.Tx) (h []Version, err error) {
	text, err := tx.Meta(t.history())
	if err == nil && text != nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return nil, fmt.Errorf("versions of the %s: %w", t, err)
	}
	return h, nil
}

// add stores a version behind the last one and gives it its number, unless that has the same
// effect and is in force.
func (t texts) add(tx *store.Tx, next Version, source string) (v Version, isNew bool, err error) {
	h, err := t.list(tx)
	if err != nil {
		return v, false, err
	}
	given, err := t.given(tx)
	if err != nil {
		return v, false, err
	}
	if len(h) > 0 {
		last := h[len(h)-1]
		if given && last.same(next) {
			return last, false, nil
		}
		next.Number = last.Number
	}
	next.Number++
	return next, true, t.put(tx, next, source)
}

// put stores a version behind the others. The list and the sources are separate values, so
// that to read which versions there are does not read their texts.
func (t texts) put(tx *store.Tx, v Version, text string) error {
	h, err := t.list(tx)
	if err != nil {
		return err
	}
	if err := t.keep(tx, append(h, v)); err != nil {
		return err
	}
	source := []byte(text)
	return errors.Join(tx.SetMeta(t.source(v.Number), source), tx.SetMeta(string(t), source))
}

// keep stores the versions, but for the oldest if there are too many.
func (t texts) keep(tx *store.Tx, all []Version) error {
	bytes := 0
	for _, v := range all {
		bytes += v.Size
	}
	for len(all) > 1 && (len(all) > Max || bytes > MaxVersionBytes) {
		if err := tx.SetMeta(t.source(all[0].Number), nil); err != nil {
			return err
		}
		bytes -= all[0].Size
		all = all[1:]
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return tx.SetMeta(t.history(), text)
}

// given reports whether there is a text in force.
func (t texts) given(tx *store.Tx) (bool, error) {
	source, err := tx.Meta(string(t))
	return source != nil, err
}

// find returns a version that is kept and its source.
func (t texts) find(tx *store.Tx, number int64) (v Version, source string, err error) {
	h, err := t.list(tx)
	if err != nil {
		return v, "", err
	}
	i := slices.IndexFunc(h, func(v Version) bool { return v.Number == number })
	if i < 0 {
		return v, "", fmt.Errorf("%w: %d", t.none(), number)
	}
	text, err := tx.Meta(t.source(number))
	return h[i], string(text), err
}

// metaData is the data document in force, if one was given.
const metaData = texts("data")

// A DataChange gives a database another data document.
type DataChange struct {
	Document *derive.Document
	Author   string // for the history
	Comment  string // why, in their words
	Restore  int64  // number of the version that it is a copy of; 0: none
	IfHash   string // Hash of what must be in force; "": whatever is
}

// AddData is Add for a data document.
func AddData(tx *store.Tx, c DataChange, now time.Time) (v Version, isNew bool, err error) {
	source := c.Document.Source()
	return metaData.add(tx, Version{
		Time:    now.UTC().Truncate(time.Millisecond),
		Author:  c.Author,
		Comment: c.Comment,
		Restore: c.Restore,
		Hash:    Hash(source),
		Size:    len(source),
	}, source)
}

// PutData is Put for a data document.
func PutData(tx *store.Tx, v Version, source string) error { return metaData.put(tx, v, source) }

// ListData is List for data documents.
func ListData(tx *store.Tx) ([]Version, error) { return metaData.list(tx) }

// FindData is Find for data documents.
func FindData(tx *store.Tx, number int64) (v Version, source string, err error) {
	return metaData.find(tx, number)
}

// Data returns the text of the data document that the file has, "" if there is none.
func Data(tx *store.Tx) (string, error) {
	source, err := tx.Meta(string(metaData))
	if err != nil {
		return "", fmt.Errorf("stored data document: %w", err)
	}
	return string(source), nil
}
