package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/dedup"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// Check verifies every invariant of the store in one consistent state: that rows can be read,
// are canonical and within their limits; that every container and blob is reachable exactly
// once, or waits to be reclaimed; that no container is empty, and each has as many children as
// are counted; that the indexes hold what the rows imply; that the checksum of every entry is
// right; that the writers on record agree with their order. For a file it also checks the
// pages; the list of those that are free is of the last commit, so writers wait meanwhile. It
// returns what is wrong, nothing if all is well. With a log, everything is applied to the file
// first, and the state of the file is checked.
func (s *Store) Check() (findings []error, err error) {
	s.cache.taken.Lock()
	defer s.cache.taken.Unlock()
	if s.logged == nil || s.options.ReadOnly {
		err = s.View(func(tx *Tx) error {
			findings = newChecker(tx).run()
			return nil
		})
		return findings, err
	}
	err = s.logged.Settled(func(k kv.Tx) error {
		tx := &Tx{store: s, kv: k}
		if tx.state, err = readState(k); err != nil {
			return err
		}
		findings = newChecker(tx).run()
		return nil
	})
	return findings, err
}

// A checker is Store.Check for the state of a transaction.
//
// It needs memory for each container and index entry, because that nothing is
// referred to twice can only be told by remembering all. So it is for tests and
// for the command, and the server scrubs instead.
//
// Checksums are verified before anything else. With a wrong one, all later
// findings would be consequences of it.
type checker struct {
	tx       *Tx
	findings []error
	seen     map[uint64]bool // containers and blobs
	entries  map[string]bool // index entries that should be there
	dropped  map[uint64]bool // indexes on the reclaim queue
	garbage  map[uint64]bool // containers that wait to be reclaimed, with those below
	ranges   []idRange       // of loads that go on, or wait to be reclaimed
}

func newChecker(tx *Tx) *checker {
	return &checker{
		tx:      tx,
		seen:    make(map[uint64]bool),
		entries: make(map[string]bool),
		dropped: make(map[uint64]bool),
		garbage: make(map[uint64]bool),
	}
}

// run returns what is wrong.
func (c *checker) run() []error {
	c.pages()
	if !c.sums() {
		return c.findings // the rest takes what is read for what was stored
	}
	c.loads()
	c.tree()
	c.reclaimed()
	c.strays()
	c.counts()
	dedup.Of(entries{c.tx}, 0).Check(c.report)
	Kept(c.tx).Check(c.report)
	return c.findings
}

func (c *checker) report(format string, args ...any) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, fmt.Errorf(format, args...))
	}
}

func (c *checker) pages() {
	t, ok := kv.FileOf(c.tx.kv)
	if !ok {
		return
	}
	for err := range t.CheckPages() {
		c.report("page: %w", err)
	}
}

func (c *checker) tree() {
	r, err := c.tx.row(rootKey)
	switch {
	case err != nil:
		c.report("root: %w", err)
	case r.exists():
		c.row(tree.Root, r, true)
	}
}

// loads notes which ids belong to loads that are not linked.
func (c *checker) loads() {
	found, err := loadRecords(c.tx)
	if err != nil {
		c.report("%w", err)
	}
	for _, f := range found {
		c.ranges = append(c.ranges, f.ids...)
	}
	for k := range c.walk(kv.Reclaim, []byte{reclaimRange}) {
		if k[0] != reclaimRange {
			break
		}
		if r, ok := decodeRange(k[1:]); ok {
			c.ranges = append(c.ranges, r)
		} else {
			c.report("reclaim queue: unreadable range %x", k)
		}
	}
	for _, r := range c.ranges {
		if r.to > c.tx.state.nextID {
			c.report("a load has ids up to %d, which were not given out", r.to)
		}
	}
}

// loading reports whether an id belongs to a load that is not linked.
func (c *checker) loading(id uint64) bool {
	return slices.ContainsFunc(c.ranges, func(r idRange) bool { return r.has(id) })
}

