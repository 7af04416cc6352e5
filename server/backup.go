package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Backups say when the databases of a server are copied, and where to.
//
// A backup counts only when its copy has been checked and has its name durably.
// Old ones are deleted after that and never before, so there are always as many
// good ones as are to be kept, or as many as were made.
//
// Times in names are for people. The order among backups of this process comes
// from the monotonic clock, since a clock that was set back would otherwise
// make the newest ones look old, and they would be deleted.
type Backups struct {
	Dir   string        // made if it does not exist
	Every time.Duration // from one backup of a database to the next
	Keep  int           // backups of each database; older ones are deleted

	// Check verifies a copy before it counts as a backup; nil: dsync.CheckFile,
	// in this process.
	Check func(ctx context.Context, file string) error

	Now func() time.Time // of the names of backups; nil: time.Now

	made map[string]*madeBackups // by database
}

// madeBackups are those of a database that this process has made. The clock may be
// wrong, or be set right: their order is known nonetheless.
type madeBackups struct {
	last  time.Time // by the monotonic clock
	names []string  // of those that are kept, the oldest first
	told  bool      // the log has that there are backups of the future
	apart bool      // and that there are some of another database
}

// BackupStats count what RunBackups did.
type BackupStats struct {
	Done, Failed uint64
	Last         time.Time // when the last good one was begun; zero: none yet
	LastBytes    int64
}

// BackupStats returns what RunBackups did so far.
func (s *Server) BackupStats() (b BackupStats) {
	if stored := s.backups.Load(); stored != nil {
		b = *stored
	}
	return b
}

// countBackup changes what BackupStats returns. Only RunBackups calls it.
func (s *Server) countBackup(change func(b *BackupStats)) {
	b := s.BackupStats()
	change(&b)
	s.backups.Store(&b)
}

// The names of backups are NAMESPACE-TIME.db. Times are in UTC, so they sort.
const backupTime = "20060102T150405Z"

// partSuffix ends the name of a copy that is not complete or not checked.
const partSuffix = ".part"

// backupRetry is how long after a failure it is tried again, unless the next
// backup is due before.
const backupRetry = 10 * time.Minute

// RunBackups backs up all databases until ctx ends or the server shuts down: each o.Every after
// the last backup that it has made, or at first when the newest one in the directory is older
// than that. What fails is logged and tried again. It holds no state that a restart would miss:
// when the next one is due follows from the names in the directory.
func (s *Server) RunBackups(ctx context.Context, o Backups) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	o.made = make(map[string]*madeBackups)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Check == nil {
		o.Check = func(_ context.Context, file string) error { return dsync.CheckFile(file) }
	}
	for {
		next := s.backUpDue(ctx, o)
		wait := time.NewTimer(time.Until(next))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}

// backUpDue makes the backups that are due and returns when there are others.
func (s *Server) backUpDue(ctx context.Context, o Backups) (next time.Time) {
	next = time.Now().Add(o.Every) // for databases that are made until then
	for _, ns := range s.spaces.names() {
		due, err := s.backupDue(ns, o)
		if err == nil && !due.After(time.Now()) {
			err = s.backUp(ctx, ns, o)
			due = time.Now().Add(o.Every)
		}
		if ctx.Err() != nil {
			return next
		}
		if err != nil {
			s.countBackup(func(b *BackupStats) { b.Failed++ })
			s.log.ErrorContext(ctx, "backup failed", "namespace", ns, "dir", o.Dir, "err", err)
			due = time.Now().Add(min(o.Every, backupRetry))
		}
		if due.Before(next) {
			next = due
		}
	}
	return next
}

// backupDue returns when the next backup of a database is.
func (s *Server) backupDue(ns string, o Backups) (time.Time, error) {
	made := o.made[ns]
	if made == nil {
		made = new(madeBackups)
		o.made[ns] = made
	}
	if !made.last.IsZero() {
		return made.last.Add(o.Every), nil
	}
	list, err := o.list(ns, fileSuffix)
	if err != nil {
		return time.Time{}, err
	}
	now := o.Now()
	past, future := splitAt(list, now)
	if len(future) > 0 && !made.told {
		made.told = true
		s.log.Warn("backups have times in the future: the clock was wrong, then or now; backups go on",
			"namespace", ns, "file", future[len(future)-1].name, "count", len(future))
	}
	if len(past) == 0 {
		return time.Time{}, nil
	}
	age := now.Sub(past[len(past)-1].at)
	return time.Now().Add(o.Every - age), nil
}

// splitAt divides backups, which are sorted, by a time.
func splitAt(list []backupFile, now time.Time) (past, future []backupFile) {
	i := slices.IndexFunc(list, func(f backupFile) bool { return f.at.After(now) })
	if i < 0 {
		return list, nil
	}
	return list[:i], list[i:]
}

// A backupFile is one backup in the directory.
type backupFile struct {
	name     string
	at       time.Time
	database uint64 // that it is of, see store.DatabaseOf; known where that counts
}

