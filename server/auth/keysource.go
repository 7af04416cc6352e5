package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// A keySource is where a key set comes from.
type keySource interface {
	// find returns a key, after looking again if it is not known.
	find(kid, alg string) (any, bool)
	close()
}

// newKeySource returns the key set at an address or in a file. A file must be
// there and be in order; an address is asked in the background, and again and
// again.
func newKeySource(place string, o Options) (keySource, error) {
	u, err := url.Parse(place)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		if !safeURL(u) {
			return nil, fmt.Errorf("%s: keys must come over https", u.Redacted())
		}
		return newKeyURL(u, o), nil
	}
	f := &keyFile{file: place, log: o.Log}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// safeURL reports whether nobody on the way can change what an address answers.
func safeURL(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// A keyFile is a key set in a file, which is read again when it has changed.
type keyFile struct {
	file string
	log  *slog.Logger

	mu   sync.Mutex
	seen os.FileInfo
	keys keySet
}

func (f *keyFile) find(kid, alg string) (any, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(); err != nil {
		f.log.Warn("the keys of tokens cannot be read; those known before stay in use", "err", err)
	}
	return f.keys.find(kid, alg)
}

// load reads the file if it is not the one that was read last. What is wrong
// with a file is said once.
func (f *keyFile) load() error {
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
	f.keys = keys
	return nil
}

func (f *keyFile) close() {}

// Times of key sets at an address.
const (
	keyRefresh = time.Hour        // between two looks at it
	keyRetry   = 30 * time.Second // after a failure, and between looks for keys that are not known
	keyTimeout = 10 * time.Second // for one answer
)

// A keyURL is a key set at an address. A goroutine asks for it: every
// keyRefresh, and at once if a token names a key that is not known, but not
// more often than every keyRetry, whatever clients send.
type keyURL struct {
	url    string
	shown  string // url, without a password
	log    *slog.Logger
	client *http.Client
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
	wanted chan struct{} // holds an element if somebody misses a key

	mu    sync.Mutex
	keys  keySet
	last  time.Time     // when the last answer came, good or bad
	fresh chan struct{} // closed when the next answer has come
}

func newKeyURL(u *url.URL, o Options) *keyURL {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keyURL{
		url:    u.String(),
		shown:  u.Redacted(),
		log:    o.Log,
		client: &http.Client{Transport: o.Transport, Timeout: keyTimeout, CheckRedirect: safeRedirect},
		cancel: cancel,
		done:   make(chan struct{}),
		wanted: make(chan struct{}, 1),
		fresh:  make(chan struct{}),
	}
	go k.run(ctx)
	return k
}

func safeRedirect(r *http.Request, via []*http.Request) error {
	if !safeURL(r.URL) {
		return errors.New("redirected away from https")
	}
	if len(via) > 5 {
		return errors.New("too many redirects")
	}
	return nil
}

func (k *keyURL) close() {
	k.cancel()
	<-k.done
	k.client.CloseIdleConnections()
}

func (k *keyURL) run(ctx context.Context) {
	defer close(k.done)
	for ctx.Err() == nil {
		wait := keyRefresh
		keys, err := k.fetch(ctx)
		if err != nil && ctx.Err() == nil {
			k.log.Warn("the keys of tokens cannot be had; those known before stay in use", "url", k.shown, "err", err)
			wait = keyRetry
		}
		k.publish(keys)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		case <-k.wanted:
		}
	}
	k.publish(nil) // nobody waits any longer
}

func (k *keyURL) publish(keys keySet) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if keys != nil {
		k.keys = keys
	}
	k.last = time.Now()
	close(k.fresh)
	k.fresh = make(chan struct{})
	select {
	case <-k.wanted: // what was missed before is there now, or is not to be had
	default:
	}
}

func (k *keyURL) fetch(ctx context.Context) (keySet, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(r)
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return nil, e.Err // without the address, which may have a password
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	src, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySetBytes+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, errors.New(resp.Status)
	case len(src) > maxKeySetBytes:
		return nil, fmt.Errorf("larger than %d bytes", maxKeySetBytes)
	}
	return parseKeySet(src)
}

func (k *keyURL) find(kid, alg string) (any, bool) {
	key, ok, next := k.look(kid, alg)
	if ok || next == nil {
		return key, ok
	}
	select {
	case <-next:
	case <-k.done:
	}
	key, ok, _ = k.look(kid, alg)
	return key, ok
}

// look returns a key that is known. If it is not, but another look may help,
// next is closed after that.
func (k *keyURL) look(kid, alg string) (key any, ok bool, next <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key, ok := k.keys.find(kid, alg); ok {
		return key, true, nil
	}
	if _, known := k.keys[kid]; known || !k.last.IsZero() && time.Since(k.last) < keyRetry {
		return nil, false, nil
	}
	select {
	case k.wanted <- struct{}{}:
	default:
	}
	return nil, false, k.fresh
}
