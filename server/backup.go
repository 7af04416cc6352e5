package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Backups say when the databases of a server are copied, and where to.
type Backups struct {
	Dir   string        // made if it does not exist
	Every time.Duration // from one backup of a database to the next
	Keep  int           // backups of each database; older ones are deleted

	// Check verifies a copy before it counts as a backup; nil: dsync.CheckFile,
	// in this process.
	Check func(ctx context.Context, file string) error
}

// BackupStats count what RunBackups did.
type BackupStats struct {
	Done, Failed uint64
	Last         time.Time // when the last good one was begun; zero: none yet
	LastBytes    int64
}

// BackupStats returns what RunBackups did so far.
func (s *Server) BackupStats() BackupStats {
	s.backups.mu.Lock()
	defer s.backups.mu.Unlock()
	return s.backups.BackupStats
}

// The names of backups are NAMESPACE-TIME.db. Times are in UTC, so they sort.
const backupTime = "20060102T150405Z"

// partSuffix ends the name of a copy that is not complete or not checked.
const partSuffix = ".part"

// backupRetry is how long after a failure it is tried again, unless the next
// backup is due before.
const backupRetry = 10 * time.Minute

// RunBackups backs up all databases until ctx ends: each when its last backup in
// the directory is older than o.Every. What fails is logged and tried again.
func (s *Server) RunBackups(ctx context.Context, o Backups) {
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
		due, err := o.due(ns)
		if err == nil && !due.After(time.Now()) {
			err = s.backUp(ctx, ns, o)
			due = time.Now().Add(o.Every)
		}
		if ctx.Err() != nil {
			return next
		}
		if err != nil {
			s.backups.failed()
			s.log.ErrorContext(ctx, "backup failed", "namespace", ns, "dir", o.Dir, "err", err)
			due = time.Now().Add(min(o.Every, backupRetry))
		}
		if due.Before(next) {
			next = due
		}
	}
	return next
}

// due returns when the next backup of a database is.
func (o Backups) due(ns string) (time.Time, error) {
	list, err := o.list(ns, fileSuffix)
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	last := list[len(list)-1].at
	if now := time.Now(); last.After(now) { // the clock was wrong, then or now
		last = now
	}
	return last.Add(o.Every), nil
}

// A backupFile is one backup in the directory.
type backupFile struct {
	name string
	at   time.Time
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
			list = append(list, backupFile{e.Name(), at})
		}
	}
	slices.SortFunc(list, func(a, b backupFile) int { return a.at.Compare(b.at) })
	return list, err
}

// backUp makes one backup and deletes those that are one too many.
func (s *Server) backUp(ctx context.Context, ns string, o Backups) error {
	db, err := s.database(ns)
	if errors.Is(err, errDeactivated) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	began := time.Now()
	file := filepath.Join(o.Dir, ns+"-"+began.UTC().Format(backupTime)+fileSuffix)
	size, err := copyDatabase(ctx, db, file, o.Check)
	if err != nil {
		return err
	}
	s.backups.done(began, size)
	s.log.InfoContext(ctx, "backed up", "namespace", ns, "file", file, "bytes", size, "took", time.Since(began))
	return o.prune(ns)
}

// copyDatabase makes a checked copy of a database's file.
func copyDatabase(ctx context.Context, db *dsync.Database, file string, check func(context.Context, string) error) (size int64, err error) {
	part := file + partSuffix
	defer os.Remove(part) // is there after a failure only
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = db.Backup(f)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if err := check(ctx, part); err != nil {
		return 0, fmt.Errorf("the copy is damaged: %w", err)
	}
	return size, durable.Rename(part, file)
}

// prune deletes the oldest backups of a database beyond those to keep, and what a
// crash has left of one.
func (o Backups) prune(ns string) error {
	list, err := o.list(ns, fileSuffix)
	if err != nil {
		return err
	}
	parts, err := o.list(ns, fileSuffix+partSuffix)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := os.Remove(filepath.Join(o.Dir, part.name)); err != nil {
			return err
		}
	}
	for _, old := range list[:max(0, len(list)-max(o.Keep, 1))] {
		if err := os.Remove(filepath.Join(o.Dir, old.name)); err != nil {
			return err
		}
	}
	return nil
}
