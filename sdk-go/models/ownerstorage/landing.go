package ownerstorage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// mark returns the key of a field among the dirty ones, which is its primary key
// in SQL, too.
func mark(logic, owner, key string) string { return logic + ":" + owner + ":" + key }

// tick is waited between reading marks and their fields. A mark is a time in
// milliseconds: whatever is written after its field was read must not have the same.
const tick = 2 * time.Millisecond

// A Row is a field that has changed since it was landed.
type Row struct {
	Logic, Owner, Key string            // where the field is
	Value             any               // if it was removed, the last one
	Deleted           bool              // it was removed
	Changed           dogwood.Timestamp // by the server's clock
}

// Land gives save the fields that have waited for the longest, n at most, and then
// takes away their marks; not those of fields that have changed again meanwhile. It
// returns how many rows there were. The token must be that of a landing program.
//
// If save fails, or the program ends, the marks stay: save may be given a row
// again.
//
// A mark that is of no field, which the rules let only administrators write, stops
// nothing: it is taken away with the others, and then named in the error.
func (s *Storage) Land(ctx context.Context, n int, save func([]Row) error) (int, error) {
	dirty, err := s.db.Ref("dirty/" + s.at).OrderByValue().LimitToFirst(n).Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(tick):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	rows, strays := marked(dirty)
	if err := s.fill(ctx, rows); err != nil {
		return 0, err
	}
	if len(rows) > 0 {
		if err := save(rows); err != nil {
			return 0, errors.Join(fmt.Errorf("land %d rows: %w", len(rows), err), strays)
		}
	}
	for _, m := range dirty.Children() {
		if err := m.Ref().SetIf(ctx, m, nil); err != nil && !errors.Is(err, dogwood.ErrStale) {
			return 0, errors.Join(err, strays)
		}
	}
	return len(rows), strays
}

// markKey is what the rules want of the key of a mark.
var markKey = regexp.MustCompile(`^([A-Za-z0-9_-]+):([A-Za-z0-9_-]+):([A-Za-z0-9_-]+)$`)

// marked returns the rows of marks, still without values, and an error that names
// the marks of no field.
func marked(dirty dogwood.Snapshot) (rows []Row, strays error) {
	for pk, m := range dirty.Children() {
		field := markKey.FindStringSubmatch(pk)
		if field == nil {
			strays = errors.Join(strays, fmt.Errorf("the mark %q is not of a field", pk))
			continue
		}
		row := Row{Logic: field[1], Owner: field[2], Key: field[3]}
		if err := m.Decode(&row.Changed); err != nil {
			strays = errors.Join(strays, fmt.Errorf("the mark %q: %w", pk, err))
			continue
		}
		rows = append(rows, row)
	}
	return rows, strays
}

// fill reads the fields of rows, as they are at one moment.
func (s *Storage) fill(ctx context.Context, rows []Row) error {
	var places []dogwood.Ref
	for _, r := range rows {
		field := "/" + s.at + "/" + r.Logic + "/" + r.Owner + "/" + r.Key
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
	}
	return nil
}
