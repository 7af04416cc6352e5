package entry

import (
	"errors"
	"fmt"
)

// MaxParts bounds the parts that an Assembler keeps, in bytes.
const MaxParts = 256 << 20

var errParts = errors.New("the parts of an operation are missing, or out of order")

// ErrBefore is wrapped for an operation whose parts, or pieces, are in front of the first entry that
// was read. It is no damage: a reader that begins where the log does comes across it, and has to read
// the state of the database instead.
var ErrBefore = errors.New("it began in front of the first entry that was read")

// An Assembler makes commits of the entries of a database, which it is given in order. The
// zero Assembler is ready.
//
// Its memory is bounded by MaxParts, not by what a log says: a damaged or forged log must
// not take the memory of its reader.
type Assembler struct {
	run    uint64
	runs   int // so far
	parts  map[string]*parts
	bytes  int         // of parts
	commit []Operation // so far
}

type parts struct {
	text []byte
	n    int
}

// Add takes the next entry. It returns the operations of the commit when it has its last
// entry, in order and with joined operations in place of their parts. Before that it returns
// the pieces of imports that the entry has, and those that are dropped: they have no effect of
// their own, and are not kept here.
func (a *Assembler) Add(e Entry) (list []Operation, whole bool, err error) {
	if e.Run != a.run || a.runs == 0 { // what an earlier run has not completed is void
		a.run, a.parts, a.bytes, a.commit = e.Run, make(map[string]*parts), 0, nil
		a.runs++
	}
	for op, err := range e.Operations() {
		if err == nil {
			op, err = a.take(op)
		}
		if err != nil {
			return nil, false, err
		}
		switch op.(type) {
		case nil:
			continue
		case *Load, *Drop:
			if e.More {
				list = append(list, op)
				continue
			}
		}
		a.commit = append(a.commit, op)
	}
	if e.More {
		return list, false, nil
	}
	list, a.commit = a.commit, nil
	return list, true, nil
}

// Open reports whether parts are kept: their operation comes in a later commit.
func (a *Assembler) Open() bool { return len(a.parts) > 0 }

// Midway reports whether something may have begun in front of the first entry: that one was of the
// same run.
func (a *Assembler) Midway() bool { return a.runs == 1 }

// take returns the operation that one stands for, nil for none.
func (a *Assembler) take(op Operation) (Operation, error) {
	switch op := op.(type) {
	case *Part:
		return nil, a.part(op)
	case *Join:
		return a.join(op)
	case *Drop:
		a.drop(op.ID)
	}
	return op, nil
}

func (a *Assembler) part(p *Part) error {
	have := a.parts[p.ID]
	if have == nil {
		if p.Seq > 0 && a.Midway() {
			return nil
		}
		have = new(parts)
		a.parts[p.ID] = have
	}
	if p.Seq != have.n {
		return fmt.Errorf("%w: part %d of %s comes behind %d", errParts, p.Seq, p.ID, have.n)
	}
	if a.bytes += len(p.Text); a.bytes > MaxParts {
		return fmt.Errorf("%w: they have more than %d bytes", errParts, MaxParts)
	}
	have.text = append(have.text, p.Text...)
	have.n++
	return nil
}

func (a *Assembler) join(j *Join) (Operation, error) {
	have := a.parts[j.ID]
	if have == nil && a.Midway() {
		return nil, fmt.Errorf("%w: %s", ErrBefore, j.ID)
	}
	if have == nil || have.n != j.Parts {
		return nil, fmt.Errorf("%w: %s", errParts, j.ID)
	}
	a.drop(j.ID)
	return parse(string(have.text))
}

func (a *Assembler) drop(id string) {
	if have := a.parts[id]; have != nil {
		a.bytes -= len(have.text)
		delete(a.parts, id)
	}
}
