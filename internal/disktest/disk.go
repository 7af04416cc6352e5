// Package disktest cuts the power, for tests of what is left of a file.
//
// Everything that was written to a file is on record, in order, as a list of
// events. A [Disk] takes them one by one. What came before a sync is on the disk;
// of what came after the last one, [Disk.Crash] keeps any sectors and loses
// others. Records are made by the test itself or, of a whole process, by strace:
// see [Trace] and [ReadTrace].
package disktest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"time"
)

// sectorBytes is what a disk writes as a whole or not at all.
const sectorBytes = 512

// An Event is one step in the record of a file.
type Event struct {
	Do   Step
	At   int64 // offset of a write, size after a truncation
	Data []byte

	File string // in a trace: its path
	To   string // its path after a Rename

	made *Disk     // by Create
	Time time.Time // in a trace: when the system was asked
}

// A Step is a kind of Event.
type Step int

// The steps.
const (
	Write    Step = iota // Data at an offset
	Truncate             // to a size
	Sync
	FailedSync // what it was for may be on the disk or lost for good
	WriteSync  // Write, and Sync of it alone

	FailedWriteSync // any of it may be on the disk, and the rest is lost for good

	// The others are for a [Folder]. A Sync of the directory makes them durable.

	Create      // unless there is such a file
	CreateEmpty // or make it empty
	Rename      // To another name, which loses the file that it has
	Remove
)

// A Disk is what is left of a file when the power fails. The zero Disk has an
// empty file.
type Disk struct {
	synced  Image
	pending []Event

	Rand *rand.Rand // decides what a sync that fails loses; nil: everything
}

// Run takes the next event.
//
// After a sync has failed, the system takes what it was for as written, shows it to
// who reads, and never writes it: a later sync succeeds without it.
func (d *Disk) Run(e Event) {
	var lost func() bool
	switch e.Do {
	case Sync:
	case FailedSync:
		lost = loses(d.Rand)
	case FailedWriteSync:
		d.synced.apply(e, loses(d.Rand))
		return
	case WriteSync:
		d.synced.apply(e, nil)
		d.replace(e.At, e.At+int64(len(e.Data)))
		return
	default:
		d.pending = append(d.pending, e)
		return
	}
	for _, p := range d.pending {
		d.synced.apply(p, lost)
	}
	d.pending = nil
}

// replace takes what is pending out of a range, which has been written over.
func (d *Disk) replace(from, to int64) {
	var left []Event
	for _, p := range d.pending {
		if end := p.At + int64(len(p.Data)); p.Do == Write && p.At < to && from < end {
			before, after := p, p
			before.Data = p.Data[:max(from-p.At, 0)]
			after.At = min(to, end)
			after.Data = p.Data[after.At-p.At:]
			left = append(left, before, after)
			continue
		}
		left = append(left, p)
	}
	d.pending = left
}

// Crash returns an image of the file after a power failure now: of what is
// pending, any sectors, and any of the changes of the size.
func (d *Disk) Crash(rnd *rand.Rand) Image {
	left := Image{bytes.Clone(d.synced.data), d.synced.size}
	lost := loses(rnd)
	for _, p := range d.pending {
		left.apply(p, lost)
	}
	return left
}

// loses decides for each sector whether it is lost: of all, none, half or few.
func loses(rnd *rand.Rand) func() bool {
	part := 0
	if rnd != nil {
		part = rnd.IntN(4)
	}
	return func() bool {
		switch part {
		case 0:
			return true
		case 1:
			return false
		case 2:
			return rnd.IntN(2) == 0
		}
		return rnd.IntN(16) == 0
	}
}

// An Image is the content of a file: data, and then zeros up to its size.
type Image struct {
	data []byte
	size int64
}

// Write makes a file of the image.
func (im Image) Write(file string) error {
	if err := os.WriteFile(file, im.data, 0o600); err != nil {
		return err
	}
	return os.Truncate(file, im.size)
}

// apply carries out an event, but for the sectors that are lost.
func (im *Image) apply(e Event, lost func() bool) {
	if e.Do == Truncate {
		if lost == nil || !lost() {
			im.size = e.At
			im.data = im.data[:min(len(im.data), int(e.At))]
		}
		return
	}
	for from := 0; from < len(e.Data); from += sectorBytes {
		if lost != nil && lost() {
			continue
		}
		sector := e.Data[from:min(from+sectorBytes, len(e.Data))]
		at := int(e.At) + from
		if missing := at + len(sector) - len(im.data); missing > 0 {
			im.data = append(im.data, make([]byte, missing)...)
		}
		copy(im.data[at:], sector)
	}
	im.size = max(im.size, int64(len(im.data)))
}
