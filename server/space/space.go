// Package space watches how much room the disks of a server have. When one has less than it
// is to keep, writes stop while the rest goes on: what frees room needs some itself.
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

// A disk is looked at as having room again when it has a part of what is to be kept more than
// that, so that writes do not stop and begin with each file that others write. Until then it
// is short, and a file has to make up for that part, too.
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
	Free  int64 // bytes that this process may use
	Size  int64
	Least int64 // bytes that are to be free; 0: none
	Short bool  // it has less, so writes stop

	missing int64 // bytes until it is not short
}

// Options say what to watch.
type Options struct {
	Data  string // the directory of the data
	Log   string // that of the write-ahead log, which may be on a disk of its own
	Least Amount
	To    *slog.Logger

	Stat func(dir string) (Stat, error) // nil: the system's
}

// A Watch knows how much room there is. Looking at a disk may take long, as on a network
// that does not answer; asking a Watch never does.
type Watch struct {
	o     Options
	disks atomic.Pointer[[]Disk]
	short atomic.Pointer[durable.ShortError]

	looking sync.Mutex
	blind   bool // the disks could not be looked at, which was logged
}

// New returns a watch that has looked at the disks once.
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

// Short returns why writes have to stop, nil if they go on.
func (w *Watch) Short() *durable.ShortError { return w.short.Load() }

// Disks returns what was seen last, that of the data first. A disk that could not be looked at
// is missing, and so is that of the log if it is the same.
func (w *Watch) Disks() []Disk {
	if seen := w.disks.Load(); seen != nil {
		return *seen
	}
	return nil
}

// Look looks at the disks now.
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

// judge lets writes stop or go on.
func (w *Watch) judge(seen []Disk) {
	var now *durable.ShortError
	for _, d := range seen {
		if !d.Short || now != nil {
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
