package ownerstorage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A saving is what became of rows that were given to save.
type saving struct {
	h        *hold
	save     func([]Row) error
	saved    []Row
	bad      []*RowError // refused, and another row was saved afterwards
	suspects []*RowError // refused, and nothing was saved since: SQL may be down
}

// all saves rows at once, or one by one if that fails. If no row can be saved, it
// tries those that others returns: they tell bad rows from an outage. The error is
// that of an outage, in which no row is to blame.
func (v *saving) all(ctx context.Context, rows []Row, others func() ([]Row, error)) error {
	if len(rows) == 0 {
		return nil
	}
	err := v.try(rows)
	if err == nil {
		v.saved = rows
		return nil
	}
	if len(rows) == 1 {
		v.suspects = []*RowError{{rows[0], err}}
	} else if err := v.each(ctx, rows, 0); err != nil {
		return err
	}
	if len(v.saved) == 0 {
		more, err := others()
		if err != nil {
			return err
		}
		if err := v.each(ctx, more, 1); err != nil {
			return err
		}
	}
	return v.verdict(len(rows), err)
}

// try calls save, and lets the lease be renewed meanwhile.
func (v *saving) try(rows []Row) error {
	v.h.saving.Store(time.Now().UnixNano())
	return v.save(rows)
}

// each saves rows one by one, until so many are saved if most is not 0.
func (v *saving) each(ctx context.Context, rows []Row, most int) error {
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.try(rows[i : i+1 : i+1]); err != nil {
			v.suspects = append(v.suspects, &RowError{row, err})
			continue
		}
		v.saved = append(v.saved, row)
		v.bad, v.suspects = append(v.bad, v.suspects...), nil
		if len(v.saved) == most {
			return nil
		}
	}
	return nil
}

// verdict decides about the rows that were refused last: if a row that was saved can
// be saved again, SQL is there, and they are bad.
func (v *saving) verdict(n int, first error) error {
	if len(v.suspects) == 0 {
		return nil
	}
	outage := first
	if last := len(v.saved) - 1; last >= 0 {
		if outage = v.try(v.saved[last:]); outage == nil {
			v.bad, v.suspects = append(v.bad, v.suspects...), nil
			return nil
		}
	}
	return fmt.Errorf("land %d rows: %w", n, outage)
}

// problems joins the errors of the bad rows.
func (v *saving) problems() (err error) {
	for _, b := range v.bad {
		err = errors.Join(err, b)
	}
	return err
}
