package disktest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// A Volume is a Disk of several files, and of their names. A name, or that it is gone, is on
// the disk when its directory was synced; of later changes of names the first ones may be,
// and none behind one that is not.
type Volume struct {
	names   map[string]*Disk // as the system shows them
	synced  map[string]*Disk
	pending []Event // changes of names

	Rand *rand.Rand // decides what a sync that fails loses; nil: everything
}

// NewVolume returns a volume without files.
func NewVolume() *Volume {
	return &Volume{names: make(map[string]*Disk), synced: make(map[string]*Disk)}
}

// Run takes the next event. Those of files that it does not know, as they were there before
// the record, are left out.
func (v *Volume) Run(e Event) {
	d := v.names[e.File]
	switch e.Do {
	case Create:
		if d == nil {
			v.rename(Event{Do: Create, File: e.File, file: &Disk{Rand: v.Rand}})
		}
	case Rename, Remove:
		if d != nil {
			v.rename(e)
		}
	case Append:
		if d != nil {
			d.Run(Event{Do: Write, At: d.appended, Data: e.Data})
			d.appended += int64(len(e.Data))
		}
	default:
		if d != nil {
			d.Run(e)
		} else if e.Do == Sync {
			v.syncDir(e.File)
		}
	}
}

func (v *Volume) rename(e Event) {
	e.change(v.names)
	v.pending = append(v.pending, e)
}

// change makes a change of names.
func (e Event) change(names map[string]*Disk) {
	switch e.Do {
	case Create:
		names[e.File] = e.file
	case Rename:
		names[e.To] = names[e.File]
		delete(names, e.File)
	case Remove:
		delete(names, e.File)
	}
}

// syncDir puts the names of a directory on the disk.
func (v *Volume) syncDir(dir string) {
	var left []Event
	for _, e := range v.pending {
		if filepath.Dir(e.File) == dir {
			e.change(v.synced)
		} else {
			left = append(left, e)
		}
	}
	v.pending = left
}

// Crash returns what is left of each file after a power failure now.
func (v *Volume) Crash(rnd *rand.Rand) map[string]Image {
	names := maps.Clone(v.synced)
	for _, e := range v.pending[:rnd.IntN(len(v.pending)+1)] {
		e.change(names)
	}
	left := make(map[string]Image)
	for name, d := range names {
		left[name] = d.Crash(rnd)
	}
	return left
}

// WriteTo makes the files of a crash, which were below one directory, below another one.
// Everything that is there is removed.
func WriteTo(images map[string]Image, from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for name, image := range images {
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		file := filepath.Join(to, below)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), image.Write(file)); err != nil {
			return err
		}
	}
	return nil
}
