package ownerstorage

import (
	"context"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/models/internal/record"
)

// A Batch is changes of any number of owners that are made at once. The zero value
// is one without changes.
type Batch struct {
	changes []change
}

type change struct {
	logic, owner, key string
	value             any // to be set; nil removes
	was               any // what is removed
}

// Set adds that a field is set: to a bool, a number, a string or a
// dogwood.ServerValue.
func (b *Batch) Set(logic, owner, key string, value any) {
	b.changes = append(b.changes, change{logic: logic, owner: owner, key: key, value: value})
}

// Incr adds that a number grows.
func (b *Batch) Incr(logic, owner, key string, by float64) {
	b.Set(logic, owner, key, dogwood.Increment(by))
}

// remove adds that a field is removed that has a value.
func (b *Batch) remove(logic, owner, key string, was any) {
	b.changes = append(b.changes, change{logic: logic, owner: owner, key: key, was: was})
}

// Apply makes the changes of a batch, all or none. A removed value that is set comes
// back.
func (s *Storage) Apply(ctx context.Context, b Batch) error {
	return s.db.Update(ctx, s.update(b))
}

// update returns a batch as an update of the root.
func (s *Storage) update(b Batch) map[string]any {
	update := make(map[string]any)
	for _, c := range b.changes {
		field := s.field(c.logic, c.owner, c.key)
		var tombstone any
		if c.value == nil {
			tombstone = map[string]any{"value": c.was, "at": dogwood.ServerTimestamp}
		}
		update["store/"+field], update["deleted/"+field] = c.value, tombstone
		update["dirty/"+s.at+"/"+mark(c.logic, c.owner, c.key)] = dogwood.ServerTimestamp
	}
	return update
}

func (s *Storage) field(logic, owner, key string) string {
	return s.at + "/" + logic + "/" + owner + "/" + key
}

// Update sets fields of an owner.
func (s *Storage) Update(ctx context.Context, logic, owner string, fields map[string]any) error {
	var b Batch
	for key, value := range fields {
		b.Set(logic, owner, key, value)
	}
	return s.Apply(ctx, b)
}

// Incr adds to numbers of an owner and returns the sums. If the connection was lost
// before the answer, the error may be dogwood.ErrNotReturned: the numbers are added, but
// the sums are not known.
func (s *Storage) Incr(ctx context.Context, logic, owner string, by map[string]float64) (map[string]float64, error) {
	var b Batch
	for key, n := range by {
		b.Incr(logic, owner, key, n)
	}
	values, err := s.db.Ref("").UpdateReturning(ctx, s.update(b))
	sums := make(map[string]float64)
	for key := range by {
		if sum, ok := values["store/"+s.field(logic, owner, key)]; ok {
			sums[key] = sum
		}
	}
	return sums, err
}

// RemoveKeys removes fields of an owner. Their tombstones keep the last values:
// the rules refuse any other, so if one changes meanwhile it tries again. Keys that
// are not there are left out.
func (s *Storage) RemoveKeys(ctx context.Context, logic, owner string, keys ...string) error {
	return record.Retry(ctx, func() (map[string]any, error) {
		return s.GetByFields(ctx, logic, owner, keys...)
	}, func(fields map[string]any) error {
		var b Batch
		for key, value := range fields {
			b.remove(logic, owner, key, value)
		}
		return s.Apply(ctx, b)
	})
}
