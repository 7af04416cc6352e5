package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// getAll answers a read of several places (docs/extensions.md). Like get it sees
// the earlier writes of its session, and makes its answer when it is its turn. Until
// then only the text waits, without the rest of its message: what is read from it
// takes forty times as much.
func (s *Session) getAll(ctx context.Context, r wire.Request) error {
	text := strings.Clone(r.Body.Lookups)
	lookups, filters, err := readLookups(ctx, text)
	if err != nil {
		return err
	}
	s.chargeFor(len(lookups) - 1)
	id := r.ID
	s.out.PushLater(len(text)+filters, func() [][]byte {
		reply, err := gotAll(ctx, s, id, text)
		if err != nil {
			reply = s.failure(id, err)
		}
		return [][]byte{reply}
	})
	return nil
}

// largeAnswer is from where on the answer to a getAll asks for the memory that it takes, as a value
// does.
const largeAnswer = 1 << 20

// gotAll returns the answer to a getAll.
func gotAll(ctx context.Context, s *Session, id int64, text string) ([]byte, error) {
	lookups, _, err := readLookups(ctx, text)
	if err != nil {
		return nil, err
	}
	as := s.as()
	for i := range lookups {
		lookups[i].Read.Caller, lookups[i].Read.Hold = as, s.out.Hold
	}
	all, err := s.db.GetAll(ctx, lookups)
	if err != nil {
		return nil, err
	}
	s.chargeFor(all.Reads - len(lookups))
	size := all.size()
	// Hold takes two times the size of a value, since both the value and its message are there. Here
	// the message can be far longer than the values: one that is found again is there once.
	if half := int64(all.Held+size) / 2; half >= largeAnswer {
		if err := s.out.Hold(half); err != nil {
			return nil, err
		}
	}
	return wire.AppendOKWith(make([]byte, 0, size), id, func(dst []byte) []byte { return appendFindings(dst, all) }), nil
}

// chargeFor tells that a request took as much as so many more.
func (s *Session) chargeFor(more int) {
	if s.charge != nil && more > 0 {
		s.charge(more)
	}
}

// readLookups reads what is asked for. filters is how much memory the filters take.
func readLookups(ctx context.Context, text string) (lookups []Lookup, filters int, err error) {
	if text == "" {
		return nil, 0, fmt.Errorf("%w: no list of reads", fault.ErrMalformed)
	}
	var all query.Filters
	for sent, err := range (&wire.Body{Lookups: text}).ReadLookups() {
		if bad := (*wire.FormatError)(nil); errors.As(err, &bad) {
			return nil, 0, fmt.Errorf("%w: %s", fault.ErrMalformed, bad.Msg)
		}
		if len(lookups) == MaxLookups {
			return nil, 0, TooManyLookups()
		}
		l, err := readLookup(sent)
		if err == nil {
			err = cmp.Or(all.Add(l.Read.Query), ctx.Err()) // to compile many filters takes long
		}
		if err != nil {
			return nil, 0, err
		}
		lookups = append(lookups, l)
	}
	return lookups, all.Size, nil
}

func readLookup(sent wire.Lookup) (l Lookup, err error) {
	v := viewSpec{raw: sent.Query}
	if v.path, err = tree.ParsePath(sent.Path); err != nil {
		return l, err
	}
	if v.query, err = query.Parse(v.raw); err != nil {
		return l, err
	}
	l.Read = v.read(Caller{}) // who asks is known when the answer is made
	if sent.Each == "" {
		return l, nil
	}
	each, err := tree.ParseTemplate(sent.Each)
	if errors.Is(err, tree.ErrTemplate) {
		err = fmt.Errorf("%w: %w", fault.ErrMalformed, err)
	}
	l.Each = &each
	return l, err
}

// size returns how long the message of an answer is at most, about.
func (f *Findings) size() int {
	n := 128 // around the results
	for i := range f.Found {
		n += f.Found[i].size()
	}
	return n
}

// size returns how long f is in an answer, with what separates it from the next one.
func (f *Found) size() int {
	switch {
	case f.Err != nil:
		return len(f.appendFailure(nil)) + len(`,`)
	case f.Each == nil:
		return len(f.Node.JSON()) + len(`{"d":},`)
	}
	n := len(`{"k":[],"v":{},"e":{}},`)
	for i, key := range f.Keys {
		n += 2*(len(wire.AppendString(nil, key))+len(`:,`)) + f.Each[i].size()
	}
	return n
}

// appendFindings appends the answer to a getAll.
func appendFindings(dst []byte, all Findings) []byte {
	dst = strconv.AppendUint(append(dst, `{"rev":`...), all.Revision, 10)
	dst = append(dst, `,"v":[`...)
	for i := range all.Found {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = all.Found[i].append(dst)
	}
	return append(dst, `]}`...)
}

func (f *Found) append(dst []byte) []byte {
	switch {
	case f.Err != nil:
		return f.appendFailure(dst)
	case f.Each != nil:
		return f.appendEach(dst)
	}
	return append(append(append(dst, `{"d":`...), f.Node.JSON()...), '}')
}

// appendFailure appends status and text, as those of a response are.
func (f *Found) appendFailure(dst []byte) []byte {
	status, text := f.Status()
	dst = wire.AppendString(append(dst, `{"s":`...), status)
	dst = wire.AppendString(append(dst, `,"d":`...), text)
	if denied := (*fault.DeniedError)(nil); errors.As(f.Err, &denied) && denied.Rule != "" {
		dst = wire.AppendString(append(dst, `,"rule":`...), denied.Rule)
	}
	return append(dst, '}')
}

// appendEach appends all keys, the values that there are, and the failures.
func (f *Found) appendEach(dst []byte) []byte {
	dst = f.AppendKeys(append(dst, `{"k":[`...))
	dst = f.AppendMembers(append(dst, `],"v":{`...), func(one *Found, dst []byte) ([]byte, bool) {
		if one.Err != nil || one.Node.IsEmpty() {
			return dst, false
		}
		return piecewise.Append(dst, one.Node.Text()), true
	})
	dst = f.AppendMembers(append(dst, `},"e":{`...), func(one *Found, dst []byte) ([]byte, bool) {
		if one.Err == nil {
			return dst, false
		}
		return one.appendFailure(dst), true
	})
	return append(dst, `}}`...)
}

// AppendKeys appends the keys of Each as the elements of an array.
func (f *Found) AppendKeys(dst []byte) []byte {
	for i, key := range f.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, key)
	}
	return dst
}

// AppendMembers appends those of Each for which value appends something, as the members of
// an object.
func (f *Found) AppendMembers(dst []byte, value func(one *Found, dst []byte) ([]byte, bool)) []byte {
	first := true
	for i, key := range f.Keys {
		next := dst
		if !first {
			next = append(next, ',')
		}
		next = append(wire.AppendString(next, key), ':')
		if next, ok := value(&f.Each[i], next); ok {
			dst, first = next, false
		}
	}
	return dst
}
