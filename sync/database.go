package sync

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/fingerprint"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
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
	Sample   func() tree.Node // content of a database that is new; nil: empty
	Store    store.Options

	// ScrubEvery is the time between two scrubs of the file; 0: DefaultScrubEvery,
	// negative: never.
	ScrubEvery time.Duration

	Observer access.Observer // of what the rules decide; nil: nobody

	// Unindexed is told each one-shot query that is answered without an index because no
	// rules were given, and that rules would refuse. It must not block. It may be nil.
	Unindexed func(*fault.NoIndexError)

	TellRules bool // whoever explains an operation is told which rule decided
	Change    Log  // where commits are appended before they take effect; nil: nowhere else
}

// Defaults of Options.
const (
	DefaultMaxRead  = 256 << 20 // REST §11
	DefaultMaxQueue = 64 << 20
)

// A Database is one tree with its rules and listeners, the only door to both.
// Its methods may be called by several goroutines at once. Its parts have their own state:
// the audience has the lock, and the committer's state belongs to its goroutine.
type Database struct {
	store    *store.Store
	options  Options
	log      *slog.Logger
	pushIDs  tree.PushIDs
	rules    atomic.Pointer[rules.Ruleset]
	settings atomic.Pointer[settings]
	queue    *queue.Queue[task, *quota.Quota]
	closed   atomic.Bool // Close has begun
	stats    counters

	access   access.Access
	watchers trace.Watchers
	audience *audience.Audience
	hashes   fingerprint.Cache // the lock of the audience guards it

	writer
	committer
	scrubber
}

// Open opens the database and starts its committer. Operations that sessions of
// an earlier run left for their disconnect are carried out before it returns. If there is
// no room for that on the disk, the database is read meanwhile, and they are carried out
// before the first write.
func Open(o Options) (*Database, error) {
	o = o.withDefaults()
	damage := &damageLog{log: o.Log, file: o.File, now: o.Now}
	if o.Store.OnDamage == nil {
		o.Store.OnDamage = damage.note
	}
	s, err := store.Open(o.File, o.Store)
	if err != nil {
		return nil, openError(err)
	}
	d := &Database{
		store:   s,
		options: o,
		log:     o.Log,
		queue:   queue.New[task, *quota.Quota](o.MaxQueue),
		stats:   newCounters(),
	}
	d.scrubber.db, d.watchers.Now = d, o.Now
	d.access.Now, d.access.Observer, d.access.Unindexed, d.access.TellRules = o.Now, o.Observer, o.Unindexed, o.TellRules
	d.access.Failed = func(p tree.Path, err error) {
		d.log.Error("a decision could not be explained", "database", d.store.String(), "path", p, "err", err)
	}
	d.writer = writer{db: d, readers: outbox.NewReaders().All(), large: newLargeTurns()}
	d.audience = audience.New(&audience.Host{
		Name: s.String(), Log: o.Log, MaxRead: o.MaxRead, Begin: d.begin, Rules: d.Rules, Closed: d.closed.Load,
		Access: &d.access, Watchers: &d.watchers, Sent: &d.stats.sent,
		InTurn: func(q *quota.Quota, cost time.Duration, f func(*audience.Batch) error) error {
			return d.do(context.Background(), &call{quota: q, takes: cost, f: func(b *batch) error { return f(&b.Batch) }})
		},
	})
	d.committer = committer{db: d, done: make(chan struct{}), work: !s.ReadOnly(), batchTime: minBatchTime}
	d.rules.Store(o.Rules)
	late := d.load()
	if late != nil && !store.NoRoom(late) {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s, late), s.Close())
	}
	go d.commitLoop()
	d.startScrubs()
	err = d.runOrphans()
	if err != nil && !store.NoRoom(err) {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s, err), d.Close())
	}
	if late = cmp.Or(late, err); late != nil {
		d.log.Error("the disk has no room: the database is served, and what its start has to write is written when there is some", "database", s.String(), "err", late)
	}
	return d, nil
}

// openError is an error of opening a file for those who ask for its data. One for which
// there is no room may be opened later.
func openError(err error) error {
	if store.NoRoom(err) {
		return fmt.Errorf("%w: %w", fault.ErrUnavailable, err)
	}
	return err
}

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
	if o.Change == nil {
		o.Change = localLog{}
	}
	if o.ScrubEvery == 0 {
		o.ScrubEvery = DefaultScrubEvery
	}
	return o
}

