package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Rows are what reads are measured on: many objects of ten leaves and some 220
// bytes below one path. Their leaf n is a permutation of their numbers. They
// are the same in every run and on every server, so figures of reads can be
// compared.
type Rows struct {
	Rows int `json:"rows" help:"Rows of ten leaves, some 220 bytes each." default:"100000" env:"-"`
}

// RowsPath is where rows are.
const RowsPath = "/rows"

// leavesOfRow is how many leaves a row has.
const leavesOfRow = 10

// RowRules allow everything and declare the index of n.
const RowRules = `{"rules": {".read": true, ".write": true, "rows": {".indexOn": "n"}}}`

func (w *Rows) setting() error { return Setting("rows", &w.Rows, 100_000, 1, MaxRows) }

// Load puts the rows into the database in one request and notes how long it
// took.
func (w Rows) Load(ctx context.Context, r *Load) error {
	took, err := timed(func() error { return w.put(ctx, r) })
	if err != nil {
		return fmt.Errorf("load %d rows: %w", w.Rows, err)
	}
	r.Measure("load", took.Seconds(), "s")
	return nil
}

// put replaces all rows by one request.
func (w Rows) put(ctx context.Context, r *Load) error {
	pr, pw := io.Pipe()
	go func() { pw.CloseWithError(w.write(pw)) }()
	defer pr.Close()
	return r.Admin.Put(ctx, RowsPath, pr)
}

func (w Rows) write(dst io.Writer) error {
	b := bufio.NewWriterSize(dst, 256<<10)
	var row []byte
	for i := range w.Rows {
		sep := byte(',')
		if i == 0 {
			sep = '{'
		}
		row = w.appendRow(append(row[:0], sep), i)
		if _, err := b.Write(row); err != nil {
			return err
		}
	}
	return errors.Join(b.WriteByte('}'), b.Flush())
}

func (w Rows) appendRow(dst []byte, i int) []byte {
	dst = append(AppendKey(append(dst, '"'), int64(i)), `":{"n":`...)
	dst = strconv.AppendInt(dst, int64(w.permuted(i)), 10)
	for leaf := range leavesOfRow - 1 {
		dst = append(dst, ',', '"', 'a'+byte(leaf), '"', ':')
		switch leaf % 3 {
		case 0:
			dst = strconv.AppendInt(dst, int64(i*(leaf+1)), 10)
		case 1:
			dst = strconv.AppendBool(dst, i%2 == 0)
		default:
			dst = strconv.AppendQuote(dst, Padding(i%44 + 32)[i%44:])
		}
	}
	return append(dst, '}')
}

// permuted returns the n of row i: each number below Rows once, in no order. The
// factor is a prime larger than any number of rows.
func (w Rows) permuted(i int) int { return i * 1_000_000_007 % w.Rows }

// First returns the first n of the seq-th range of a length, spread over all.
func (w Rows) First(seq int64, length int) int {
	return int(seq * 7919 % int64(max(1, w.Rows-length+1)))
}
