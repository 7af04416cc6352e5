package ownerstorage

import (
	"context"
	"errors"
	"fmt"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// A Failure is a field that SQL has refused when it was landed, and that is not
// landed again before it changes or is replayed.
type Failure struct {
	Logic, Owner, Key string            // where the field is
	Reason            string            // what save returned, shortened
	At                dogwood.Timestamp // when it was refused the last time
	Tries             int               // how often it was refused
	Changed           dogwood.Timestamp // of the row that was refused
	Version           int64             // of that row
}

// failure is the record of a refused row.
func failure(e *RowError) map[string]any {
	return map[string]any{
		"reason": reason(e.Err), "at": dogwood.ServerTimestamp, "tries": dogwood.Increment(1),
		"changed": e.Row.Changed.UnixMilli(), "version": e.Row.Version,
	}
}

func (s *Storage) failures() dogwood.Query { return s.db.Ref("error/" + s.at).OrderByChild("at") }

// Failed returns the fields that were refused, n at most, those first that have waited
// for the longest. A field that has changed and landed since is among them until it is
// replayed.
func (s *Storage) Failed(ctx context.Context, n int) ([]Failure, error) {
	found, err := s.failures().LimitToFirst(n).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var list []Failure
	for pk, record := range found.Children() {
		row, ok := rowOf(pk)
		if !ok {
			return list, fmt.Errorf("the error record %q is not of a field", pk)
		}
		f, err := dogwood.Decode[Failure](record)
		if err != nil {
			return list, fmt.Errorf("the error record %q: %w", pk, err)
		}
		f.Logic, f.Owner, f.Key = row.Logic, row.Owner, row.Key
		list = append(list, f)
	}
	return list, nil
}

// Replay gives save the fields that were refused, n at most, as they are now, and
// forgets that those were refused which it saves. It is Land in all else: it needs
// the lease, and returns how many rows were saved and which were refused again.
func (s *Storage) Replay(ctx context.Context, n int, save func([]Row) error) (int, error) {
	h, err := s.take(ctx)
	if err != nil {
		return 0, err
	}
	defer h.release(ctx)
	r := &replay{h: h, seen: make(map[string]bool)}
	rows, err := r.read(ctx, s.failures().LimitToFirst(n))
	if err != nil {
		return 0, err
	}
	v := &saving{h: h, save: save}
	outage := v.all(ctx, rows, func() ([]Row, error) { return r.read(ctx, s.failures().LimitToLast(probes)) })
	if err := h.finish(ctx, r.steps(v)); err != nil {
		return 0, errors.Join(err, outage)
	}
	return len(v.saved), errors.Join(outage, v.problems())
}

// A replay is the records of refused rows that a lander has read.
type replay struct {
	h    *hold
	seen map[string]bool
}

// read reads the fields of records that were not read yet.
func (r *replay) read(ctx context.Context, q dogwood.Query) (rows []Row, err error) {
	found, err := q.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for pk, record := range found.Children() {
		row, ok := rowOf(pk)
		if !ok || r.seen[pk] {
			continue
		}
		r.seen[pk] = true
		if err := record.Child("changed").Decode(&row.Changed); err != nil {
			return nil, fmt.Errorf("the error record %q: %w", pk, err)
		}
		rows = append(rows, row)
	}
	return rows, r.h.s.fill(ctx, rows, r.h.version)
}

// steps forgets what was saved, and counts what was refused again.
func (r *replay) steps(v *saving) (steps []step) {
	for _, row := range v.saved {
		steps = append(steps, r.step(row, nil))
	}
	for _, b := range v.bad {
		steps = append(steps, r.step(b.Row, failure(b)))
	}
	return steps
}

func (r *replay) step(row Row, record map[string]any) step {
	set := make(map[string]any, 1)
	if path := "error/" + r.h.s.at + "/" + row.PrimaryKey(); record == nil {
		set[path] = nil
	} else {
		set[path] = record
	}
	return step{key: row.PrimaryKey(), set: set}
}
