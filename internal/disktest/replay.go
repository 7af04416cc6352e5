package disktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
)

// ledgerSuffix ends the name of the file in which a traced process keeps a Ledger.
const ledgerSuffix = ".ledger"

// What a ledger says of a step.
const (
	Begun   = 'b'
	Acked   = 'a' // it is on the disk
	Refused = 'r' // it had no effect
)

// A Replay cuts the power in the record of a process that kept a ledger and whose
// syncs failed.
type Replay struct {
	Events []Event
	File   string     // that the record is about
	Rand   *rand.Rand // decides where, and what is lost
	Share  int        // of so many events one has a power failure
}

// Failed reports whether a sync has failed.
func (r Replay) Failed() bool {
	for _, e := range r.Events {
		if e.Do == FailedSync && e.File == r.File {
			return true
		}
	}
	return false
}

// Cut cuts the power from the first failure on. It calls look each time, with the
// image and the steps that may be the last one in it: the last that was
// acknowledged, and another if its outcome was not known. It returns how often.
func (r Replay) Cut(look func(left Image, acked, next int) error) (cuts int, err error) {
	d := Disk{Rand: r.Rand}
	acked, next, failed := -1, -1, false
	for _, e := range r.Events {
		switch e.File {
		case r.File:
			d.Run(e)
			failed = failed || e.Do == FailedSync
		case r.File + ledgerSuffix:
			if e.Do != Write {
				continue
			}
			if acked, next, err = entry(string(e.Data), acked, next); err != nil {
				return cuts, err
			}
		}
		if acked < 0 || !failed || r.Rand.IntN(r.Share) > 0 {
			continue
		}
		cuts++
		if err := look(d.Crash(r.Rand), acked, next); err != nil {
			return cuts, fmt.Errorf("power failure %d, step %d is acknowledged: %w", cuts, acked, err)
		}
	}
	return cuts, nil
}

// CutAll is Cut for a record of TraceFolder about all files of a directory, which has the
// ledger's name. Another directory gets the files that remain, anew each time.
func (r Replay) CutAll(to string, look func(acked, next int) error) (cuts int, err error) {
	f := NewFolder(r.File)
	f.Rand = r.Rand
	acked, next := -1, -1
	for _, e := range r.Events {
		switch {
		case e.File != r.File+ledgerSuffix:
			f.Run(e)
		case e.Do == Write && e.File == r.File+ledgerSuffix:
			if acked, next, err = entry(string(e.Data), acked, next); err != nil {
				return cuts, err
			}
		}
		if acked < 0 || r.Rand.IntN(r.Share) > 0 {
			continue
		}
		cuts++
		err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o700), f.Crash(r.Rand, to))
		if err == nil {
			err = look(acked, next)
		}
		if err != nil {
			return cuts, fmt.Errorf("power failure %d, step %d is acknowledged: %w", cuts, acked, err)
		}
	}
	return cuts, nil
}

// entry reads what a ledger says.
func entry(text string, acked, next int) (nowAcked, nowNext int, err error) {
	n, err := strconv.Atoi(strings.TrimLeft(text, "abr"))
	if err != nil {
		return acked, next, err
	}
	switch text[0] {
	case Acked:
		return n, n, nil
	case Begun:
		return acked, n, nil
	}
	return acked, acked, nil
}
