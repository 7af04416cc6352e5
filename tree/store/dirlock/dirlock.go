// Package dirlock locks a directory of data files against other processes.
//
// One process has a directory to itself, such as a server, or several share it to
// read. The lock is on the file [Name] in the directory, which nothing replaces,
// and the system releases it when the process ends, however that happens.
package dirlock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Name is the name of the lock file. It is never removed.
const Name = "dogwood.lock"

const (
	// patience is how long a holder that is about to end is waited for.
	patience = 200 * time.Millisecond
	// tryEvery is how often the lock is tried meanwhile.
	tryEvery = 10 * time.Millisecond
	// maxHolder is how much of a lock file is read.
	maxHolder = 128
)

// errHeld says that another process has the lock.
var errHeld = errors.New("locked by another process")

// A HeldError says that other processes use the directory.
type HeldError struct {
	Dir string
	PID int    // of the process that has the directory to itself; 0: several may share it
	Use string // what that process is, as it said to Lock
}

func (e *HeldError) Error() string { return e.Dir + ": in use by " + e.Holder() }

// Holder says what uses the directory.
func (e *HeldError) Holder() string {
	if e.PID == 0 {
		return "a command that reads it, or a program that embeds the database"
	}
	return fmt.Sprintf("%s, process %d", e.Use, e.PID)
}

// A Lock is a locked directory.
type Lock struct {
	file *os.File // nil: there is no lock file, and none can be made
	sole bool
}

// Sole locks a directory that no other process may use. use says what this process
// is, for the error of others. The error is a *HeldError if the directory is in
// use. Where no file can be made, on a full or read-only file system or in a directory
// of another user, nothing is locked; then the locks of the data files are what is left.
func Sole(dir, use string) (*Lock, error) { return SoleWithin(dir, use, patience) }

// SoleWithin is Sole that waits for longer while another process has the
// directory.
func SoleWithin(dir, use string, wait time.Duration) (*Lock, error) {
	return soleFile(filepath.Join(dir, Name), use, wait)
}

// SoleFile is Sole by a lock file with another name. It excludes only those that name the same
// file: the directory can still be locked.
func SoleFile(file, use string) (*Lock, error) { return soleFile(file, use, patience) }

func soleFile(file, use string, wait time.Duration) (*Lock, error) {
	l, err := take(file, true, wait)
	if err != nil || l.file == nil {
		return l, err
	}
	l.note(fmt.Sprintf("%d %s\n", os.Getpid(), use))
	return l, nil
}

// Shared locks a directory that other processes may share, but none may have to
// itself. It makes no lock file, which would belong to the user who reads: without
// one nothing is locked, and the locks of the data files are what is left.
func Shared(dir string) (*Lock, error) {
	l, err := take(filepath.Join(dir, Name), false, patience)
	if err != nil || l.file == nil {
		return l, err
	}
	l.note("") // a holder that was killed has left its name
	return l, nil
}

// Release ends the lock.
func (l *Lock) Release() error {
	if l.file == nil {
		return nil
	}
	if l.sole {
		l.note("")
	}
	return l.file.Close()
}

// note replaces the content of the lock file, which is only for the error of
// other processes: without it they know less.
func (l *Lock) note(text string) {
	if l.file.Truncate(0) == nil && text != "" {
		_, _ = l.file.WriteAt([]byte(text), 0)
	}
}

func take(file string, sole bool, wait time.Duration) (*Lock, error) {
	f, err := open(file, sole)
	if err != nil || f == nil {
		return &Lock{}, err
	}
	for began := time.Now(); ; time.Sleep(tryEvery) {
		err := tryLock(f, sole)
		if err == nil {
			return &Lock{f, sole}, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		if time.Since(began) > wait {
			return nil, errors.Join(heldBy(filepath.Dir(file), f), f.Close())
		}
	}
}

// open opens the lock file, making one to have the directory alone. It returns nil
// if there is none and none can be made.
func open(name string, sole bool) (*os.File, error) {
	flag := os.O_RDWR
	if sole {
		flag |= os.O_CREATE
	}
	f, err := durable.OpenFile(name, flag, 0o600)
	if err == nil {
		return f, nil
	}
	if !sole && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if !durable.Unwritable(err) {
		return nil, err
	}
	f, err = os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

func heldBy(dir string, f *os.File) error {
	held := &HeldError{Dir: dir}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if err != nil {
		return held
	}
	pid, use, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	if n, err := strconv.Atoi(string(pid)); err == nil {
		held.PID, held.Use = n, string(use)
	}
	return held
}
