package sync

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/sync/access"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// Bounds of one GetAll.
const (
	MaxLookups    = 1_000  // its entries
	MaxLookupKeys = 10_000 // the keys that all of them find, without those of values
)

// A Lookup is one entry of a GetAll.
type Lookup struct {
	Read    Read           // OneShot or not: an unindexed query is refused
	Shallow bool           // the keys alone; there is no query then
	Each    *tree.Template // if not nil: the values at the places that the keys which are read name
}

// A Found is what one Lookup found, or one of the keys of a Lookup with Each.
type Found struct {
	Err     error     // why this one failed alone: ErrDenied or a *NoIndexError; nil: it did not
	Node    tree.Node // the value
	Listing *Listing  // of a shallow one, in place of Node
	Keys    []string  // of one with Each, in the query's order
	Each    []Found   // one for each of Keys
}

// A Findings is what a GetAll read.
type Findings struct {
	Revision uint64  // of the one state that all of it was read from; 0 if all failed
	Found    []Found // one for each Lookup
	Bytes    int     // about how long all values and keys are together
	Held     int     // of Bytes, what is in memory: a value that is found again is not there twice
	Reads    int     // places that were asked for: entries, and the keys that they found
}

// TooManyLookups returns the error of a GetAll with more than MaxLookups entries.
func TooManyLookups() error {
	return &fault.TooManyError{Request: "a batch get", What: "entries", Max: MaxLookups}
}

// Status returns the status and the text of the realtime protocol for Err.
func (f *Found) Status() (status, text string) { return fault.Status(f.Err) }

// GetAll reads several places in one state of the database. The rules decide about
// each of them; one that is denied does not fail the others. What does fail all
// is a *TooManyError, ErrTooBig for all values together, or the context.
func (d *Database) GetAll(ctx context.Context, lookups []Lookup) (all Findings, err error) {
	if len(lookups) > MaxLookups {
		return all, TooManyLookups()
	}
	err = d.snapshot(func(tx *store.Tx) error {
		tx.Interrupt, tx.Looked = ctx.Err, &tree.Looks{Most: tree.MaxLooked}
		f := finder{db: d, ctx: ctx, tx: tx, rules: d.rules.Load(), bytes: d.options.MaxRead, keys: MaxLookupKeys, values: make(map[place]tree.Node)}
		all = Findings{Revision: tx.Revision(), Found: make([]Found, len(lookups))}
		if len(lookups) > 0 {
			f.hold = lookups[0].Read.Hold
		}
		for i, l := range lookups {
			if all.Found[i], err = f.find(l); err != nil {
				return err
			}
		}
		all.Bytes = int(d.options.MaxRead - f.bytes)
		all.Held = all.Bytes - f.again
		all.Reads = len(lookups) + MaxLookupKeys - f.keys
		if !all.anyAllowed() {
			all.Revision = 0 // how often others write is nobody's business
		}
		return nil
	})
	if errors.Is(err, store.ErrTooBig) || err == fault.ErrTooBig { // of one value, or of all together
		err = &fault.ReadLimitError{Most: d.options.MaxRead}
	}
	if err != nil {
		return Findings{}, err
	}
	return all, nil
}

// anyAllowed reports whether the caller may see anything of what was asked for.
func (f *Findings) anyAllowed() bool {
	return slices.ContainsFunc(f.Found, func(one Found) bool { return one.Err == nil })
}

// A finder carries out the lookups of one GetAll.
//
// It shares one transaction and two budgets, of bytes and of keys, among all
// lookups: otherwise a request of a thousand entries could ask for a thousand
// times the limit of one read. Values that are found twice are read once.
type finder struct {
	db    *Database
	ctx   context.Context
	tx    *store.Tx
	rules *rules.Ruleset
	hold  func(total int64) error // Hold of all reads
	bytes int64                   // that may still be read
	keys  int                     // that may still be found

	values map[place]tree.Node // that were read
	again  int                 // bytes of values that had been read before
}

// A place is what a lookup of a value is about, whoever asks.
type place struct {
	path  tree.Path
	query tree.Query
}

// find carries out one lookup. An error is one of all of them.
func (f *finder) find(l Lookup) (Found, error) {
	l.Read.OneShot = true
	switch {
	case l.Each != nil:
		return f.each(l)
	case l.Shallow:
		return f.list(l.Read)
	}
	return f.value(l.Read)
}

