package kv

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// mapBytes is address space and no memory.
const (
	// mapBytes is reserved as address space at once. If the file outgrew its
	// map, the writer would wait for all readers to remap it.
	mapBytes = 8 << 30
	// bucketsTx is the transaction that creates the buckets of a new file.
	bucketsTx = 2
	// lockTimeout is how long another process may hold the file. A process that this one is
	// starting has the lock of a file that was read until it runs its own program.
	lockTimeout = time.Second
	// fillPercent leaves room in pages for keys that arrive out of order. Of rows of 200 bytes
	// with their checksums it leaves 12 in a page; with 0.7 it was 11.
	fillPercent = 0.72
	// densePercent is for keys that ascend.
	densePercent = 0.9
)

// FileOptions adjust how a file is opened.
type FileOptions struct {
	ReadOnly bool        // change nothing; the file must be there
	Peek     bool        // with ReadOnly: do not follow all pages before; what is damaged is an error where it is read
	NoSync   bool        // do not sync commits to the disk
	OnDamage func(error) // is called with every damaged entry that is read; nil: not called

	// Name names an entry in errors; nil: by its bucket and key.
	Name func(b Bucket, key []byte) string
}

// OpenFile opens or creates a file. One that exists is not written to before Start,
// and one on a read-only file system is opened to be read.
//
// The file is examined before bbolt writes to it. probe checks its head and length before
// bbolt maps it at all, and follows all pages through ordinary reads while a read-only
// bbolt holds the lock: bbolt would end the process over a damaged page.
func OpenFile(file string, o FileOptions) (*File, error) {
	k := &File{damaged: o.OnDamage, name: o.Name}
	open := func() (*boltKV, error) { return openBolt(file, o.NoSync) }
	if o.ReadOnly || onReadOnly(file) {
		open = func() (*boltKV, error) { return openToRead(file, o.Peek) }
	}
	var err error
	if k.boltKV, err = open(); err != nil {
		return nil, err
	}
	return k, nil
}

// onReadOnly reports whether a file is there that cannot be written to, because its
// file system is read-only or this process may not.
func onReadOnly(file string) bool {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
	}
	_ = f.Close() // nothing was written
	return false
}

// openToRead opens a file that is there. Others can do so at the same time.
func openToRead(file string, peek bool) (*boltKV, error) {
	if there, err := probeHead(file); err != nil || !there {
		return nil, fmt.Errorf("%s: %w", file, cmp.Or(err, fs.ErrNotExist))
	}
	db, err := openGuarded(file, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, openError(err))
	}
	if !peek {
		err = probePages(file)
	}
	if err == nil && !peek {
		err = db.View(haveBuckets(Writers, Counts, Declared))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close())
	}
	k := &boltKV{db: db}
	k.durable.Store(math.MaxUint64) // nothing is written meanwhile
	return k, nil
}

// wantAllBuckets fails if a bucket of the current format is missing. The numbers of
// children may be: they are counted when they are asked for. So may the bucket of declared
// data.
func wantAllBuckets(tx *bolt.Tx) error {
	for _, b := range Buckets {
		if b == Counts || b == Declared {
			if _, err := tx.CreateBucketIfNotExists([]byte{byte(b)}); err != nil {
				return err
			}
		}
		if tx.Bucket([]byte{byte(b)}) == nil {
			return fmt.Errorf("%w: bucket %c is missing", ErrDamaged, b)
		}
	}
	return nil
}

// haveBuckets returns a check that no bucket is missing, but for some that only a writer
// needs.
func haveBuckets(but ...Bucket) func(*bolt.Tx) error {
	return func(tx *bolt.Tx) error {
		for _, b := range Buckets {
			if tx.Bucket([]byte{byte(b)}) == nil && !slices.Contains(but, b) {
				return ErrForeign
			}
		}
		return nil
	}
}

