package disktest

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A Ledger tells a trace how far a process came that changes a file step by step.
type Ledger struct{ f *os.File }

// NewLedger begins the ledger of a file.
func NewLedger(file string) (*Ledger, error) {
	f, err := os.Create(file + ledgerSuffix)
	return &Ledger{f}, err
}

// Say adds to the ledger, by a system call that no test has fail. It panics if it cannot: a
// test without it proves nothing.
func (l *Ledger) Say(what byte, step int) {
	text := fmt.Appendf(nil, "%c%d", what, step)
	if _, err := unix.Pwritev(int(l.f.Fd()), [][]byte{text}, 0); err != nil {
		panic(err)
	}
}

// Close ends the ledger.
func (l *Ledger) Close() error { return l.f.Close() }
