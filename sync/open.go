package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogwooddb/dogwood/sync/audience"
	"github.com/dogwooddb/dogwood/sync/damage"
	"github.com/dogwooddb/dogwood/sync/declared"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/outbox"
	"github.com/dogwooddb/dogwood/sync/queue"
	"github.com/dogwooddb/dogwood/sync/quota"
	"github.com/dogwooddb/dogwood/sync/resume"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Open opens the database and starts its committer. Operations that sessions of
// an earlier run left for their disconnect are carried out before it returns. If there is
// no room for that on the disk, the database is read meanwhile, and they are carried out
// before the first write.
//
// The steps: open the file, read rules and settings, declare indexes and the sample if
// there is something to write, start the committer, and carry out what sessions of an
// earlier run left. A disk without room does not stop it, because a server that is full
// must be able to serve reads: what has to be written becomes late (see late.go).
func Open(o Options) (*Database, error) {
	o = o.withDefaults()
	found := damage.NewLog(o.Log, o.File, o.Now)
	if o.Store.OnDamage == nil {
		o.Store.OnDamage = found.Note
	}
	o.Store.Now = o.Now
	s, err := store.Open(o.File, o.Store)
	if err != nil {
		return nil, openError(err)
	}
	c := &core{
		store:   s,
		options: o,
		log:     o.Log,
		queue:   queue.New[task, *quota.Quota](o.MaxQueue),
		stats:   newCounters(),
		work:    !s.ReadOnly(),
	}
	d := &Database{core: c, scrubber: scrubber{db: c}}
	d.watchers.Now = o.Now
	d.access.Now, d.access.Observer, d.access.Unindexed, d.access.TellRules = o.Now, o.Observer, o.Unindexed, o.TellRules
	d.access.Orders = func(p tree.Path, order string) bool { return d.data.Load().Orders(p, order) }
	d.access.Failed = func(p tree.Path, err error) {
		d.log.Error("a decision could not be explained", "database", d.store.String(), "path", p, "err", err)
	}
	d.writer = writer{db: c, readers: outbox.NewReaders().All(), large: quota.NewTurns(largeAtOnce), rooms: quota.NewTurns(1)}
	host := &audience.Host{
		Name: s.String(), Log: o.Log, MaxRead: o.MaxRead, Windows: o.Windows, Begin: d.begin, Rules: d.Rules, Closed: d.closed.Load,
		Access: &d.access, Watchers: &d.watchers, Sent: &d.stats.sent,
		InTurn: func(q *quota.Quota, cost time.Duration, f func(*audience.Batch) error) error {
			return d.do(context.Background(), &call{quota: q, takes: cost, f: func(b *batch) error { return f(&b.Batch) }})
		},
	}
	d.audience = audience.New(host)
	_, local := o.Change.(localLog)
	c.logs = s.Logged() || !local
	d.committer = committer{db: c, done: make(chan struct{}), batchTime: o.batchTime, notes: newNotes(c.logs)}
	keepHistory(d, host)
	d.rules.Store(o.Rules)
	late := d.load()
	if late != nil && !store.NoRoom(late) {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s, late), s.Close())
	}
	go d.commitLoop()
	d.startScrubs()
	err = d.runOrphans()
	if err != nil && !waits(err) {
		return nil, errors.Join(fmt.Errorf("open %s: %w", s, err), d.Close())
	}
	if late = cmp.Or(late, err); store.NoRoom(late) {
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

// loadRules reads the rules, the data document and the settings of the file.
func (d *Database) loadRules(tx *store.Tx) error {
	inForce, err := versions.Rules(tx)
	if err != nil {
		return err
	}
	if inForce != nil {
		d.rules.Store(inForce)
	}
	data, err := declared.Load(tx)
	if err != nil {
		return err
	}
	if data != nil {
		d.data.Store(data)
	}
	expireFrom(d.core, data)
	tellRefused(d.core)
	stored, err := versions.Settings(tx)
	all := settings(stored)
	d.settings.Store(&all)
	return err
}

// tellRefused logs that this version refuses the rules or the data document of the file, which an earlier
// one has accepted. The database is open all the same: with such rules clients may do nothing, and with such a
// document writes to what it may be about are refused, until an administrator replaces them.
func tellRefused(d *core) {
	for i, err := range []error{d.rules.Load().Refused(), d.data.Load().Document().Refused()} {
		if what := []string{"rules", "data document"}[i]; err != nil {
			d.log.Error("this version of Dogwood refuses what is stored: clients are refused until it is replaced, or the version runs that accepted it", "database", d.store.String(), "refused", what, "err", err)
		}
	}
}

// keepHistory lets clients of event streams come back, if there is a log of what they miss.
func keepHistory(d *Database, host *audience.Host) {
	if !d.store.Logged() {
		return
	}
	var revision uint64
	if d.store.View(func(tx *store.Tx) error { revision = tx.Revision(); return nil }) != nil {
		return // what follows tells
	}
	d.audience.Begin(revision)
	host.LogID = d.store.Database()
	host.History = resume.NewHistory(revision, d.notes.run, func(from uint64) (resume.Tail, error) {
		tail, err := d.Tail(from)
		if err != nil {
			return nil, err
		}
		return tail, nil
	})
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

// writeDue carries out a startTask if it has something to do, before the committer begins.
// The error is of store.NoRoom if it is late.
func (d *Database) writeDue() error {
	due, t := false, &startTask{db: d.core}
	err := d.store.View(func(tx *store.Tx) error {
		declared, err := tx.Indexes().Declared(indexesOf(d.rules.Load(), d.data.Load().Indexes()))
		due = !declared || t.wantsSample(tx)
		return err
	})
	if err != nil || !due {
		return err
	}
	d.commit([]task{t})
	return t.err
}
