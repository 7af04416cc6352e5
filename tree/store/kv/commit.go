package kv

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// retryPause is how often a failed commit is tried to be taken back.
const retryPause = time.Second

// A boltKV is a kv in a bbolt file.
//
// A commit of bbolt writes its pages, syncs them, writes one of the two meta pages,
// which makes the new state the current one, and syncs again. If that last sync
// fails, bbolt reports an error but goes on from the new state and uses the pages of
// the old one again, although a power failure may bring the old one back. So after an
// error the old meta page is put back and synced, before anything else is done with
// the file: then the commit did not take place. While that fails, too, the file has
// failed. It is neither read nor written, and both states stay intact on the disk.
type boltKV struct {
	db     *bolt.DB
	file   *os.File // of db
	opened openedFile

	fresh   bool // the file was made
	started bool // see start; the writer's

	kept sync.Pool // memory of write transactions

	// durable is the id of the last transaction that is on disk. Readers do not
	// see one before its commit has succeeded.
	durable atomic.Uint64
	commits sync.RWMutex // held by a commit until it is known how it ended
	metas   sync.RWMutex // held while a meta page is put back

	// The rest is guarded by commits.
	failed atomic.Bool // former has to be put back; read without the lock
	former metaPage    // before the last commit
	tried  time.Time   // when that was last tried
	stuck  bool        // bbolt did not survive it: do not touch it any more
	faults *Faults     // nil but in tests
}

// A metaPage is one of the two meta pages as it was.
type metaPage struct {
	at   int64
	data []byte
}

// Faults are failures of the disk that tests ask for. Its functions return the error of
// a sync, nil if it succeeds; a nil function is one that does.
type Faults struct {
	Commit  func() error // of the sync behind the meta page
	PutBack func() error // of the sync behind a meta page that was put back
}

// Inject returns the faults of the file. From now on a failed commit is tried to be
// taken back without a pause.
func (k *boltKV) Inject() *Faults {
	if k.faults == nil {
		k.faults = new(Faults)
	}
	return k.faults
}

func (f *Faults) commit() error {
	if f == nil || f.Commit == nil {
		return nil
	}
	return f.Commit()
}

func (f *Faults) putBack() error {
	if f == nil || f.PutBack == nil {
		return nil
	}
	return f.PutBack()
}

// resting reports whether the last try to take a commit back was just now.
func (k *boltKV) resting() bool { return k.faults == nil && time.Since(k.tried) < retryPause }

// openFile opens what bbolt asks for. The first file is the one that it keeps; backups
// open it once more.
func (k *boltKV) openFile(name string, flag int, mode fs.FileMode) (*os.File, error) {
	f, err := durable.OpenFile(name, flag, mode)
	if k.file == nil {
		k.file = f
	}
	return f, err
}

func (k *boltKV) beginWrite() (*bolt.Tx, error) {
	if err := k.usable(); err != nil {
		return nil, err
	}
	return k.db.Begin(true)
}

// beginRead begins a transaction of a state that is on disk. bbolt shows a state
// from the moment that its meta page is written: who comes between that and the
// sync waits.
func (k *boltKV) beginRead() (*bolt.Tx, error) {
	for {
		if err := k.usable(); err != nil {
			return nil, err
		}
		k.metas.RLock()
		tx, err := k.db.Begin(false)
		k.metas.RUnlock()
		if err != nil || k.isDurable(uint64(tx.ID())) {
			return tx, err
		}
		if err := tx.Rollback(); err != nil {
			return nil, err
		}
	}
}

func (k *boltKV) isDurable(id uint64) bool {
	if id <= k.durable.Load() {
		return true
	}
	k.commits.RLock()
	defer k.commits.RUnlock()
	return id <= k.durable.Load()
}

// update calls f with a transaction and commits it.
func (k *boltKV) update(f func(*bolt.Tx) error) error {
	tx, err := k.beginWrite()
	if err != nil {
		return err
	}
	if err := guarded(func() error { return f(tx) }); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return k.commit(tx)
}

