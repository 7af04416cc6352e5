package checks

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dogwooddb/dogwood/tree/invariant"
	"github.com/dogwooddb/dogwood/tree/store"
)

// How many violations of a file are printed. The others are counted.
const (
	maxViolations     = 20   // of one invariant
	maxViolationLines = 1000 // of all
)

// ReadInvariants reads a file of invariants.
func ReadInvariants(file string) (list []*invariant.Invariant, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if list, err = invariant.Read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return list, nil
}

// Invariants returns where invariants do not hold of the values in a data
// file, all of them as of one commit.
func Invariants(ctx context.Context, file string, list []*invariant.Invariant) (findings []error, err error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.View(func(tx *store.Tx) error {
		for _, v := range list {
			room := min(maxViolations, maxViolationLines-len(findings))
			broken, err := violations(ctx, tx, v, room)
			if findings = append(findings, broken...); err != nil {
				return err
			}
		}
		return nil
	})
	return findings, err
}

// violations returns the first violations of one invariant, and how many more
// there are.
func violations(ctx context.Context, tx *store.Tx, v *invariant.Invariant, room int) (findings []error, err error) {
	more := 0
	err = v.Check(ctx, tx, func(b invariant.Violation) {
		if len(findings) < room {
			findings = append(findings, errors.New(b.String()))
		} else {
			more++
		}
	})
	if more > 0 {
		findings = append(findings, fmt.Errorf("%s: %d more", v.ID, more))
	}
	return findings, err
}
