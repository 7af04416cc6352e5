package ownerstorage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// mark returns the key of a field among the dirty ones, which is its primary key
// in SQL, too.
func mark(logic, owner, key string) string { return logic + ":" + owner + ":" + key }

// A Row is a field that has changed since it was landed.
type Row struct {
	Logic, Owner, Key string            // where the field is
	Value             any               // if it was removed, the last one
	Deleted           bool              // it was removed
	Changed           dogwood.Timestamp // by the server's clock

	// Version grows with every call of Land and Replay. SQL must not replace a row by
	// one with a smaller version: a stalled lander may save it late.
	Version int64
}

// PrimaryKey returns the key of the row in SQL: "player:p1001:level".
func (r Row) PrimaryKey() string { return mark(r.Logic, r.Owner, r.Key) }

// A RowError says that SQL has refused one row, and accepted others. The row is
// among Failed from then on, and is not landed again before it changes.
type RowError struct {
	Row Row   // that was refused
	Err error // what save returned
}

// Error names the row and says what save returned.
func (e *RowError) Error() string {
	return fmt.Sprintf("the row %s was refused: %s", e.Row.PrimaryKey(), e.Err)
}

// Unwrap returns what save returned.
func (e *RowError) Unwrap() error { return e.Err }

// maxReason is how many bytes of an error are kept.
const maxReason = 500

// reason returns the text of an error as it is kept.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// markKey is what the rules want of the key of a mark.
var markKey = regexp.MustCompile(`^([A-Za-z0-9_-]+):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)$`)

// rowOf returns the row of a primary key, still without a value.
func rowOf(pk string) (r Row, ok bool) {
	field := markKey.FindStringSubmatch(pk)
	if field == nil {
		return Row{}, false
	}
	return Row{Logic: field[1], Owner: field[2], Key: field[3]}, true
}

// marked returns the rows of marks, still without values, and an error that names
// the marks of no field.
func marked(marks []dogwood.Snapshot) (rows []Row, strays error) {
	for _, m := range marks {
		row, ok := rowOf(m.Key())
		if !ok {
			strays = errors.Join(strays, fmt.Errorf("the mark %q is not of a field", m.Key()))
			continue
		}
		if err := m.Decode(&row.Changed); err != nil {
			strays = errors.Join(strays, fmt.Errorf("the mark %q: %w", m.Key(), err))
			continue
		}
		rows = append(rows, row)
	}
	return rows, strays
}

// fill reads the fields of rows, as they are at one moment, for a version.
func (s *Storage) fill(ctx context.Context, rows []Row, version int64) error {
	var places []dogwood.Ref
	for _, r := range rows {
		field := "/" + s.field(r.Logic, r.Owner, r.Key)
		places = append(places, s.db.Ref("store"+field), s.db.Ref("deleted"+field+"/value"))
	}
	found, err := record.Each(ctx, s.db, places...)
	if err != nil {
		return err
	}
	for i := range rows {
		live, last := found[2*i], found[2*i+1]
		if rows[i].Value = live.Value(); !live.Exists() {
			rows[i].Value, rows[i].Deleted = last.Value(), true
		}
		rows[i].Version = version
	}
	return nil
}
