package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Errors of opening a file.
var (
	ErrLocked  = errors.New("in use by another process, or opened twice")
	ErrForeign = errors.New("not a Dogwood database")
	ErrDamaged = errors.New("damaged or truncated")
)

const (
	// mapBytes is reserved as address space at once. If the file outgrew its
	// map, the writer would wait for all readers to remap it.
	mapBytes = 8 << 30
	// lockTimeout is how long another process may hold the file.
	lockTimeout = 200 * time.Millisecond
	// fillPercent leaves room in pages for keys that arrive out of order.
	fillPercent = 0.7
	// densePercent is for keys that ascend.
	densePercent = 0.9
)

type boltKV struct{ db *bolt.DB }

// openFile opens a file in the way that the options say.
func openFile(file string, o Options) (*boltKV, error) {
	if o.ReadOnly {
		return openToRead(file)
	}
	return openBolt(file, o.NoSync)
}

// openToRead opens a file that is there. Others can do so at the same time.
func openToRead(file string) (*boltKV, error) {
	if there, err := probeHead(file); err != nil || !there {
		return nil, fmt.Errorf("%s: %w", file, cmp.Or(err, fs.ErrNotExist))
	}
	db, err := openGuarded(file, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, openError(err))
	}
	err = probePages(file)
	if err == nil {
		err = db.View(wantBuckets)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close())
	}
	return &boltKV{db}, nil
}

// wantAllBuckets is wantBuckets for the current format. Without the numbers of
// children they are counted when they are asked for.
func wantAllBuckets(tx *bolt.Tx) error {
	for _, b := range allBuckets {
		if b == bucketCounts {
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

func wantBuckets(tx *bolt.Tx) error {
	for _, b := range allBuckets {
		if b != bucketWriters && b != bucketCounts && tx.Bucket([]byte{byte(b)}) == nil {
			return ErrForeign
		}
	}
	return nil
}

// openBolt opens or creates the file and its buckets.
func openBolt(file string, noSync bool) (*boltKV, error) {
	if err := probe(file); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	db, err := openGuarded(file, &bolt.Options{
		Timeout:         lockTimeout,
		NoFreelistSync:  true, // else every commit rewrites the whole free list
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: mapBytes,
		NoSync:          noSync,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, openError(err))
	}
	k := &boltKV{db}
	if err := updateGuarded(db, createBuckets); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close())
	}
	return k, nil
}

// probe checks a file, if there is one, before it is opened to be written to.
func probe(file string) error {
	there, err := probeHead(file)
	if err != nil || !there {
		return err
	}
	reader, err := bolt.Open(file, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return openError(err)
	}
	return errors.Join(probePages(file), reader.Close()) // reader holds the lock meanwhile
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

// updateGuarded is db.Update for pages that may be damaged.
func updateGuarded(db *bolt.DB, f func(*bolt.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return db.Update(f)
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
	if tx.Bucket([]byte{byte(bucketMeta)}) == nil {
		if k, _ := tx.Cursor().First(); k != nil {
			return fmt.Errorf("%w: a bbolt file of another program", ErrForeign)
		}
	}
	if meta := tx.Bucket([]byte{byte(bucketMeta)}); meta != nil && string(meta.Get(formatKey)) == formatVersion {
		return wantAllBuckets(tx)
	}
	for _, b := range allBuckets {
		if _, err := tx.CreateBucketIfNotExists([]byte{byte(b)}); err != nil {
			return err
		}
	}
	return nil
}

func (k *boltKV) close() error {
	k.keepFreeList()
	return k.db.Close()
}

// keepFreeList writes the list of free pages into the file. Without it, which is
// no harm, the next start has to find them by following all pages.
func (k *boltKV) keepFreeList() {
	if k.db.IsReadOnly() {
		return
	}
	k.db.NoFreelistSync = false
	_ = updateGuarded(k.db, func(*bolt.Tx) error { return nil })
}
