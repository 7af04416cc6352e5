package dogwood

import (
	"crypto/tls"
	"log/slog"
	"time"
)

// Options adjust a Client. The zero value is a client that is signed out.
type Options struct {
	Token TokenSource // nil: signed out

	// Lazy makes Dial return at once: the client connects in the background, and
	// what is asked of it waits.
	Lazy bool

	// MinBackoff and MaxBackoff bound the waits between attempts to connect. Each wait
	// is random, at most MinBackoff and half of the outage so far, and at most MaxBackoff.
	MinBackoff time.Duration // 0: one second
	MaxBackoff time.Duration // 0: thirty seconds

	// MaxPending bounds the operations that the server has not answered. A caller who
	// begins another one waits.
	MaxPending int // 0: 1000

	// MaxQueue bounds the changes that wait for a loop over Values, Events, Changes or Notices. If
	// there are more, or they are large, the loop goes on with the latest.
	MaxQueue int // 0: 64

	// MaxMessage bounds one message of the server that Dial connects to, in bytes: a
	// value, or the view of a listener, as JSON. One beyond it ends the connection,
	// and the read or listen that it was for fails with ErrTooBig; all else goes on
	// when the connection comes back. While a message is taken in, memory holds
	// several times its size. GetTo, Children and Keys, which read in another way,
	// are not bound by it.
	MaxMessage int // 0: 288 MiB, which is more than a server with default limits sends

	TLS *tls.Config // nil: the usual one

	// Log is told of what happens to the connection; nil is no log. Its handler may ask the
	// client for what is known, such as ServerTime, but must not wait for the server:
	// answers are read when it has returned.
	Log *slog.Logger

	// Now is the clock that local times come from; nil is time.Now. It must not wait for the
	// server.
	Now func() time.Time
}

// defaultMaxMessage is room for the largest value that a server reads (REST §11),
// and for the keys and paths of 10,000 places that one answer may name.
const defaultMaxMessage = 256<<20 + 32<<20

func (o Options) withDefaults() Options {
	if o.MinBackoff <= 0 {
		o.MinBackoff = time.Second
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 30 * time.Second
	}
	o.MaxBackoff = max(o.MaxBackoff, o.MinBackoff)
	if o.MaxPending <= 0 {
		o.MaxPending = 1000
	}
	if o.MaxQueue <= 0 {
		o.MaxQueue = 64
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