// openBolt opens or creates the file. One that is there is not written to before start.
func openBolt(file string, noSync bool) (*boltKV, error) {
	there, err := probe(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !there {
		if err := noRemains(file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	k := &boltKV{fresh: !there}
	db, err := openGuarded(file, k.opened.watched(&bolt.Options{
		Timeout:         lockTimeout,
		NoFreelistSync:  true, // else every commit rewrites the whole free list
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: mapBytes,
		NoSync:          noSync,
		OpenFile:        k.openFile,
	}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, openError(err)), k.RemoveFresh(err))
	}
	k.db = db
	return k, nil
}

// Fresh reports whether the file was created when it was opened.
func (k *boltKV) Fresh() bool { return k.fresh }

// ReadOnly reports whether the file is only read.
func (k *boltKV) ReadOnly() bool { return k.db.IsReadOnly() }

// Failed reports whether the file is unusable, see ErrFailed. It never blocks.
func (k *boltKV) Failed() bool { return k.failed.Load() }

// RemoveFresh removes a file that was created and has no content because the disk was
// full: the next start would take it for a damaged one. err is why it could not be used.
func (k *boltKV) RemoveFresh(err error) error {
	if !k.fresh || k.file == nil || !durable.NoRoom(err) {
		return nil
	}
	return os.Remove(k.file.Name())
}

// start makes what the file shows durable, and creates the buckets that it lacks. A
// file that has them all is only written to where it has the same already.
//
// It is apart from opening since it writes. A file on a full disk is opened and read, and
// started later.
func (k *boltKV) start() error {
	if err := k.syncMetas(); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	// Not only if it was made just now: the run that made it may have failed to sync its name.
	young := k.durable.Load() <= bucketsTx
	var ready error
	err := guarded(func() error { ready = k.db.View(haveBuckets()); return nil })
	if err == nil && ready != nil {
		err = k.update(createBuckets)
	}
	if err == nil && young {
		err = durable.SyncDir(filepath.Dir(k.file.Name()))
	}
	k.started = err == nil
	return err
}

// probe checks a file, if there is one, before it is opened to be written to.
func probe(file string) (there bool, err error) {
	if there, err = probeHead(file); err != nil || !there {
		return there, err
	}
	reader, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return true, openError(err)
	}
	return true, errors.Join(probePages(file), reader.Close()) // reader holds the lock meanwhile
}

// openGuarded is bolt.Open, which panics over keys that are out of order.
func openGuarded(file string, o *bolt.Options) (db *bolt.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return bolt.Open(file, 0o600, o)
}

func openError(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return ErrForeign
	case errors.Is(err, berrors.ErrChecksum):
		return ErrDamaged
	}
	return err
}

func createBuckets(tx *bolt.Tx) error {
	if tx.Bucket([]byte{byte(Meta)}) == nil {
		if k, _ := tx.Cursor().First(); k != nil {
			return fmt.Errorf("%w: a bbolt file of another program", ErrForeign)
		}
	}
	if meta := tx.Bucket([]byte{byte(Meta)}); meta != nil && slices.Contains([]string{formatVersion, formatDeclared, formatDeclaredLogged}, string(meta.Get(formatKey))) {
		return wantAllBuckets(tx)
	}
	for _, b := range Buckets {
		if _, err := tx.CreateBucketIfNotExists([]byte{byte(b)}); err != nil {
			return err
		}
	}
	return nil
}

// The list is not written after a failure: the file is left as it is.
func (k *boltKV) Close() error {
	if k.started && !k.failed.Load() && !k.hasFreeList() {
		k.keepFreeList()
	}
	return k.release()
}

// hasFreeList reports whether the file has the list of free pages: nothing was committed since
// a clean stop.
func (k *boltKV) hasFreeList() bool {
	meta, err := newestMeta(k.file)
	return err == nil && meta.freeList != noFreeList
}

func (k *boltKV) release() error {
	if k.stuck {
		return ErrFailed // bbolt would wait for its own locks
	}
	return k.db.Close()
}

// keepFreeList writes the list of free pages into the file. Without it, which is
// no harm, the next start has to find them by following all pages.
func (k *boltKV) keepFreeList() {
	k.db.NoFreelistSync = false
	_ = k.update(func(*bolt.Tx) error { return nil })
}

// InPlace returns ErrReplaced if the open file does not have its name any more.
func (k *boltKV) InPlace() error {
	if k.opened.info == nil {
		return nil
	}
	return k.opened.check()
}
