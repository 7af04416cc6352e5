package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/checks"
	"github.com/dogwooddb/dogwood/server"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// backupFlags have a server back up its databases by itself.
type backupFlags struct {
	BackupDir   string         `group:"Backups" help:"Directory for backups of all databases, better on another disk. Without it, none are made." type:"path" placeholder:"DIR"`
	BackupEvery *time.Duration `group:"Backups" help:"Time from one backup of a database to the next, 24h if it is not given; at least 1m." placeholder:"TIME"`
	BackupKeep  *int           `group:"Backups" help:"How many backups of each database to keep, 7 if it is not given." placeholder:"N"`

	dirLock *dirlock.Lock // of BackupDir; nil: it is not locked
}

// backupLock is the file by which one server makes backups in a directory. It is not the
// lock of the directory, which commands take that check the backups.
const backupLock = "dogwood-backups.lock"

// minBackupEvery keeps a misspelt time from filling the disk.
const minBackupEvery = time.Minute

// schedule returns what makes the backups of a data directory, nil if none were asked for.
func (f *backupFlags) schedule(data string, log *slog.Logger) (func(context.Context, *server.Server), error) {
	every, keep := orGiven(24*time.Hour, f.BackupEvery), orGiven(7, f.BackupKeep)
	switch {
	case f.BackupDir == "" && (f.BackupEvery != nil || f.BackupKeep != nil):
		return nil, errors.New("--backup-every and --backup-keep need --backup-dir; without it, no backups are made")
	case f.BackupDir == "":
		return nil, nil
	case every < minBackupEvery:
		return nil, fmt.Errorf("--backup-every %s: at least %s", every, minBackupEvery)
	case keep < 1:
		return nil, errors.New("--backup-keep must be at least 1")
	case isWithin(f.BackupDir, data):
		return nil, fmt.Errorf("--backup-dir %s: it is in the data directory %s; choose a directory elsewhere, better on another disk", f.BackupDir, data)
	}
	if err := f.prepare(data, log); err != nil {
		return nil, err
	}
	o := server.Backups{
		Dir:   f.BackupDir,
		Every: every,
		Keep:  keep,
		Check: func(ctx context.Context, file string) error {
			return checks.Copy(ctx, file) // in its own process, for its memory
		},
	}
	return func(ctx context.Context, s *server.Server) { s.RunBackups(ctx, o) }, nil
}

// prepare makes the directory of backups and locks it until leaveBackups is called.
func (f *backupFlags) prepare(data string, log *slog.Logger) error {
	parent := filepath.Dir(f.BackupDir)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		log.Warn("the directory of backups has no parent yet, so it is made: a disk that is not mounted, or a misspelt path?", "dir", f.BackupDir, "parent", parent)
	}
	switch err := writable(f.BackupDir); {
	case durable.NoRoom(err): // there may be when the next one is due
		log.Error(durable.NoRoomFor("backup", err), "dir", f.BackupDir, "err", err)
		return nil
	case err != nil:
		return fmt.Errorf("--backup-dir: %w", err)
	}
	// Backups of two servers have the same names, and each would delete those of the other.
	lock, err := dirlock.SoleFile(filepath.Join(f.BackupDir, backupLock), "a server that backs up "+data)
	held := (*dirlock.HeldError)(nil)
	switch {
	case errors.As(err, &held):
		return fmt.Errorf("--backup-dir %s: in use by %s; give each server a directory of its own", f.BackupDir, held.Holder())
	case err != nil:
		log.Warn("the directory of backups cannot be locked: see that no other server makes backups there", "dir", f.BackupDir, "err", err)
	}
	f.dirLock = lock
	return nil
}

// leaveBackups has the directory of backups free for another server.
func (f *backupFlags) leaveBackups() {
	if f.dirLock != nil {
		_ = f.dirLock.Release() // the end of the process releases it, too
	}
}

// orGiven returns what was given, or else what holds without it.
func orGiven[T any](otherwise T, given *T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// isWithin reports whether a path is that of a directory, or below it.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(realPath(dir), realPath(path))
	return err == nil && filepath.IsLocal(rel)
}

// realPath returns a path without symbolic links. Its end need not exist.
func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if dir := filepath.Dir(path); err != nil && dir != path {
		return filepath.Join(realPath(dir), filepath.Base(path))
	}
	return cmp.Or(real, path)
}

// writable creates a directory if necessary and returns an error if no files can be created
// in it. So the error comes at the start and not at the first backup.
func writable(dir string) error {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe := filepath.Join(dir, ".dogwood-probe")
	err := os.WriteFile(probe, []byte("probe"), 0o600)
	if gone := os.Remove(probe); err == nil {
		err = gone
	}
	return err
}
