package ownerstorage

import (
	"context"
	"errors"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// tick is waited between reading marks and their fields. A mark is a time in
// milliseconds: whatever is written after its field was read must not have the same.
const tick = 2 * time.Millisecond

// probes is how many of the newest rows are tried if none of the oldest can be saved.
const probes = 10

// Land gives save the fields that have waited for the longest, n at most, and then
// takes away their marks; not those of fields that have changed again meanwhile. It
// returns how many rows were saved. The token must be that of a landing program.
//
// Only one lander works at a time: Land returns a *HeldError if another one holds the
// lease, and ErrLeaseLost if another one took over because this one was stalled. save
// may then have been late, so SQL must keep the row with the greater Version:
//
//	INSERT INTO fields (primary_key, value, is_del, version) VALUES ($1, $2, $3, $4)
//	ON CONFLICT (primary_key) DO UPDATE
//	SET value = excluded.value, is_del = excluded.is_del, version = excluded.version
//	WHERE excluded.version > fields.version
//
// If save fails, its rows are saved one by one. Those that fail alone while others do
// not are moved to Failed, and named by a *RowError each. If all fail, nothing is
// moved: SQL is down. Whatever is not saved keeps its mark, so save may be given a
// row again.
//
// A mark that is of no field, which the rules let only administrators write, stops
// nothing: it is taken away with the others, and then named in the error.
func (s *Storage) Land(ctx context.Context, n int, save func([]Row) error) (int, error) {
	oldest := s.db.Ref("dirty/" + s.at).OrderByValue()
	waiting, err := oldest.LimitToFirst(1).Snapshot(ctx)
	if err != nil || !waiting.Exists() {
		return 0, err
	}
	h, err := s.take(ctx)
	if err != nil {
		return 0, err
	}
	defer h.release(ctx)
	l := &landing{h: h, marks: make(map[string]dogwood.Snapshot), stray: make(map[string]bool)}
	rows, err := l.read(ctx, oldest.LimitToFirst(n))
	if err != nil {
		return 0, err
	}
	v := &saving{h: h, save: save}
	outage := v.all(ctx, rows, func() ([]Row, error) { return l.read(ctx, oldest.LimitToLast(probes)) })
	if outage != nil && len(v.saved) == 0 {
		return 0, errors.Join(outage, l.strays)
	}
	if err := l.settle(ctx, v); err != nil {
		return 0, errors.Join(err, outage, l.strays)
	}
	return len(v.saved), errors.Join(outage, v.problems(), l.strays)
}

// A landing is the marks that a lander has read while it held the lease.
type landing struct {
	h      *hold
	marks  map[string]dogwood.Snapshot // by their keys
	stray  map[string]bool             // which of them are of no field
	strays error                       // names those
}

// read reads marks that were not read yet, and then their fields.
func (l *landing) read(ctx context.Context, q dogwood.Query) ([]Row, error) {
	found, err := q.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(tick):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var fresh []dogwood.Snapshot
	for pk, m := range found.Children() {
		if _, ok := l.marks[pk]; !ok {
			fresh, l.marks[pk] = append(fresh, m), m
		}
	}
	rows, strays := marked(fresh)
	l.strays = errors.Join(l.strays, strays)
	for _, m := range fresh {
		l.stray[m.Key()] = true
	}
	for _, r := range rows {
		delete(l.stray, r.PrimaryKey())
	}
	return rows, l.h.s.fill(ctx, rows, l.h.version)
}

// settle takes away the marks of what was saved, of what is moved to the errors, and
// of no field.
func (l *landing) settle(ctx context.Context, v *saving) error {
	var steps []step
	for _, row := range v.saved {
		steps = append(steps, l.unmark(row.PrimaryKey()))
	}
	for _, b := range v.bad {
		s := l.unmark(b.Row.PrimaryKey())
		s.set["error/"+l.h.s.at+"/"+s.key] = failure(b)
		steps = append(steps, s)
	}
	for pk := range l.stray {
		steps = append(steps, l.unmark(pk))
	}
	return l.h.finish(ctx, steps)
}

// unmark is the step that takes a mark away if it is the one that was read.
func (l *landing) unmark(pk string) step {
	var was any = true // of what has children, which is no mark, the rules want no value
	if m := l.marks[pk]; m.NumChildren() == 0 {
		was = m.Value()
	}
	return step{key: pk, was: was, set: map[string]any{"dirty/" + l.h.s.at + "/" + pk: nil}}
}
