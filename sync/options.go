package sync

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Options adjust a database. The zero value is a database in memory that
// denies everything.
type Options struct {
	File     string           // bbolt file; "" keeps the database in memory
	Rules    *rules.Ruleset   // in force until SetRules; nil: rules.Locked()
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: no log
	MaxRead  int64            // bytes of one read or view; 0: DefaultMaxRead
	MaxQueue int64            // bytes of writes that wait; 0: DefaultMaxQueue
	Windows  int              // weight of the different queries at one path; 0: 10,000; MaxPathWindows at most
	Sample   func() tree.Node // content of a database that is new; nil: empty
	Store    store.Options

	// ScrubEvery is the time between two scrubs of the file; 0: DefaultScrubEvery,
	// negative: never.
	ScrubEvery time.Duration

	// Short returns why writes that store something are refused now, nil if they are not. It
	// is asked for each of them, so it must not block. It may be nil.
	Short func() *durable.ShortError

	Observer access.Observer // of decisions of the rules; nil: none

	// Unindexed is told each one-shot query that is answered without an index because no
	// rules were given, and that rules would refuse. It must not block. It may be nil.
	Unindexed func(*fault.NoIndexError)

	// Revoked reports whether a credential was revoked, by its SignInInfo.Proof. It is asked when
	// what a session left for its disconnect is to be carried out. An error says that this is
	// not known now. It may block, and it may be nil.
	Revoked func(proof string) (bool, error)

	TellRules bool // whoever explains an operation is told which rule decided
	Change    Log  // where commits are appended before they take effect; nil: nowhere else

	batchTime time.Duration // of the committer, for tests; 0: minBatchTime
}

// Defaults and bounds of Options.
const (
	DefaultMaxRead  = fault.MostRead // REST §11
	DefaultMaxQueue = 64 << 20
	MaxPathWindows  = audience.MaxPathWindows // the most that Options.Windows may be
)

func (o Options) withDefaults() Options {
	if o.Rules == nil {
		o.Rules = rules.Locked()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.MaxRead == 0 {
		o.MaxRead = DefaultMaxRead
	}
	if o.MaxQueue == 0 {
		o.MaxQueue = DefaultMaxQueue
	}
	o.Windows = min(o.Windows, MaxPathWindows)
	if o.Change == nil {
		o.Change = localLog{}
	}
	if o.batchTime == 0 {
		o.batchTime = minBatchTime
	}
	if o.ScrubEvery == 0 {
		o.ScrubEvery = DefaultScrubEvery
	}
	return o
}

// DefaultScrubEvery is the time from the end of a scrub to the next one.
const DefaultScrubEvery = 24 * time.Hour

// A Log orders the commits of databases. The committer appends every commit to
// it before the commit takes effect, so a log that several machines share
// decides which of them leads a database: an append with the wrong previous
// revision is refused. With the local log the commit of the file is the log.
//
// It is not the write-ahead log of the file. That one belongs to the store and
// makes a commit durable on this machine. This one decides whether the commit
// may be made at all.
type Log interface {
	// Append adds the entries of the commit that follows revision prev, in the form of
	// package entry, and returns the commit's revision, which is prev+1. It must not keep
	// the entries. If the last of them says that there are more, what follows has the same
	// prev.
	Append(ctx context.Context, db string, prev uint64, entries []byte) (uint64, error)
}

// localLog is the log of a single machine. It does no I/O: the commit that
// follows is durable by itself.
type localLog struct{}

func (localLog) Append(_ context.Context, _ string, prev uint64, _ []byte) (uint64, error) {
	return prev + 1, nil
}

// Settings are texts by name that the layer above keeps with a database. A map
// that is in use is never changed.
type settings map[string]string

// Subjects of operations, and their results.
type (
	Caller  = access.Caller // on whose behalf an operation runs
	Read    = access.Read   // what is to be read
	Listing = store.Listing // what a shallow read shows: a leaf's value, or an object's keys; neither if there is no node
	KeyList = store.KeyList // the keys of a Listing
)

// Admin is the caller that the rules do not apply to.
var Admin = Caller{Admin: true}
