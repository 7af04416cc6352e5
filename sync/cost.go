package sync

import (
	"bytes"
	"context"
	"errors"
	"strings"
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
// text.
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

// reserve takes the memory for a write with the given text. It is released when the write
// is done, or with the request if that does not become one.
func (s *Session) reserve(ctx context.Context, text string) error {
	if err := CheckValues(s.as(), text); err != nil || s.memory == nil {
		return err
	}
	n := CostOf(text)
	if err := s.memory.Reserve(ctx, n); err != nil {
		if errors.Is(err, ErrTooBig) {
			err = &LimitError{BoundMemory}
		}
		return err
	}
	s.reserved += n
	return nil
}

// takeReserved returns what the request has reserved, for who releases it.
func (s *Session) takeReserved() int64 {
	n := s.reserved
	s.reserved = 0
	return n
}

func (s *Session) release(n int64) {
	if n > 0 {
		s.memory.Release(n)
	}
}
