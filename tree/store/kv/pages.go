package kv

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
)

// A pageWalk follows all pages from the root and checks what bbolt takes for
// granted when it follows them: it asserts, in a goroutine of its own, which
// would end the process, and it reads through a memory map, where a wrong offset
// is a fault.
//
// It reads with ReadAt and not through the map, so a file that another process truncates
// is an error and not a fault. It needs a byte for each page (seen) to tell that none is
// used twice.
type pageWalk struct {
	f    io.ReaderAt
	meta boltMeta
	seen []bool

	tolerant bool   // passes over damaged pages, which are in bad
	bucket   Bucket // that is followed; 0: the list of buckets
	bad      []BadPage
	size     int64                         // of the file, which may be cut short; 0: it is not
	entry    func(b Bucket, key, v []byte) // is told of entries as they are stored; nil: nobody

	ahead []byte // pages that were read
	first uint64 // of them
	next  uint64 // page behind the last one that was asked for
}

func (w *pageWalk) run() error {
	w.seen = make([]bool, w.meta.pages)
	if err := w.page(w.meta.root, nil, nil); err != nil {
		return err
	}
	if w.meta.freeList == noFreeList {
		return nil
	}
	return w.freeList()
}

func (w *pageWalk) damaged(page uint64, what string) error {
	return fmt.Errorf("%w: page %d: %s", ErrDamaged, page, what)
}

// page checks a page and all below it. Its keys are from min up to max, which is
// nil for no limit.
func (w *pageWalk) page(id uint64, min, max []byte) error {
	err := w.follow(id, min, max)
	if err != nil && w.tolerant {
		w.bad = append(w.bad, BadPage{w.bucket, bytes.Clone(min), bytes.Clone(max), err})
		return nil
	}
	return err
}

func (w *pageWalk) follow(id uint64, min, max []byte) error {
	if id < 2 || id >= w.meta.pages || w.seen[id] {
		return w.damaged(id, "does not belong where it is used")
	}
	buf, err := w.read(id)
	if err != nil {
		return err
	}
	g, err := w.head(id, buf, min)
	switch {
	case err != nil:
		return err
	case g.leaf:
		return w.leaf(g, min, max)
	}
	return w.branch(g, max)
}

// head checks the head of a page, that its elements lie one behind the other, and that their
// kinds are known.
func (w *pageWalk) head(id uint64, buf, min []byte) (g page, err error) {
	defer func() {
		if d, ok := recover().(pageDamage); ok {
			err = w.damaged(id, d.what)
		}
	}()
	g = newPage(id, buf, min)
	for i := range g.count {
		if i > 0 {
			g.adjoin(i)
		}
		if g.leaf && g.flags(i)&^flagBucket != 0 {
			return g, w.damaged(id, unknownKind)
		}
	}
	return g, nil
}

// inline checks the page of a small bucket, which is in the value of its element.
func (w *pageWalk) inline(id uint64, buf []byte) error {
	if len(buf) < pageHeader {
		return w.damaged(id, "has a bucket that is too short")
	}
	g, err := w.head(id, buf, nil)
	if err != nil {
		return err
	}
	end := pageHeader
	if g.count > 0 {
		_, _, end = g.extent(g.count - 1)
	}
	if !g.leaf || end != len(buf) {
		return w.damaged(id, "has a bucket that is not whole")
	}
	return w.leaf(g, nil, nil)
}

// read returns a page with its overflow pages, valid until the next read, and
// marks them as used.
func (w *pageWalk) read(id uint64) ([]byte, error) {
	size := int64(w.meta.pageSize)
	head, err := w.one(id)
	if err != nil {
		return nil, err
	}
	overflow := uint64(le.Uint32(head[12:]))
	switch {
	case le.Uint64(head) != id:
		return nil, w.damaged(id, "says that it is another one")
	case id+overflow >= w.meta.pages:
		return nil, w.damaged(id, "goes beyond the end of the file")
	}
	for i := id; i <= id+overflow; i++ {
		w.seen[i] = true
	}
	w.next = id + overflow + 1
	if overflow == 0 {
		return head, nil
	}
	if w.size > 0 && int64(id+overflow+1)*size > w.size {
		return nil, w.damaged(id, "is missing in part at the end of the file")
	}
	all := make([]byte, size*int64(overflow+1))
	_, err = w.f.ReadAt(all, int64(id)*size)
	return all, err
}

