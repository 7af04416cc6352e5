// Package space watches how much room the disks of a server have. When one has less than it
// is to keep, writes stop while the rest goes on: what frees room needs some itself.
//
// A Watch looks once a second and keeps the result, a list of Disk values and a
// *durable.ShortError. Databases ask it before each write that stores something. It frees
// nothing and stops nothing: it only says what the disks are like.
package space

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// every is the time between two looks at the disks. Between them, a fast disk takes in less
// than the default of what is to be kept.
const every = time.Second

// againPart says when a disk that was short is not any more: when it has a sixteenth more free
// than is to be kept. So writes do not stop and begin with each file that other programs write. A
// file that takes writes meanwhile needs that sixteenth free inside, too.
const againPart = 16

// Uses of a disk, as metrics name them.
const (
	UseData = "data"
	UseLog  = "log"
)

// A Disk is what is known of the file system of a directory.
type Disk struct {
	Use   string // UseData or UseLog
	Dir   string
	Free  int64 // bytes that this process may use, without those reserved for root
	Size  int64 // bytes of the file system
	Least int64 // bytes that are to be free; 0: none
	Short bool  // it has less, so writes stop

	missing int64 // bytes until it is not short; negative or 0 if it is not
}

// Options say what to watch.
type Options struct {
	Data  string       // the directory of the data
	Log   string       // that of the write-ahead log, which may be on a disk of its own
	Least Amount       // of each disk; zero: writes never stop, and the disks are only shown
	To    *slog.Logger // required; it has a line when writes stop and when they go on

	Stat func(dir string) (Stat, error) // nil: the system's
}

// A Watch knows how much room there is. Looking at a disk may take long, as on a network
// that does not answer; asking a Watch never does: it loads a pointer. The values that
// it returns are replaced and never changed, so callers share them and must not modify them.
//
// If the disk of the data cannot be looked at, nothing is short and writes go on: a disk that is
// really full still refuses them by itself.
type Watch struct {
	o     Options
	disks atomic.Pointer[[]Disk]             // of the last look
	short atomic.Pointer[durable.ShortError] // nil: writes go on

	looking sync.Mutex // one look at a time; guards blind
	blind   bool       // the last look failed; the first failure in a row was logged
}

// New returns a watch that has looked at the disks once, so a server that starts on a full disk
// refuses from its first write on. It starts no goroutine; Run is the caller's.
func New(o Options) *Watch {
	if o.Stat == nil {
		o.Stat = stat
	}
	w := &Watch{o: o}
	w.Look()
	return w
}

// Run looks at the disks until stop is closed.
func (w *Watch) Run(stop <-chan struct{}) {
	next := time.NewTicker(every)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			w.Look()
		case <-stop:
			return
		}
	}
}

// Short returns why writes have to stop, nil if they go on. A database may still take a write if
// its file has Missing bytes free inside, since it does not grow then.
func (w *Watch) Short() *durable.ShortError { return w.short.Load() }

// Disks returns what was seen last, that of the data first. A disk that could not be looked at
// is missing, and so is that of the log if it is the same.
func (w *Watch) Disks() []Disk {
	if seen := w.disks.Load(); seen != nil {
		return *seen
	}
	return nil
}

// Look looks at the disks now. It may take as long as the file system does; calls wait for each
// other.
func (w *Watch) Look() {
	w.looking.Lock()
	defer w.looking.Unlock()
	var seen []Disk
	data, err := w.o.Stat(w.o.Data)
	if err == nil {
		seen = append(seen, w.disk(UseData, w.o.Data, data))
		// The log is looked at only on a disk of its own. One that does not exist yet will be on
		// the disk of the data.
		if other, missing := w.o.Stat(w.o.Log); missing == nil && other.Device != data.Device {
			seen = append(seen, w.disk(UseLog, w.o.Log, other))
		}
	}
	w.tellBlind(err)
	w.disks.Store(&seen)
	w.judge(seen)
}

// disk returns what a look has found. A disk that was short at the last look has to have more than
// Least before it is not, see againPart.
func (w *Watch) disk(use, dir string, s Stat) Disk {
	d := Disk{Use: use, Dir: dir, Free: s.Free, Size: s.Size, Least: w.o.Least.Of(s.Size)}
	enough := d.Least
	if w.wasShort(use) {
		enough += d.Least / againPart
	}
	d.Short, d.missing = d.Free < enough, enough-d.Free
	return d
}

func (w *Watch) wasShort(use string) bool {
	for _, d := range w.Disks() {
		if d.Use == use {
			return d.Short
		}
	}
	return false
}

// judge lets writes stop or go on. If both disks are short, that of the log is the reason: then no
// write may go on. It logs only when writes stop or go on, and not each second.
func (w *Watch) judge(seen []Disk) {
	var now *durable.ShortError
	for _, d := range seen {
		if !d.Short {
			continue
		}
		now = &durable.ShortError{Dir: d.Dir, Free: d.Free, Least: d.Least, Missing: d.missing}
		if d.Use == UseLog { // nothing in the files of databases makes up for that
			now.Missing = math.MaxInt64
		}
	}
	before := w.short.Swap(now)
	switch {
	case before == nil && now != nil:
		w.o.To.Error("writes stop: a disk has less room than --min-free keeps; deletes, rules and reads go on, writes to a file that has as much free inside, and all writes when there is room again",
			"dir", now.Dir, "free", Text(now.Free), "min_free", Text(now.Least))
	case before != nil && now == nil:
		w.o.To.Info("writes go on: there is room again", "dir", before.Dir)
	}
}

// tellBlind logs when the disks cannot be looked at, and when they can again.
func (w *Watch) tellBlind(err error) {
	if err != nil && !w.blind && w.o.Least != (Amount{}) {
		w.o.To.Warn("it is unknown how much room the disk has, so --min-free has no effect", "dir", w.o.Data, "err", err)
	}
	w.blind = err != nil
}

// Text returns a number of bytes as people read it.
func Text(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	if n < 10<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d GiB", n>>30)
}
