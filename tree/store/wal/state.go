package wal

import (
	"errors"
	"slices"
)

// A State says how far the log has a database whose file needs it. Each segment begins with
// the states of all such databases. So a log that is older than a file, or that has lost what
// the file lacks, or that has become another one than the log of a copied directory, is told
// from one that fits.
type State struct {
	Database uint64
	Line     uint64 // a random id, new each time that the file begins to need the log
	Last     uint64 // number of the last record of the database
}

const stateBytes = 3 * 8

// states are those of the databases whose files need the log. They are repeated
// at the beginning of each segment, since the segments before it may be gone.
type states map[uint64]State

// note notes what a record says about them.
func (all states) note(r *Record) error {
	if r.Kind != stateKind {
		if s, ok := all[r.Database]; ok {
			s.Last = r.Number
			all[r.Database] = s
		}
		return nil
	}
	if len(r.Rows)%stateBytes != 0 {
		return errors.New("unreadable states of databases")
	}
	for b := range slices.Chunk(r.Rows, stateBytes) {
		s := State{le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])}
		all[s.Database] = s
	}
	return nil
}

// record returns the record that says them.
func (all states) record() *Record {
	r := &Record{Kind: stateKind}
	for _, s := range all {
		r.Rows = s.append(r.Rows)
	}
	return r
}

func (s State) append(b []byte) []byte {
	for _, n := range []uint64{s.Database, s.Line, s.Last} {
		b = le.AppendUint64(b, n)
	}
	return b
}

// Need says that the file of a database is about to need the log. It costs a sync, or a part
// of one. Errors are those of Append.
func (l *Log) Need(s State) error {
	_, err := l.Append(Record{Kind: stateKind, Rows: s.append(nil)})
	return err
}

// Done says that the file of a database does not need the log any more.
func (l *Log) Done(database uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.states, database)
}

// State returns the state of a database. ok is false if no file needs the log for it.
func (l *Log) State(database uint64) (s State, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok = l.states[database]
	return s, ok
}