// allowed tells of a read that f made, unless the caller may not make it: then
// that is what was found.
func (f *finder) allowed(r Read, read func(*Found) (bytes int, err error)) (found Found, err error) {
	if err := f.ctx.Err(); err != nil {
		return found, err
	}
	d, bytes := f.db, 0
	d.stats.reads.Add(1)
	began := d.watchers.Begin()
	defer func() { d.reportRead(r, began, bytes, errors.Join(found.Err, err)) }()
	err = d.mayRead(f.ctx, f.rules, f.tx, r)
	if ofOneRead(err) {
		return Found{Err: err}, nil
	}
	if err == nil {
		f.tx.Hold = f.hold // not before, as in Database.view
		bytes, err = read(&found)
		f.tx.Hold = nil
	}
	return found, err
}

// ofOneRead reports whether an error is about one of several reads alone.
func ofOneRead(err error) bool {
	noIndex, large := (*fault.NoIndexError)(nil), (*fault.UnboundedError)(nil)
	return errors.Is(err, fault.ErrDenied) || errors.As(err, &noIndex) || errors.As(err, &large)
}

// spend counts what was read.
func (f *finder) spend(bytes int) error {
	if f.bytes -= int64(bytes); f.bytes <= 0 {
		return fault.ErrTooBig
	}
	return nil
}

// smallValue is up to where values are copied: they may be parts of larger texts,
// which thousands of them would keep in memory.
const smallValue = 4 << 10

func (f *finder) value(r Read) (Found, error) {
	return f.allowed(r, func(found *Found) (size int, err error) {
		found.Node, err = f.read(place{r.Path, r.Query})
		size = len(found.Node.Text())
		if err == nil {
			err = f.spend(size)
		}
		return size, err
	})
}

// read reads a value, unless that was done before.
func (f *finder) read(p place) (tree.Node, error) {
	if n, ok := f.values[p]; ok {
		f.again += len(n.Text())
		return n, nil
	}
	n, err := f.tx.Window(p.path, p.query, f.bytes)
	if err != nil {
		return tree.Empty, err
	}
	if len(n.Text()) <= smallValue {
		n = tree.FromCanonical(strings.Clone(n.Text()))
	}
	f.values[p] = n
	return n, nil
}

func (f *finder) list(r Read) (Found, error) {
	r.KeysOnly = true
	return f.allowed(r, func(found *Found) (int, error) {
		l, err := f.tx.Shallow(r.Path, "", f.keys+1)
		if err != nil {
			return 0, err
		}
		found.Listing = &l
		size := listingBytes(l)
		return size, errors.Join(f.count(l.Keys.Len()), f.spend(size))
	})
}

// count counts keys that were found.
func (f *finder) count(keys int) error {
	if f.keys -= keys; f.keys < 0 {
		return &fault.TooManyError{Request: "a batch get", What: "keys", Max: MaxLookupKeys}
	}
	return nil
}

// each reads the keys that a lookup is about, and the value that each names.
func (f *finder) each(l Lookup) (Found, error) {
	l.Read.KeysOnly = true
	found, err := f.allowed(l.Read, func(found *Found) (size int, err error) {
		found.Keys, err = f.keysOf(l.Read)
		for _, key := range found.Keys {
			size += len(key)
		}
		return size, errors.Join(err, f.spend(size))
	})
	if err != nil || found.Err != nil {
		return found, err
	}
	found.Each = make([]Found, len(found.Keys)) // not nil, which tells it from a value
	for i, key := range found.Keys {
		r := access.Whole(l.Read.Caller, l.Each.Path(key), l.Read.Query.OrderBy != "")
		r.OneShot, r.Realtime = true, l.Read.Realtime
		if found.Each[i], err = f.value(r); err != nil {
			return found, err
		}
	}
	return found, nil
}

// keysOf returns the keys of a query's window in its order, without one all keys
// in theirs. It reads no more of them than there may be.
func (f *finder) keysOf(r Read) ([]string, error) {
	q := r.Query
	if q.IsAll() && !q.NeedsIndex() && r.Plain {
		q.OrderBy = tree.ByKey
	}
	if q.Limit == 0 || q.Limit > f.keys {
		q.Limit = f.keys + 1
	}
	entries, err := f.tx.Query(r.Path, q)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = strings.Clone(e.Key)
	}
	return keys, f.count(len(keys))
}
