package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree/store/dirlock"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

// Options adjust a Database. The zero value is what Open uses.
type Options struct {
	// Rules is a rules document, for clients that As makes. It is in force until
	// the file has one of its own. "" denies everything.
	Rules string

	// Data is a data document, which declares what follows from writes. It is put in force
	// when the database is opened, and stays in force. "" leaves that which the file has.
	Data string

	Name string           // of the file in the directory, without its suffix; "" is "default"
	Now  func() time.Time // nil: time.Now
	Log  *slog.Logger     // nil: no log
}

// A Database is a database in this process, and a client of it to whom no rules
// apply.
type Database struct {
	*dogwood.Client
	db  *dsync.Database
	now func() time.Time

	lock *dirlock.Lock // of the directory

	mu      sync.Mutex
	clients map[*transport]*dogwood.Client // that As has made and that are not closed
	closed  bool
}

// Open opens the database in a directory, which is made if there is none. ""
// keeps it in memory.
func Open(dir string) (*Database, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, o Options) (*Database, error) {
	config := dsync.Options{Now: o.Now, Log: o.Log}
	if o.Rules != "" {
		parsed, err := rules.Parse(o.Rules)
		if err != nil {
			return nil, fmt.Errorf("rules: %w", err)
		}
		config.Rules = parsed
	}
	if dir != "" {
		if err := durable.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		name := o.Name
		if name == "" {
			name = "default"
		}
		config.File = filepath.Join(dir, name+".db")
	}
	lock, err := share(dir)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db, err := dsync.Open(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), lock.Release())
	}
	if o.Data != "" {
		if err := setData(context.Background(), db, o.Data); err != nil {
			return nil, errors.Join(err, db.Close(), lock.Release())
		}
	}
	d := &Database{db: db, now: o.Now, lock: lock, clients: make(map[*transport]*dogwood.Client)}
	if d.now == nil {
		d.now = time.Now
	}
	if _, d.Client, err = d.client(dsync.Admin); err != nil {
		return nil, errors.Join(err, db.Close(), lock.Release())
	}
	return d, nil
}

// share locks a directory, in which other programs may have other databases, but
// no server may run.
func share(dir string) (*dirlock.Lock, error) {
	if dir == "" {
		return new(dirlock.Lock), nil
	}
	return dirlock.Shared(dir)
}

// As returns a client of a user, to whom the rules apply: auth is what they see
// as their variable of that name, such as map[string]any{"uid": "ana"}. nil is
// a user that is signed out. A closed client leaves nothing behind, so a server may
// make one for each request. The database closes the remaining ones with itself.
func (d *Database) As(auth map[string]any) (*dogwood.Client, error) {
	var caller dsync.Caller
	if auth != nil {
		text, err := json.Marshal(auth)
		if err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		caller.Auth = rules.NewAuth(string(text))
	}
	if d.isClosed() {
		return nil, dogwood.ErrClosed
	}
	t, c, err := d.client(caller)
	if err != nil {
		return nil, err
	}
	if !d.remember(t, c) { // it was closed meanwhile
		return nil, errors.Join(dogwood.ErrClosed, c.Close())
	}
	return c, nil
}

// client makes a client of a caller. A token is presented for form's sake.
func (d *Database) client(caller dsync.Caller) (*transport, *dogwood.Client, error) {
	t := &transport{db: d.db, caller: caller, now: d.now, closed: d.forget}
	o := dogwood.Options{Token: dogwood.StaticToken("local"), Now: d.now, MinBackoff: time.Millisecond, MaxBackoff: time.Second}
	c, err := dogwood.New(context.Background(), t, o)
	return t, c, err
}

func (d *Database) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// remember notes a client that is to be closed with the database. It reports
// whether the database is still open.
func (d *Database) remember(t *transport, c *dogwood.Client) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.clients[t] = c
	return true
}

// forget is called when a client is closed.
func (d *Database) forget(t *transport) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.clients, t)
}

// SetRules puts rules in force, durably. Listens that they no longer allow end.
func (d *Database) SetRules(ctx context.Context, document string) error {
	parsed, err := rules.Parse(document)
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	return d.db.SetRules(ctx, parsed)
}

// SetData puts a data document in force, durably. An empty "define" ends all definitions.
func (d *Database) SetData(ctx context.Context, document string) error {
	return setData(ctx, d.db, document)
}

func setData(ctx context.Context, db *dsync.Database, document string) error {
	parsed, err := derive.Parse(document)
	if err == nil {
		_, err = db.ChangeData(ctx, versions.DataChange{Document: parsed})
	}
	if err != nil {
		return fmt.Errorf("data document: %w", err)
	}
	return nil
}

// Close closes all clients, finishes what is being written and closes the file.
// Again it does nothing.
func (d *Database) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	clients := append(slices.Collect(maps.Values(d.clients)), d.Client)
	d.mu.Unlock()
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, d.db.Close(), d.lock.Release())...)
}