// readAhead is how many pages are read at a time where they are in a row, as
// after an import.
const readAhead = 64

// one returns a page without its overflow pages.
func (w *pageWalk) one(id uint64) ([]byte, error) {
	size := uint64(w.meta.pageSize)
	if w.size > 0 && (id+1)*size > uint64(w.size) {
		return nil, w.damaged(id, "is missing at the end of the file")
	}
	if id < w.first || id >= w.first+uint64(len(w.ahead))/size {
		pages := uint64(1)
		if id == w.next {
			pages = min(readAhead, w.meta.pages-id)
		}
		if w.size > 0 {
			pages = min(pages, uint64(w.size)/size-id)
		}
		w.ahead, w.first = slices.Grow(w.ahead[:0], int(pages*size))[:pages*size], id
		if _, err := w.f.ReadAt(w.ahead, int64(id*size)); err != nil {
			return nil, err
		}
	}
	at := (id - w.first) * size
	return w.ahead[at : at+size], nil
}

// branch follows the elements, whose extents head has checked.
func (w *pageWalk) branch(g page, max []byte) error {
	g.buf = bytes.Clone(g.buf) // others are read meanwhile
	for i := range g.count {
		next := max
		if i+1 < g.count {
			next = g.key(i + 1)
		}
		if err := w.page(g.child(i), g.key(i), next); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks the order of the keys and follows buckets. head has checked the extents.
func (w *pageWalk) leaf(g page, min, max []byte) error {
	if g.holdsBuckets() {
		g.buf = bytes.Clone(g.buf) // others are read meanwhile
	}
	for i := range g.count {
		key, value, end := g.extent(i)
		k, v := g.buf[key:value], g.buf[value:end]
		if c := bytes.Compare(k, min); c < 0 || c == 0 && i > 0 || max != nil && bytes.Compare(k, max) >= 0 {
			return w.damaged(g.id, "has keys out of order")
		}
		min = k
		if g.flags(i)&flagBucket == 0 {
			if w.entry != nil && w.bucket != 0 {
				w.entry(w.bucket, k, v)
			}
			continue
		}
		w.bucket = Bucket(k[0])
		if len(v) < bucketHeader {
			return w.damaged(g.id, "has a bucket that is too short")
		}
		root, err := le.Uint64(v), error(nil)
		if root != 0 {
			err = w.page(root, nil, nil)
		} else {
			err = w.inline(g.id, v[bucketHeader:])
		}
		if w.bucket = 0; err != nil {
			return err
		}
	}
	return nil
}

func (g *page) holdsBuckets() bool {
	for i := range g.count {
		if g.flags(i)&flagBucket != 0 {
			return true
		}
	}
	return false
}

// freeList checks the list of free pages: none of them is used.
func (w *pageWalk) freeList() error {
	id := w.meta.freeList
	if id < 2 || id >= w.meta.pages || w.seen[id] {
		return w.damaged(id, "is no list of free pages")
	}
	buf, err := w.read(id)
	if err != nil {
		return err
	}
	if le.Uint16(buf[8:]) != flagFree {
		return w.damaged(id, "is no list of free pages")
	}
	count, list := uint64(le.Uint16(buf[10:])), buf[pageHeader:]
	if count == longList {
		count, list = le.Uint64(list), list[freeElement:]
	}
	if count > uint64(len(list))/freeElement {
		return w.damaged(id, "has more elements than fit")
	}
	for ; count > 0; count-- {
		free := le.Uint64(list)
		if free < 2 || free >= w.meta.pages || w.seen[free] {
			return w.damaged(free, "is both free and in use")
		}
		w.seen[free] = true
		list = list[freeElement:]
	}
	return nil
}

// A BadPage is a page that cannot be followed, and the range of keys that it has.
type BadPage struct {
	Bucket   Bucket // 0: the list of buckets
	Min, Max []byte // nil: not known
	Err      error
}

// probePages follows all pages of a file that no other process writes to.
func probePages(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	meta, err := newestMeta(f)
	if err != nil {
		return err
	}
	w := pageWalk{f: f, meta: meta}
	return w.run()
}
