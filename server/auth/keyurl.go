package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/MicahParks/jwkset"
	"golang.org/x/time/rate"
)

// Times of key sets at an address.
const (
	keyRefresh = time.Hour        // between two looks at it
	keyRetry   = 30 * time.Second // between looks for keys that are not known
	keyTimeout = 10 * time.Second // for one answer
)

// A keyURL is a key set at an address. Package jwkset asks for it: every
// keyRefresh, and at once if a token names a key that is not known, but not more
// often than every keyRetry, whatever clients send.
type keyURL struct {
	shown  string // the address, without a password
	log    *slog.Logger
	client *http.Client
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	began  chan struct{} // closed when the first answer has come, good or bad

	known *jwkset.MemoryJWKSet // what the last good answer said

	asking chan struct{}  // holds an element while the address is asked for a key
	remote jwkset.Storage // known, but asks for keys that it does not have; set before began is closed
	limit  *rate.Limiter  // how often it asks; every request counts
}

func newKeyURL(u *url.URL, o Options) *keyURL {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keyURL{
		shown:  u.Redacted(),
		log:    o.Log,
		ctx:    ctx,
		cancel: cancel,
		began:  make(chan struct{}),
		known:  jwkset.NewMemoryStorage(),
		asking: make(chan struct{}, 1),
		limit:  rate.NewLimiter(rate.Every(keyRetry), 1),
	}
	k.client = &http.Client{Transport: keyTransport{o.Transport, k.limit}, CheckRedirect: safeRedirect}
	go func() { // because it lasts until the first answer
		defer close(k.began)
		k.begin(u.String())
	}()
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

// begin asks for the key set, and has it asked for from then on.
func (k *keyURL) begin(address string) {
	store, err := jwkset.NewStorageFromHTTP(address, jwkset.HTTPClientStorageOptions{
		Client:                    k.client,
		Ctx:                       k.ctx,
		HTTPTimeout:               keyTimeout,
		NoErrorReturnFirstHTTPReq: true,
		RefreshErrorHandler:       k.failed,
		RefreshInterval:           keyRefresh,
		Storage:                   k.known,
	})
	if err == nil {
		k.remote, err = jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
			HTTPURLs:          map[string]jwkset.Storage{address: store},
			RateLimitWaitMax:  keyTimeout, // also bounds the answer
			RefreshUnknownKID: k.limit,
		})
	}
	if err != nil {
		k.remote = k.known
		k.failed(k.ctx, err)
	}
}

// failed is called when keys could not be had.
func (k *keyURL) failed(_ context.Context, err error) {
	if k.ctx.Err() != nil {
		return
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err // without the address, which may have a password
	}
	k.log.Warn("the keys of tokens cannot be had; those known before stay in use", "url", k.shown, "err", err)
}

// close ends the looks at the address.
func (k *keyURL) close() {
	k.cancel()
	<-k.began
	k.asking <- struct{}{} // the caller may have given up
	<-k.asking
	k.client.CloseIdleConnections()
}

func (k *keyURL) find(t token) (any, bool) {
	<-k.began
	key, err := lookup(k.ctx, k.known, t)
	if errors.Is(err, jwkset.ErrKeyNotFound) {
		key, err = k.ask(t)
	}
	return key, err == nil
}

// ask is lookup in a key set that is fetched now, if the address may be asked again. Callers
// that come in the meantime wait for the same answer.
func (k *keyURL) ask(t token) (any, error) {
	select {
	case k.asking <- struct{}{}:
		defer func() { <-k.asking }()
	case <-k.ctx.Done():
		return nil, k.ctx.Err()
	}
	if k.limit.Tokens() < 1 {
		return lookup(k.ctx, k.known, t)
	}
	return lookup(k.ctx, k.remote, t)
}

// A keyTransport passes on, of an answer of bounded size, only the keys that
// parseKeySet accepts: a key that jwkset cannot read would make it refuse the whole
// set, or worse. It also tells limit of requests.
type keyTransport struct {
	next  http.RoundTripper // nil: http.DefaultTransport
	limit *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (k keyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	k.limit.Allow()
	resp, err := k.transport().RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	src, err := readKeySet(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(src))
	resp.ContentLength = int64(len(src))
	return resp, nil
}

// readKeySet returns what is accepted of a key set.
func readKeySet(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	src, err := io.ReadAll(io.LimitReader(body, maxKeySetBytes+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxKeySetBytes {
		return nil, fmt.Errorf("larger than %d bytes", maxKeySetBytes)
	}
	set, err := parseKeySet(src)
	if err != nil {
		return nil, err
	}
	return formatKeySet(set)
}

// CloseIdleConnections is called by http.Client.
func (k keyTransport) CloseIdleConnections() {
	(&http.Client{Transport: k.transport()}).CloseIdleConnections()
}

func (k keyTransport) transport() http.RoundTripper {
	if k.next == nil {
		return http.DefaultTransport
	}
	return k.next
}
