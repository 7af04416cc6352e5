package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// Options adjust a Database. The zero value is what Open uses.
type Options struct {
	// Rules is a rules document, for clients that As makes. It is in force until
	// the file has one of its own. "" denies everything.
	Rules string

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

	mu      sync.Mutex
	clients []*dogwood.Client // that As has made
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
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		name := o.Name
		if name == "" {
			name = "default"
		}
		config.File = filepath.Join(dir, name+".db")
	}
	db, err := dsync.Open(config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	d := &Database{db: db, now: o.Now}
	if d.now == nil {
		d.now = time.Now
	}
	if d.Client, err = d.client(dsync.Admin); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

// As returns a client of a user, to whom the rules apply: auth is what they see
// as their variable of that name, such as map[string]any{"uid": "ana"}. nil is
// somebody who is signed out. Close closes the client, too.
func (d *Database) As(auth map[string]any) (*dogwood.Client, error) {
	var caller dsync.Caller
	if auth != nil {
		text, err := json.Marshal(auth)
		if err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		caller.Auth = rules.NewAuth(string(text))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, dogwood.ErrClosed
	}
	c, err := d.client(caller)
	if err != nil {
		return nil, err
	}
	d.clients = append(d.clients, c)
	return c, nil
}

// client makes a client of a caller. A token is presented for form's sake.
func (d *Database) client(caller dsync.Caller) (*dogwood.Client, error) {
	t := &transport{db: d.db, caller: caller, now: d.now}
	o := dogwood.Options{Token: dogwood.StaticToken("local"), Now: d.now, MinBackoff: time.Millisecond, MaxBackoff: time.Second}
	return dogwood.New(context.Background(), t, o)
}

// SetRules puts rules in force, durably. Listens that they no longer allow end.
func (d *Database) SetRules(ctx context.Context, document string) error {
	parsed, err := rules.Parse(document)
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	return d.db.SetRules(ctx, parsed)
}

// Close closes all clients, finishes what is being written and closes the file.
// Again it does nothing.
func (d *Database) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	clients := append(d.clients, d.Client)
	d.clients, d.closed = nil, true
	d.mu.Unlock()
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, d.db.Close())...)
}