// list returns the backups of a database whose names end as given, the oldest
// first.
func (o Backups) list(ns, suffix string) (list []backupFile, err error) {
	entries, err := os.ReadDir(o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), suffix)
		stamp, ours := strings.CutPrefix(stem, ns+"-")
		at, err := time.Parse(backupTime, stamp)
		if ok && ours && err == nil {
			list = append(list, backupFile{name: e.Name(), at: at})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.at.Compare(b.at) < 0
	})
	return list, err
}

// backUp makes one backup and deletes those that are one too many.
func (s *Server) backUp(ctx context.Context, ns string, o Backups) error {
	space, err := s.spaces.find(ns)
	var db *dsync.Database
	if err == nil {
		db, err = s.spaces.use(space)
	}
	if errors.Is(err, errDeactivated) || errors.Is(err, errNoNamespace) { // dropped meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer s.spaces.leave(space)
	if err := durable.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	began, at := time.Now(), o.Now()
	file, err := o.newName(ns, at)
	if err != nil {
		return err
	}
	size, err := copyDatabase(ctx, db, file, o.Check)
	if err != nil {
		return err
	}
	made := o.made[ns]
	made.last, made.names = began, append(made.names, filepath.Base(file))
	s.countBackup(func(b *BackupStats) { b.Done, b.Last, b.LastBytes = b.Done+1, at, size })
	s.log.InfoContext(ctx, "backed up", "namespace", ns, "file", file, "bytes", size, "took", time.Since(began))
	apart, err := o.prune(ns, at)
	if err != nil {
		s.log.ErrorContext(ctx, "old backups cannot be deleted", "namespace", ns, "dir", o.Dir, "err", err)
	}
	if apart > 0 && !made.apart {
		made.apart = true
		s.log.WarnContext(ctx, "there are backups of another database of this name: they do not count and are not deleted",
			"namespace", ns, "dir", o.Dir, "count", apart)
	}
	return nil
}

// newName returns the name of a backup, which no other has: not even if the clock
// was set back to where it was before.
func (o Backups) newName(ns string, at time.Time) (string, error) {
	for {
		file := filepath.Join(o.Dir, ns+"-"+at.UTC().Format(backupTime)+fileSuffix)
		if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
			return file, nil
		} else if err != nil {
			return "", err
		}
		at = at.Add(time.Second)
	}
}

// copyDatabase makes a checked copy of a database's file.
//
// The writes go on meanwhile; the copy is of one commit. It is written next to
// its final name, so that the rename stays within one file system.
func copyDatabase(ctx context.Context, db *dsync.Database, file string, check func(context.Context, string) error) (size int64, err error) {
	part := file + partSuffix
	defer os.Remove(part) // is there after a failure only
	f, err := durable.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = db.Backup(cutWriter{ctx, f})
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if err := check(ctx, part); err != nil {
		return 0, fmt.Errorf("check of the copy: %w", err)
	}
	return size, durable.Rename(part, file)
}

// prune deletes backups of a database when as many newer ones are there as are to be
// kept, and what a crash has left of one. It is called after a good one was made. It returns
// how many there are of other databases of the name.
func (o Backups) prune(ns string, now time.Time) (apart int, err error) {
	list, err := o.list(ns, fileSuffix)
	if err != nil {
		return 0, err
	}
	made := o.made[ns]
	same, err := o.ofSame(list, made.names[len(made.names)-1])
	if err != nil {
		return 0, err
	}
	parts, err := o.list(ns, fileSuffix+partSuffix)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, name := range append(o.expired(made, same, now), names(parts)...) {
		errs = append(errs, os.Remove(filepath.Join(o.Dir, name)))
	}
	return len(list) - len(same), errors.Join(errs...)
}

// ofSame returns the backups in a list that are not known to be of another database than the
// given one is. A new database, such as the one that a server makes where a disk is not
// mounted, so does not push out the backups of the one before it.
func (o Backups) ofSame(list []backupFile, name string) (same []backupFile, err error) {
	id, err := store.DatabaseOf(filepath.Join(o.Dir, name))
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if f.database, err = store.DatabaseOf(filepath.Join(o.Dir, f.name)); err != nil {
			f.database = id // perhaps: it cannot be read
		}
		if f.database == id || f.database == 0 {
			same = append(same, f)
		}
	}
	return same, nil
}

// expired returns the backups that are not kept. Those of this process are newer than
// all others, and those of the past come in the order of their times, first those without
// a commit: a database that has had one keeps its id. Of the others, those with times in the
// future, it is not known how old they are: so they are counted apart, until enough newer ones
// were made.
func (o Backups) expired(made *madeBackups, list []backupFile, now time.Time) []string {
	keep := max(o.Keep, 1)
	there := names(list)
	made.names = slices.DeleteFunc(made.names, func(name string) bool { return !slices.Contains(there, name) })
	others := slices.DeleteFunc(list, func(f backupFile) bool { return slices.Contains(made.names, f.name) })
	past, future := splitAt(others, now)
	sort.SliceStable(past, func(i, j int) bool { return past[i].database == 0 && past[j].database != 0 })
	known := append(names(past), made.names...)
	left := max(0, keep-len(made.names))
	old := known[:max(0, len(known)-keep)]
	return append(slices.Clip(old), names(future[:max(0, len(future)-left)])...)
}

func names(list []backupFile) (all []string) {
	for _, f := range list {
		all = append(all, f.name)
	}
	return all
}