// row checks a row and all below it. live tells what can be reached from what
// waits to be reclaimed.
func (c *checker) row(p tree.Path, r row, live bool) {
	if p.Len() > tree.MaxDepth {
		c.report("%s: deeper than %d levels", p, tree.MaxDepth)
		return
	}
	switch r.tag {
	case tagPacked:
		c.packed(p, r.node)
	case tagBlob:
		c.priority(p, r.priority)
		if c.first(p, "blob", r.id, live) {
			c.blob(p, r)
		}
	case tagContainer:
		c.priority(p, r.priority)
		if c.first(p, "container", r.id, live) {
			c.container(p, r.id, live)
		}
	}
}

func (c *checker) first(p tree.Path, what string, id uint64, live bool) bool {
	switch {
	case live && c.loading(id):
		c.report("%s: %s %d belongs to a load that is not linked", p, what, id)
	case c.seen[id]:
		c.report("%s: %s %d is used twice", p, what, id)
		return false
	case id == 0 || id >= c.tx.state.nextID:
		c.report("%s: %s %d has an id that was not given out", p, what, id)
	}
	c.seen[id] = true
	return true
}

func (c *checker) packed(p tree.Path, n tree.Node) {
	if len(n.Text()) > PackLimit {
		c.report("%s: packed row of %d bytes", p, len(n.Text()))
	}
	d, err := tree.Parse(n.Text(), p.Len(), tree.Strict)
	if err != nil {
		c.report("%s: %w", tooDeep(p, gjson.Parse(n.Text())), err)
		return
	}
	if again, ok := d.Node(); !ok || again != n || n.IsEmpty() {
		c.report("%s: packed row is not canonical", p)
	}
}

// tooDeep returns the first path that is too deep in a value at p, or else p. The value may
// be damaged.
func tooDeep(p tree.Path, v gjson.Result) tree.Path {
	at := p
	if p.Len() > tree.MaxDepth || !v.IsObject() {
		return at
	}
	v.ForEach(func(key, child gjson.Result) bool {
		if !strings.HasPrefix(key.Str, ".") { // .value and .priority are no levels
			if below := tooDeep(p.Child(key.Str), child); below.Len() > tree.MaxDepth {
				at = below
			}
		}
		return at == p
	})
	return at
}

func (c *checker) priority(p tree.Path, n tree.Node) {
	_, number := n.NumberValue()
	_, text := n.StringValue()
	if !n.IsEmpty() && !number && !text {
		c.report("%s: priority %s", p, n.JSON())
	}
}

func (c *checker) blob(p tree.Path, r row) {
	if s, err := read(c.tx).blob(r); err != nil {
		c.report("%s: %w", p, err)
	} else if len(s) > tree.MaxStringBytes {
		c.report("%s: string of %d bytes", p, len(s))
	}
}

func (c *checker) container(p tree.Path, id uint64, live bool) {
	indexes, err := c.tx.Indexes().at(p)
	if err != nil {
		c.report("%s: %w", p, err)
		return
	}
	if !live {
		c.garbage[id] = true
	}
	children := int64(0)
	for ch, err := range c.tx.children(id) {
		if err != nil {
			c.report("%s: %w", p, err)
			return
		}
		children++
		if !tree.ValidKey(ch.key) {
			c.report("%s: key %q", p, ch.key)
			continue
		}
		c.row(p.Child(ch.key), ch.row, live)
		if live {
			c.expect(indexes, id, p.Child(ch.key), ch.key)
		}
	}
	if children == 0 && live {
		c.report("%s: container %d is empty", p, id)
	}
	if live {
		c.count(p, id, children)
	}
}

// expect notes the index entries that a child should have and reports those of
// finished indexes that it lacks.
func (c *checker) expect(indexes []definition, id uint64, p tree.Path, key string) {
	for _, ix := range indexes {
		v, err := c.tx.Indexes().indexedValue(ix, p)
		if err != nil {
			c.report("%s: %w", p, err)
			continue
		}
		if !v.ok {
			continue
		}
		k := entryKey(ix.id, id, v.value, key)
		c.entries[string(k)] = true
		if ix.ready && !c.has(kv.Index, k) {
			c.report("%s: missing in the index by %q of %q", p, ix.Order, ix.Pattern)
		}
	}
}

