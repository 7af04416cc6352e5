package sync

import (
	"errors"

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

// returned returns what became of the server values of a write that was just made.
// What an increment came to tells what was there, so that is only for who may read
// it now.
func (b *batch) returned(w *Write, resolved []tree.ResolvedWrite) ([]Returned, error) {
	list := []Returned{}
	for i, u := range w.Update {
		for v := range u.Value.ServerValues() {
			at := tree.Target{Path: u.Path.Join(v.At.Path), Priority: u.Priority || v.At.Priority}
			if v.Increment {
				err := b.authorizeRead(w.Caller, at.Path)
				if errors.Is(err, fault.ErrDenied) {
					continue
				}
				if err != nil {
					return nil, fault.Broken(err) // the write is made already, and must not stay
				}
			}
			n := resolved[i].Node.Get(v.At.Path)
			if v.At.Priority {
				n = n.Priority()
			}
			at.Path = w.Base.Rel(at.Path)
			list = append(list, Returned{at, n.Value()})
		}
	}
	return list, nil
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
