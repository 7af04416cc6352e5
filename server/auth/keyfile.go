package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/MicahParks/jwkset"
	"golang.org/x/time/rate"
)

// A keyFile is a key set in a file, which is read again when it has changed.
type keyFile struct {
	file string
	log  *slog.Logger
	keys *jwkset.MemoryJWKSet

	unread rate.Sometimes // lines of the log about a file that cannot be read

	mu   sync.Mutex
	seen os.FileInfo // of the file that was read last
}

func newKeyFile(file string, log *slog.Logger) (*keyFile, error) {
	f := &keyFile{file: file, log: log, keys: jwkset.NewMemoryStorage(), unread: rate.Sometimes{Interval: linePause}}
	return f, f.load()
}

func (f *keyFile) find(t token) (any, bool) {
	if err := f.load(); err != nil {
		tell := func() { f.log.Warn("the keys of tokens cannot be read; those known before stay in use", "err", err) }
		if unread := (*fs.PathError)(nil); errors.As(err, &unread) { // by the next token again
			f.unread.Do(tell)
		} else {
			tell()
		}
	}
	key, err := lookup(context.Background(), f.keys, t)
	return key, err == nil
}

// reload reads the file even if it looks like the one that was read last.
func (f *keyFile) reload() error {
	f.mu.Lock()
	f.seen = nil
	f.mu.Unlock()
	return f.load()
}

// load reads the file if it is not the one that was read last. An error in its content is logged
// once. A file that cannot be read is tried again, since a change of its permissions does not show
// in its size and time.
func (f *keyFile) load() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.file)
	if err != nil {
		return err
	}
	if f.seen != nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() {
		return nil
	}
	if info.Size() > maxKeySetBytes {
		f.seen = info
		return fmt.Errorf("%s: larger than %d bytes", f.file, maxKeySetBytes)
	}
	src, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	f.seen = info
	keys, err := parseKeySet(src)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	return f.keys.KeyReplaceAll(context.Background(), keys)
}

func (f *keyFile) close() {}
