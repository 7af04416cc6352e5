package auth

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/MicahParks/jwkset"
)

// A keyFile is a key set in a file, which is read again when it has changed.
type keyFile struct {
	file string
	log  *slog.Logger
	keys *jwkset.MemoryJWKSet

	mu   sync.Mutex
	seen os.FileInfo
}

func newKeyFile(file string, log *slog.Logger) (*keyFile, error) {
	f := &keyFile{file: file, log: log, keys: jwkset.NewMemoryStorage()}
	return f, f.load()
}

func (f *keyFile) find(t token) (any, bool) {
	if err := f.load(); err != nil {
		f.log.Warn("the keys of tokens cannot be read; those known before stay in use", "err", err)
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

// load reads the file if it is not the one that was read last. What is wrong
// with a file is said once.
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
	f.seen = info
	if info.Size() > maxKeySetBytes {
		return fmt.Errorf("%s: larger than %d bytes", f.file, maxKeySetBytes)
	}
	src, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	keys, err := parseKeySet(src)
	if err != nil {
		return fmt.Errorf("%s: %w", f.file, err)
	}
	return f.keys.KeyReplaceAll(context.Background(), keys)
}

func (f *keyFile) close() {}
