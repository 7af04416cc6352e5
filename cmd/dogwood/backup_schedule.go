package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dogwooddb/dogwood/server"
)

// backupFlags have a server back up its databases by itself.
type backupFlags struct {
	BackupDir   string        `group:"Backups" help:"Directory for backups of all databases, better on another disk. Without it, none are made." type:"path" placeholder:"DIR"`
	BackupEvery time.Duration `group:"Backups" help:"Time from one backup of a database to the next." default:"24h" placeholder:"TIME"`
	BackupKeep  int           `group:"Backups" help:"How many backups of each database to keep." default:"7" placeholder:"N"`
}

// minBackupEvery keeps a slip of the pen from filling the disk.
const minBackupEvery = time.Minute

// schedule returns what makes the backups, nil if none were asked for.
func (f *backupFlags) schedule(e *env) (func(context.Context, *server.Server), error) {
	switch {
	case f.BackupDir == "":
		return nil, nil
	case f.BackupEvery < minBackupEvery:
		return nil, fmt.Errorf("--backup-every %s: at least %s", f.BackupEvery, minBackupEvery)
	case f.BackupKeep < 1:
		return nil, errors.New("--backup-keep must be at least 1")
	}
	if err := writable(f.BackupDir); err != nil {
		return nil, fmt.Errorf("--backup-dir: %w", err)
	}
	o := server.Backups{
		Dir:   f.BackupDir,
		Every: f.BackupEvery,
		Keep:  f.BackupKeep,
		Check: func(ctx context.Context, file string) error {
			return checkCopy(&env{ctx, e.stdin, e.stdout, e.stderr}, file) // apart, for its memory
		},
	}
	return func(ctx context.Context, s *server.Server) { s.RunBackups(ctx, o) }, nil
}

// writable makes a directory if need be and says whether files can be made in
// it, now and not in the night.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe := filepath.Join(dir, ".dogwood-probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return err
	}
	return os.Remove(probe)
}