// loadRules reads the rules and settings of the file.
func (d *Database) loadRules(tx *store.Tx) error {
	stored, err := versions.Rules(tx)
	if err != nil {
		return err
	}
	if stored != nil {
		d.rules.Store(stored)
	}
	all, err := readSettings(tx)
	d.settings.Store(&all)
	return err
}

// load reads the rules and settings of the file, and writes what a start has to.
func (d *Database) load() error {
	if err := d.store.View(d.loadRules); err != nil {
		return err
	}
	if d.store.ReadOnly() {
		d.log.Error("the file or its file system is read-only: the database is served, and writes are refused until a restart finds it writable", "database", d.store.String())
		return nil
	}
	return d.writeDue()
}

func indexesOf(r *rules.Ruleset) []store.Index {
	var list []store.Index
	for _, ix := range r.AllIndexes() {
		list = append(list, store.Index{Pattern: ix.Pattern, Order: ix.Order})
	}
	return list
}

// BeginClose refuses new operations, and the queued writes that were not begun: they
// fail with ErrClosed and have no effect. The batch that is being committed and reads that
// are under way go on. BeginClose does not wait. It returns how many writes were queued.
func (d *Database) BeginClose() (refused int) {
	if d.closed.Swap(true) {
		return 0
	}
	d.endScrub()
	left := d.queue.Close(fault.ErrClosed)
	finishAll(left, fault.ErrClosed) // here, since the batch may wait for a disk
	return len(left)
}

// Close does what BeginClose does, waits for the batch that is being committed and for
// reads, and closes the file. What sessions left for their disconnect and was not begun
// stays in the file, and is carried out when it is opened again.
func (d *Database) Close() error {
	d.BeginClose()
	<-d.scrubbed
	<-d.done
	return d.store.Close()
}

// begin begins a read transaction.
func (d *Database) begin() (*store.Tx, error) {
	if d.closed.Load() {
		return nil, fault.ErrClosed
	}
	tx, err := d.store.Begin(false)
	if err != nil && d.closed.Load() {
		return nil, fault.ErrClosed
	}
	return tx, err
}

// snapshot calls f with a read transaction.
func (d *Database) snapshot(f func(*store.Tx) error) error {
	tx, err := d.begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tx)
}

// NextPushID returns a new push id, greater than all before it.
func (d *Database) NextPushID() string { return d.pushIDs.Next(d.options.Now()) }

// Check verifies every invariant of the database's store.
func (d *Database) Check() ([]error, error) { return d.store.Check() }

// A Log orders the commits of databases. The committer appends every commit to
// it before the commit takes effect, so a log that several machines share
// decides which of them leads a database: an append with the wrong previous
// revision is refused. With the local log the commit of the file is the log.
type Log interface {
	// Append adds the record of the commit that follows revision prev and
	// returns the commit's revision, which is greater than prev. It must not keep
	// the record.
	Append(ctx context.Context, db string, prev uint64, record []byte) (uint64, error)
}

// localLog is the log of a single machine. It does no I/O: the commit that
// follows is durable by itself.
type localLog struct{}

func (localLog) Append(_ context.Context, _ string, prev uint64, _ []byte) (uint64, error) {
	return prev + 1, nil
}

const metaSettings = "settings"

// Settings are texts by name that the layer above keeps with a database. A map
// that is in use is never changed.
type settings map[string]string

func readSettings(tx *store.Tx) (settings, error) {
	all := settings{}
	text, err := tx.Meta(metaSettings)
	if err != nil {
		return nil, fmt.Errorf("stored settings: %w", err)
	}
	if text != nil {
		if err := json.Unmarshal(text, &all); err != nil {
			return nil, fmt.Errorf("stored settings: %w", err)
		}
	}
	return all, nil
}

// Setting returns a setting, "" if it was never set. It waits for nobody.
func (d *Database) Setting(name string) string { return (*d.settings.Load())[name] }

// SetSetting sets a setting, durably. There should be few of them, and small
// ones: they are stored as one.
func (d *Database) SetSetting(ctx context.Context, name, value string) error {
	return d.do(ctx, &call{bytes: len(name) + len(value), f: func(b *batch) error {
		old, err := readSettings(b.Tx)
		if err != nil {
			return fault.Broken(err)
		}
		all := maps.Clone(old)
		all[name] = value
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		b.dirty = true
		b.Committed = append(b.Committed, func() { b.db.settings.Store(&all) })
		return fault.Broken(b.Tx.SetMeta(metaSettings, text))
	}})
}
