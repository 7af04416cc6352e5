package sync

import (
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// maxReturned bounds the server values of a write that returns them: the rules are
// asked about each, while all other writes wait.
const maxReturned = 1_000

// checkReturns refuses a write that has too many server values to return them.
func checkReturns(w Write) error {
	if !w.Returns {
		return nil
	}
	count := 0
	for _, u := range w.Update {
		for range u.Value.ServerValues() {
			if count++; count > maxReturned {
				return &fault.TooManyError{Request: "a write that returns its server values", What: "of them", Max: maxReturned}
			}
		}
	}
	return nil
}

// returned returns the resolved server values of a Write that Returns them, without
// increments that its caller may not read: their sums reveal the old values. It walks the
// values, so it is not for the committer if they are large. nil: the write was carried out
// before, under its ID.
func (c *Commit) returned(w *Write) []Returned {
	if c.Writes == nil {
		return nil
	}
	list := []Returned{}
	for i, u := range w.Update {
		for v, n := range u.Value.ServerValuesIn(c.Writes[i].Node) {
			p := u.Path.Join(v.At.Path)
			if v.Increment && c.hides(p) {
				continue
			}
			at := tree.Target{Path: w.Base.Rel(p), Priority: u.Priority || v.At.Priority}
			list = append(list, Returned{at, n})
		}
	}
	return list
}

// appendReturned appends the data of the response to a write that returns its
// server values. A write that had been carried out before has none any more: nil.
func appendReturned(dst []byte, list []Returned) []byte {
	if list == nil {
		return dst
	}
	dst = append(dst, `{"v":{`...)
	for i, r := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, r.At.String()[1:])
		dst = append(append(dst, ':'), r.Value.JSON()...)
	}
	return append(dst, `}}`...)
}
