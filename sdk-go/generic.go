package dogwood

import (
	"context"
	"iter"
)

// A Reader is what values are read from: a Ref or a Query.
type Reader interface {
	// Snapshot reads the value once.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Values yields the value, and the new one after every change, until ctx ends.
	Values(ctx context.Context) iter.Seq2[Snapshot, error]
}

// Get reads a value once. An absent value is the zero value. The error is ErrValue if
// it does not fit the type.
func Get[T any](ctx context.Context, from Reader) (value T, err error) {
	s, err := from.Snapshot(ctx)
	if err != nil {
		return value, err
	}
	return Decode[T](s)
}

// Values follows a value: it yields it now and after every change, as the
// method of the same name does. A value that does not fit the type is ErrValue, but
// does not end the loop.
func Values[T any](ctx context.Context, from Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for s, err := range from.Values(ctx) {
			var value T
			if err == nil {
				value, err = Decode[T](s)
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

// Transaction replaces a value by what update makes of it, as the method of the
// same name does, and returns what it has set. The error is ErrValue if the
// current value does not fit the type.
func Transaction[T any](ctx context.Context, ref Ref, update func(T) (T, error)) (value T, err error) {
	s, err := ref.Transaction(ctx, func(s Snapshot) (any, error) {
		old, err := Decode[T](s)
		if err != nil {
			return nil, err
		}
		return update(old)
	})
	if err != nil {
		return value, err
	}
	return Decode[T](s)
}

// Decode returns a snapshot's value as a Go value, as Snapshot.Decode stores it.
func Decode[T any](s Snapshot) (value T, err error) {
	err = s.Decode(&value)
	return value, err
}
