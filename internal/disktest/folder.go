package disktest

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A Folder is the files below a directory that remain when the power fails. Names are
// durable when their directory is synced; of the changes of names in a directory since then,
// the first few survive, as in a file system with a journal. Directories themselves are
// durable at once.
type Folder struct {
	dir     string
	names   map[string]*Disk   // paths of the files, as processes see them
	synced  map[string]*Disk   // and as they are on the disk
	pending map[string][]Event // about names, by their directory

	Rand *rand.Rand // decides what syncs that fail lose; nil: everything
}

// NewFolder returns a directory that has no files.
func NewFolder(dir string) *Folder {
	return &Folder{dir: dir, names: make(map[string]*Disk), synced: make(map[string]*Disk), pending: make(map[string][]Event)}
}

// Run takes the next event. It passes over those of other directories.
func (f *Folder) Run(e Event) {
	if !strings.HasPrefix(e.File, f.dir+string(filepath.Separator)) && e.File != f.dir {
		return
	}
	switch file := f.names[e.File]; e.Do {
	case Create, CreateEmpty, Rename, Remove:
		f.name(e, file)
	case Sync:
		if file == nil { // a directory
			for _, p := range f.pending[e.File] {
				change(f.synced, p)
			}
			delete(f.pending, e.File)
			return
		}
		file.Run(e)
	default:
		if file != nil {
			file.Run(e)
		}
	}
}

// name takes an event about the name of a file, nil if there is none.
func (f *Folder) name(e Event, file *Disk) {
	switch {
	case e.Do == Create && file != nil:
		return
	case e.Do == CreateEmpty && file != nil:
		file.Run(Event{Do: Truncate})
		return
	case e.Do == Create || e.Do == CreateEmpty:
		e.made = &Disk{Rand: f.Rand}
	}
	change(f.names, e)
	dir := filepath.Dir(e.File)
	f.pending[dir] = append(f.pending[dir], e)
}

// change changes names.
func change(names map[string]*Disk, e Event) {
	switch e.Do {
	case Rename:
		if file := names[e.File]; file != nil {
			names[e.To] = file
		}
		delete(names, e.File)
	case Remove:
		delete(names, e.File)
	default:
		names[e.File] = e.made
	}
}

// Crash writes into a directory, which exists, what a power failure leaves now.
func (f *Folder) Crash(rnd *rand.Rand, dir string) error {
	left := maps.Clone(f.synced)
	for _, events := range f.pending {
		for _, e := range events[:rnd.IntN(len(events)+1)] {
			change(left, e)
		}
	}
	for name, file := range left {
		to := filepath.Join(dir, strings.TrimPrefix(name, f.dir))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := file.Crash(rnd).Write(to); err != nil {
			return err
		}
	}
	return nil
}
