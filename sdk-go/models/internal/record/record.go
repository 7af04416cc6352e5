// Package record has what the packages of the data models share: reading records
// with their keys, and changes that depend on what was read before.
package record

import (
	"context"
	"errors"
	"reflect"
	"slices"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// List decodes the children of a snapshot, in the order of its query. key says
// where in a record its key belongs.
func List[T any](s dogwood.Snapshot, key func(*T) *string) ([]T, error) {
	var list []T
	for k, child := range s.Children() {
		var record T
		if err := child.Decode(&record); err != nil {
			return nil, err
		}
		*key(&record) = k
		list = append(list, record)
	}
	return list, nil
}

// Keys returns the keys of a snapshot's children, in the order of its query.
func Keys(s dogwood.Snapshot) []string {
	var keys []string
	for key := range s.Children() {
		keys = append(keys, key)
	}
	return keys
}

// Read reads the record at a place. It reports whether there is one.
func Read[T any](ctx context.Context, at dogwood.Ref, key func(*T) *string) (record T, ok bool, err error) {
	s, err := at.Snapshot(ctx)
	if err != nil || !s.Exists() {
		return record, false, err
	}
	if err := s.Decode(&record); err != nil {
		return record, false, err
	}
	*key(&record) = at.Key()
	return record, true, nil
}

// maxPlaces is how many places one request reads.
const maxPlaces = 1000

// Each reads several paths at once and returns their values, in their order; an absent
// value is an empty snapshot. Up to maxPlaces paths are read at one revision.
func Each(ctx context.Context, db *dogwood.Client, places ...dogwood.Ref) ([]dogwood.Snapshot, error) {
	var list []dogwood.Snapshot
	for part := range slices.Chunk(places, maxPlaces) {
		lookups := make([]dogwood.Lookup, len(part))
		for i, at := range part {
			lookups[i] = at
		}
		batch, err := db.GetAll(ctx, lookups...)
		if err != nil {
			return nil, err
		}
		for _, r := range batch.Results {
			if r.Err != nil {
				return nil, r.Err
			}
			list = append(list, r.Snapshot)
		}
	}
	return list, nil
}

// Named reads what the keys of an index name, by a template as EachKey has it, in
// the order of the index and all at one moment. One request bounds how many: 10,000.
func Named(ctx context.Context, db *dogwood.Client, index dogwood.Query, template string) ([]dogwood.Snapshot, error) {
	batch, err := db.GetAll(ctx, index.EachKey(template))
	if err != nil {
		return nil, err
	}
	return places(batch.Results[0])
}

// AllNamed is Named for an index of any length, in the order of its keys: one that
// others write to. Each request reads up to maxPlaces paths at one revision.
func AllNamed(ctx context.Context, db *dogwood.Client, index dogwood.Ref, template string) ([]dogwood.Snapshot, error) {
	return namedPages(ctx, db, index, template, maxPlaces)
}

// namedPages is AllNamed with pages of size keys.
func namedPages(ctx context.Context, db *dogwood.Client, index dogwood.Ref, template string, size int) ([]dogwood.Snapshot, error) {
	var all []dogwood.Snapshot
	first := index.OrderByKey().LimitToFirst(size)
	for page := first; ; {
		batch, err := db.GetAll(ctx, page, page.EachKey(template))
		if err != nil {
			return nil, err
		}
		keys := Keys(batch.Results[0].Snapshot)
		found, err := places(batch.Results[1])
		if all = append(all, found...); err != nil || len(keys) < size {
			return all, err
		}
		page = first.StartAfter(keys[size-1])
	}
}

// places returns what EachKey found.
func places(found dogwood.Result) ([]dogwood.Snapshot, error) {
	list, err := make([]dogwood.Snapshot, len(found.Each)), found.Err
	for i, r := range found.Each {
		list[i], err = r.Snapshot, errors.Join(err, r.Err)
	}
	return list, err
}

// NamedRecords is Named for records. It returns those that are there, and the keys
// of those that are not.
func NamedRecords[T any](ctx context.Context, db *dogwood.Client, index dogwood.Query, template string, key func(*T) *string) (list []T, gone []string, err error) {
	found, err := Named(ctx, db, index, template)
	if err != nil {
		return nil, nil, err
	}
	return there(found, key)
}

// AllNamedRecords is AllNamed for records. It returns those that are there.
func AllNamedRecords[T any](ctx context.Context, db *dogwood.Client, index dogwood.Ref, template string, key func(*T) *string) ([]T, error) {
	found, err := AllNamed(ctx, db, index, template)
	if err != nil {
		return nil, err
	}
	list, _, err := there(found, key)
	return list, err
}

// there decodes the records that are there, and returns the keys of the others.
func there[T any](found []dogwood.Snapshot, key func(*T) *string) (list []T, gone []string, err error) {
	for _, s := range found {
		if !s.Exists() {
			gone = append(gone, s.Key())
			continue
		}
		record, err := dogwood.Decode[T](s)
		if err != nil {
			return nil, nil, err
		}
		*key(&record) = s.Key()
		list = append(list, record)
	}
	return list, gone, nil
}

// maxTries bounds how often Retry tries.
const maxTries = 100

// Refused reports whether the rules or declared data have refused a write.
func Refused(err error) bool {
	return errors.Is(err, dogwood.ErrPermissionDenied) || errors.Is(err, dogwood.ErrConflict)
}

// Retry reads something and makes a change that depends on it. If the rules refuse
// the change, and what was read is another thing by now, it tries again: that is
// how a change loses a race. A change that is refused twice for the same thing is
// not allowed.
func Retry[T any](ctx context.Context, read func() (T, error), change func(T) error) error {
	var before T
	var denied error
	for range maxTries {
		now, err := read()
		if err != nil {
			return err
		}
		if err = change(now); !Refused(err) {
			return err
		}
		if denied != nil && reflect.DeepEqual(before, now) {
			return err
		}
		before, denied = now, err
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return denied
}