// commit commits a transaction. After an error nothing of it is in the file, unless
// the error is ErrUnknown.
//
// commits is held from before the meta page is written until the outcome is known. A
// reader that sees a newer transaction than durable waits for that lock, and then either
// reads the new state or begins again in the former one.
func (k *boltKV) commit(tx *bolt.Tx) error {
	k.commits.Lock()
	defer k.commits.Unlock()
	id := uint64(tx.ID())
	if err := k.keepMeta(id % 2); err != nil { // where bbolt will write
		return errors.Join(err, tx.Rollback())
	}
	err := guarded(tx.Commit)
	if errors.Is(err, ErrDamaged) { // it did not end: nothing else may wait for it
		_ = tx.Rollback() // fails if it has ended
	}
	if err == nil {
		err = k.faults.commit()
	}
	if err == nil {
		k.durable.Store(id)
		return nil
	}
	if k.untouched(err) {
		return err
	}
	// Readers that come meanwhile see the former state, or wait.
	if back := k.putBack(); back != nil {
		k.failed.Store(true)
		return fmt.Errorf("%w: %w; to take it back: %w", ErrUnknown, err, back)
	}
	return err
}

// untouched reports whether a commit failed before it came to the meta page. It
// did if a write failed, as on a full disk, and the meta page is as before. Whether
// the first or the second sync failed cannot be told: some file systems forget what
// could not be synced, so that the page looks as before.
func (k *boltKV) untouched(err error) bool {
	var failed *fs.PathError
	if !errors.As(err, &failed) || failed.Op != "write" {
		return false
	}
	now := make([]byte, len(k.former.data))
	_, err = k.file.ReadAt(now, k.former.at)
	return err == nil && bytes.Equal(now, k.former.data)
}

// keepMeta remembers a meta page as it is before a commit.
func (k *boltKV) keepMeta(number uint64) error {
	size := k.db.Info().PageSize
	if k.former.data == nil {
		k.former.data = make([]byte, size)
	}
	k.former.at = int64(number) * int64(size)
	_, err := k.file.ReadAt(k.former.data, k.former.at)
	return err
}

// usable tries to put back what has to be, now and then.
func (k *boltKV) usable() error {
	if !k.failed.Load() {
		return nil
	}
	if !k.commits.TryLock() {
		return ErrFailed // others try
	}
	defer k.commits.Unlock()
	if k.failed.Load() && (k.stuck || k.resting() || k.putBack() != nil) {
		return ErrFailed
	}
	return nil
}

// putBack makes the state before a failed commit the current one again, on the
// disk, in bbolt's memory map, and in its list of free pages. commits is held.
// All three have to succeed, and in this order: until the page is synced, a
// power failure may still bring the failed commit back, and until bbolt has
// found its free pages anew, it would write over pages of the former state.
func (k *boltKV) putBack() error {
	defer func() { k.tried = time.Now() }()
	k.metas.Lock()
	_, err := k.file.WriteAt(k.former.data, k.former.at)
	k.metas.Unlock()
	if err == nil {
		err = k.sync()
	}
	if err == nil {
		err = k.faults.putBack()
	}
	if err == nil {
		err = k.reloadFree()
	}
	if err != nil {
		return err
	}
	k.failed.Store(false)
	return nil
}

func (k *boltKV) sync() error {
	if k.db.NoSync {
		return nil
	}
	return k.db.Sync()
}

// errReload is what reloadFree panics with.
var errReload = errors.New("reload the list of free pages")

// reloadFree has bbolt find its free pages anew: it took those of the state before
// for free. It does so when a transaction panics.
func (k *boltKV) reloadFree() (err error) {
	defer func() {
		if r := recover(); r != nil && r != any(errReload) {
			k.stuck = true
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return k.db.Update(func(*bolt.Tx) error { panic(errReload) })
}

// syncMetas makes sure that the meta pages on the disk are those that the system
// shows. If a sync failed in an earlier run they may not be, and pages that are free
// now could still be those of the state on the disk.
func (k *boltKV) syncMetas() error {
	tx, err := k.db.Begin(false)
	if err != nil {
		return err
	}
	id := uint64(tx.ID())
	if err := tx.Rollback(); err != nil {
		return err
	}
	k.durable.Store(id)
	pages := 2
	if id <= 1 {
		pages = 4 // nothing was committed: those that bbolt made the file with
	}
	head := make([]byte, pages*k.db.Info().PageSize)
	if _, err := k.file.ReadAt(head, 0); err != nil {
		return err
	}
	if _, err := k.file.WriteAt(head, 0); err != nil {
		return err
	}
	return k.sync()
}
