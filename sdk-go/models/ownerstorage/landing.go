package ownerstorage

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	rows, err := s.rows(ctx, dirty)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	if err := save(rows); err != nil {
		return 0, fmt.Errorf("land %d rows: %w", len(rows), err)
	}
	for _, m := range dirty.Children() {
		if err := m.Ref().SetIf(ctx, m, nil); err != nil && !errors.Is(err, dogwood.ErrStale) {
			return 0, err
		}
	}
	return len(rows), nil
}

// rows reads the fields of marks.
func (s *Storage) rows(ctx context.Context, dirty dogwood.Snapshot) ([]Row, error) {
	var rows []Row
	var places []dogwood.Ref
	for pk, m := range dirty.Children() {
		parts := strings.SplitN(pk, ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("the mark %q is not of a field", pk)
		}
		row := Row{Logic: parts[0], Owner: parts[1], Key: parts[2]}
		if err := m.Decode(&row.Changed); err != nil {
			return nil, err
		}
		rows = append(rows, row)
		field := "/" + s.at + "/" + strings.Join(parts, "/")
		places = append(places, s.db.Ref("store"+field), s.db.Ref("deleted"+field+"/value"))
	}
	found, err := record.Each(ctx, s.db, places...)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		live, last := found[2*i], found[2*i+1]
		if rows[i].Value = live.Value(); !live.Exists() {
			rows[i].Value, rows[i].Deleted = last.Value(), true
		}
	}
	return rows, nil
}
