package sync

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// What a write takes at its peak, when its text has been parsed and all its rows and
// pages wait for the commit: so much for each byte of the text, and so much for each of
// its values, however short it is. TestCostOfWrites measures that.
const (
	costOfByte  = 6
	costOfValue = 420
)

// A Cost is an estimate of the memory that a write takes until it is stored. It is made
// while its text comes in, before any of it is parsed, and is too high rather than too
// low: what separates values may also be part of a string. The zero Cost is that of no
// text. An exact figure would need the parsed text, whose memory is what the estimate is
// to bound.
type Cost struct{ bytes, values int64 }

// Add takes in the next piece of the text.
func (c *Cost) Add(piece []byte) {
	c.bytes += int64(len(piece))
	for _, sep := range separators {
		c.values += int64(bytes.Count(piece, sep))
	}
}

// separators are in front of each value but those of objects with one child each, of
// which no more than the deepest path has are read at a time.
var separators = [][]byte{{','}, {'['}, {'{'}}

// Memory returns the estimate in bytes.
func (c *Cost) Memory() int64 { return c.bytes*costOfByte + c.values*costOfValue }

// CostOf returns the estimate for a text that is there.
func CostOf(text string) int64 {
	c := Cost{bytes: int64(len(text))}
	for _, sep := range separators {
		c.values += int64(strings.Count(text, string(sep)))
	}
	return c.Memory()
}

// MaxValues is how many values a write may have of whom the rules apply to. Each takes
// half a kilobyte of memory meanwhile, however short it is.
const MaxValues = 1 << 20

// CheckValues returns a *LimitError if the JSON text of a write has more values than the
// caller may write at once. It is cheap, and meant for before the text is parsed.
func CheckValues(c Caller, text string) error {
	if !c.Admin && tree.HasMoreValues(text, MaxValues) {
		return &fault.LimitError{Bound: fault.BoundValues, Most: MaxValues}
	}
	return nil
}

// ParseUpdate reads an update of a caller, as tree.ParseUpdate does. The error is a
// *LimitError if the update has more paths than the caller may write at once; the rest of
// it is not read then.
func ParseUpdate(c Caller, base tree.Path, text string, d tree.Dialect) (tree.Update, error) {
	if c.Admin {
		return tree.ParseUpdate(base, text, d)
	}
	u, err := tree.ParseUpdateUpTo(base, text, d, MaxPaths)
	if e := (*tree.ParseError)(nil); errors.As(err, &e) && e.Kind == tree.TooManyPaths {
		return nil, &fault.LimitError{Bound: fault.BoundPaths, Most: MaxPaths}
	}
	return u, err
}

// Estimates of the committer time that a task takes. They only order tasks until the
// time is measured, and bound a batch: they are about what a small machine needs.
const (
	costValue = 4 * time.Microsecond // of each value beyond costFree bytes
	costKiB   = 4 * time.Microsecond
	costFree  = 1 << 10 // bytes of a path's value that cost nothing
)
