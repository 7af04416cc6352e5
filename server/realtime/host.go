package realtime

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
)

// A Host is the server that the connections are a part of.
//
// Its methods may be called by several goroutines at once. They may wait, as
// for a database that is opened.
type Host interface {
	// Namespace returns the name of the database that a request is for. The error is a
	// *NoDatabaseError if the client should not ask again.
	Namespace(r *http.Request) (string, error)

	// Database returns a database, which stays open until leave is called. The error is as
	// that of Namespace.
	Database(ns string) (db *dsync.Database, leave func(), err error)

	// SignIn decides about a credential. The error is a *fault.TokenError.
	SignIn(ns string, c dsync.Credential) (SignedIn, error)

	// TokenError returns what a client is told if err is why its credential is no longer good.
	TokenError(err error) *fault.TokenError

	// TooMany answers a request of an address that has or does too much.
	TooMany(w http.ResponseWriter)

	// Unavailable answers a request that may succeed later.
	Unavailable(w http.ResponseWriter)
}

// A SignedIn is a client that has signed in.
type SignedIn struct {
	Caller     dsync.Caller
	Info       dsync.SignInInfo
	Credential auth.Identity
}

// A NoDatabaseError says that a client cannot have a database, and gives up.
type NoDatabaseError struct {
	Text string // what the client is told
}

// Error implements error.
func (e *NoDatabaseError) Error() string { return e.Text }

// Options are what a Server needs.
type Options struct {
	Host     Host
	Limits   Limits
	Peers    *peer.Table
	Conns    *peer.Conns
	Auth     *auth.Authority
	Metrics  *metrics.Metrics
	Refusals *observe.Refusals
	Log      *slog.Logger
	Now      func() time.Time // of databases, not of timeouts
}

// Limits bound the connections and what each of them can have.
type Limits struct {
	MaxPolls        int   // connections through long polling
	MaxMessageBytes int64 // of the data of one message
	OutboxBytes     int   // that wait for one slow client
	MessageRate     int   // messages of one connection per second
	MessageBurst    int
	Stalled         time.Duration // without any byte of a message that has begun; 0: the constant
	Quiet           time.Duration // without anything from the client, after which a socket is parked; 0: the constant
}
