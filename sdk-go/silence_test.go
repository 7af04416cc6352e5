package dogwood_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/server"
)

// An address without a scheme is refused with the one that was probably meant.
func TestAddressHint(t *testing.T) {
	for address, meant := range map[string]string{
		"localhost:9000":         "http://localhost:9000",
		"127.0.0.1:9000?ns=shop": "http://127.0.0.1:9000?ns=shop",
		"shop.example.org":       "https://shop.example.org",
		"ftp://shop.example.org": "https://shop.example.org",
	} {
		_, err := dogwood.Dial(t.Context(), address, dogwood.Options{})
		if !errors.Is(err, dogwood.ErrInvalid) || !strings.HasSuffix(err.Error(), "did you mean "+meant+"?") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Errors of TLS about a wrong scheme or a certificate become a sentence with what to do,
// for connections and for reads over REST.
func TestWrongScheme(t *testing.T) {
	nothing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUpgradeRequired) })
	plain, secure := httptest.NewServer(nothing), httptest.NewUnstartedServer(nothing)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of failed handshakes
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	atPlain, atSecure := plain.Listener.Addr().String(), secure.Listener.Addr().String()
	for address, hint := range map[string]string{
		"https://" + atPlain:  atPlain + " does not speak TLS; use http://" + atPlain,
		"http://" + atSecure:  atSecure + " speaks TLS; use https://" + atSecure,
		"https://" + atSecure: "; pass the authority that signed it in Options.TLS",
	} {
		_, err := dogwood.Dial(t.Context(), address, dogwood.Options{})
		if !errors.Is(err, dogwood.ErrUnavailable) || !strings.HasSuffix(err.Error(), hint) {
			t.Errorf("Dial %s: %v, want %s", address, err, hint)
		}
		c, err := dogwood.Dial(t.Context(), address, dogwood.Options{Lazy: true})
		want(t, err)
		for _, err = range c.Ref("a").Children(t.Context()) {
			break
		}
		if !errors.Is(err, dogwood.ErrUnavailable) || !strings.HasSuffix(err.Error(), hint) {
			t.Errorf("read %s: %v, want %s", address, err, hint)
		}
		c.Close()
	}
}

// A database that the server does not have is named in the error of whatever waits.
func TestNoDatabase(t *testing.T) {
	s, err := server.New(server.Options{Namespaces: []string{"real"}})
	want(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	want(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := result(func() error { return s.Serve(ctx, l) })
	t.Cleanup(func() {
		stop()
		want(t, <-ended)
	})
	address := "http://" + l.Addr().String() + "?ns=shop"
	check := func(what string, err error) {
		t.Helper()
		text := `is there a database "shop" on `
		if !errors.Is(err, dogwood.ErrNoDatabase) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "Firebase") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = dogwood.Dial(t.Context(), address, quick)
	check("dial", err)
	if !errors.Is(err, dogwood.ErrShutdown) {
		t.Errorf("dial: %v, want ErrShutdown, too", err)
	}
	o := quick
	o.Lazy = true
	c := dial(t, address, o)
	check("set", c.Ref("a").Set(t.Context(), 1))
	check("get", c.Ref("a").Get(t.Context(), new(int)))
	check("listen", pull(t, c.Ref("a").Values(t.Context())).fails())
	check("keys", pull(t, dial(t, address, o).Ref("a").Keys(t.Context())).fails())
}

// nowhere is a transport to a server that does not answer.
type nowhere struct {
	dogwood.Transport
	attempts []time.Time
	hang     bool
	failure  error // nil: ErrUnavailable
}

func (n *nowhere) Connect(ctx context.Context, _ dogwood.Handshake) (dogwood.Conn, error) {
	n.attempts = append(n.attempts, time.Now())
	if n.hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, cmp.Or(n.failure, dogwood.ErrUnavailable)
}

// logText is what a log has written so far.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Operations that time out on a port without a server say that it refuses connections.
func TestTimeoutNamesCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fmt.Errorf("%w: %w", dogwood.ErrUnavailable, syscall.ECONNREFUSED)
		c, err := dogwood.New(t.Context(), &nowhere{failure: refused}, dogwood.Options{Lazy: true, MaxPending: 1})
		want(t, err)
		ref := c.Ref("a")
		check := func(op string, f func(ctx context.Context) error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			err := f(ctx)
			text := op + " /a: context deadline exceeded, without a connection: connect: the server is not available: connection refused"
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, syscall.ECONNREFUSED) || err.Error() != text {
				t.Errorf("%s: %v, want %s", op, err, text)
			}
		}
		set := func(ctx context.Context) error { return ref.Set(ctx, 1) }
		check("set", set)
		waiting := result(func() error { return c.Ref("b").Set(t.Context(), 0) })
		synctest.Wait()
		check("set", set) // which waits for its turn
		check("get", func(ctx context.Context) error { return ref.Get(ctx, new(int)) })
		check("listen", func(ctx context.Context) error { return pull(t, ref.Values(ctx)).fails() })
		c.GoOffline()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := set(ctx); err == nil || err.Error() != "set /a: context canceled" {
			t.Errorf("offline: %v", err)
		}
		want(t, c.Close())
		if err := <-waiting; !errors.Is(err, dogwood.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// A host that accepts connections and says nothing does not delay Dial or Close.
func TestSilentHost(t *testing.T) {
	for _, scheme := range []string{"http://", "https://"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		want(t, err)
		accepted := make(chan net.Conn)
		go func() {
			defer close(accepted)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 1)) // then the handshake has begun
				accepted <- c
			}
		}()
		address := scheme + l.Addr().String()

		ctx, cancel := context.WithCancel(t.Context())
		dialed := result(func() error {
			_, err := dogwood.Dial(ctx, address, dogwood.Options{})
			return err
		})
		c := <-accepted
		cancel()
		returns(t, "Dial", dialed, context.Canceled)
		want(t, c.Close())

		lazy, err := dogwood.Dial(t.Context(), address, dogwood.Options{Lazy: true})
		want(t, err)
		c = <-accepted
		returns(t, "Close", result(lazy.Close), nil)
		want(t, c.Close())
		want(t, l.Close())
		<-accepted
	}
}

// returns expects that something returns with an error, sooner than a handshake may take.
func returns(t *testing.T, what string, done <-chan error, want error) {
	t.Helper()
	select {
	case err := <-done:
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not return", what)
	}
}

// There is one warning after five seconds, also while an attempt is under way.
func TestLateWarning(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var text logText
			o := dogwood.Options{Lazy: true, Log: slog.New(slog.NewTextHandler(&text, nil))}
			c, err := dogwood.New(t.Context(), &nowhere{hang: hang}, o)
			want(t, err)
			time.Sleep(4900 * time.Millisecond)
			synctest.Wait()
			before := text.String()
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			want(t, c.Close())
			if n := strings.Count(text.String(), "no connection yet"); before != "" || n != 1 {
				t.Errorf("hang %t: %q, then %d warnings", hang, before, n)
			}
		})
	}
}

// A wait is at most half of the outage so far and MinBackoff.
func TestBackoffFollowsOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &nowhere{}
		c, err := dogwood.New(t.Context(), n, dogwood.Options{Lazy: true})
		want(t, err)
		time.Sleep(10 * time.Minute)
		want(t, c.Close())
		for i, at := range n.attempts[1:] {
			before := n.attempts[i]
			longest := min(time.Second+before.Sub(n.attempts[0])/2, 30*time.Second)
			if wait := at.Sub(before); wait > longest || wait < longest/2 {
				t.Errorf("wait %d of %v, want %v to %v", i, wait, longest/2, longest)
			}
		}
	})
}