// reclaimed marks what waits to be reclaimed.
func (c *checker) reclaimed() {
	for k := range c.walk(kv.Reclaim, nil) {
		if k[0] == reclaimRange {
			continue // see loads
		}
		if len(k) != 9 {
			c.report("reclaim queue: unreadable entry %x", k)
			continue
		}
		id := binary.BigEndian.Uint64(k[1:])
		switch k[0] {
		case reclaimContainer:
			if c.first(tree.Root, "reclaimed container", id, false) {
				c.container(tree.Root, id, false)
			}
		case reclaimBlob:
			c.first(tree.Root, "reclaimed blob", id, false)
		case reclaimIndex:
			c.dropped[id] = true
		default:
			c.report("reclaim queue: unknown entry %x", k)
		}
	}
}

// strays reports rows, chunks and index entries that nothing refers to. Each
// row, chunk and index entry must have been reached from the root, or belong to
// something in the reclaim queue, or to a load that is on record. Anything else
// would stay in the file for ever.
func (c *checker) strays() {
	c.each(kv.Rows, func(k []byte) {
		if id := binary.BigEndian.Uint64(k); id == 0 && len(k) != 8 || id != 0 && !c.seen[id] && !c.loading(id) {
			c.report("row %x belongs to no container", k)
		}
	})
	c.each(kv.Blobs, func(k []byte) {
		if id := binary.BigEndian.Uint64(k); !c.seen[id] && !c.loading(id) {
			c.report("chunk %x belongs to no blob", k)
		}
	})
	c.each(kv.Index, func(k []byte) {
		switch {
		case len(k) < 12:
			c.report("index entry %x is too short", k)
		case c.entries[string(k)], c.dropped[uint64(binary.BigEndian.Uint32(k))], c.garbage[binary.BigEndian.Uint64(k[4:])], c.loading(binary.BigEndian.Uint64(k[4:])):
		default:
			c.report("index entry %x has no row", k)
		}
	})
}

func (c *checker) each(b kv.Bucket, f func(k []byte)) {
	for k := range c.walk(b, nil) {
		if len(k) < 8 {
			c.report("bucket %c: unreadable key %x", b, k)
			continue
		}
		f(k)
	}
}

// walk yields the entries of a bucket from a key on, and reports damage that ends it.
func (c *checker) walk(b kv.Bucket, from []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		cur := c.tx.kv.Cursor(b)
		for k, v := cur.Seek(from); k != nil; k, v = cur.Next() {
			if !yield(k, v) {
				return
			}
		}
		if err := cur.Err(); err != nil {
			c.report("bucket %c: %w", b, err)
		}
	}
}

// has reports whether there is an entry with the key.
func (c *checker) has(b kv.Bucket, key []byte) bool {
	v, err := c.tx.get(b, key)
	if err != nil {
		c.report("bucket %c: %w", b, err)
	}
	return v != nil || err != nil
}

// counts checks that no number of children is that of something else, or cannot be
// read. Those of live containers are compared when their children are.
func (c *checker) counts() {
	for k, v := range c.walk(kv.Counts, nil) {
		if len(k) != 8 {
			c.report("bucket c: unreadable key %x", k)
			continue
		}
		if id := binary.BigEndian.Uint64(k); !c.seen[id] && !c.loading(id) {
			c.report("a number of children belongs to no container: %d", id)
		}
		if _, _, err := decodeCount(bytes.Clone(v)); err != nil {
			c.report("container %x: %w", k, err)
		}
	}
}

// count compares the number of children that is kept of a container, if one is.
func (c *checker) count(p tree.Path, id uint64, children int64) {
	n, known, err := countsOf(c.tx).kept(id)
	if err == nil && known && n != children {
		c.report("%s: container %d has %d children, %d are counted", p, id, children, n)
	}
}

// sums verifies the checksum of every entry of a file and reports those that are
// wrong by the path of what they belong to. It reports whether there were none.
func (c *checker) sums() bool {
	t, ok := kv.FileOf(c.tx.kv)
	if !ok {
		return true
	}
	s := sumScan{places: make(map[uint64]rowPlace)}
	for _, b := range kv.Buckets {
		err := t.Scan(b, func(k, v []byte, whole bool) { s.entry(b, k, v, whole) })
		if err != nil {
			c.report("%s: %w", bucketNames[b], err)
		}
	}
	for _, err := range s.findings() {
		c.report("%w", err)
	}
	return len(s.bad) == 0 && len(c.findings) == 0
}
