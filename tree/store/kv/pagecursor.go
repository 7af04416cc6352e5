package kv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// bbolt believes what is in its pages. What is read from the file is therefore read
// by a cursor of our own, which checks what a damaged page could hide entries with:
// that a page is the one that was asked for and begins with the key that its parent
// has for it, and that its elements are as many as its keys and values leave room for
// and lie one behind the other, as bbolt writes them. Together with the checksums of
// entries (sums.go) an answer is right or an error.
//
// Entries that a write transaction has changed are in memory, where bbolt's cursor
// finds them.

// A pageDamage is what methods of pages panic with, as bbolt does, to be turned into
// an error in one place (see FileTx.guard).
type pageDamage struct {
	page uint64
	what string
}

func (d pageDamage) String() string { return fmt.Sprintf("%d %s", d.page, d.what) }

// pages are those of the state in which a transaction began.
type pages struct {
	mem  []byte // the file, up to its last page
	size uint64 // of a page
	root page
}

// newPages returns the pages of a transaction. They are mapped until it ends: bbolt
// maps anew at a commit of the writer, after all readers.
func newPages(tx *bolt.Tx) pages {
	info := tx.DB().Info()
	base := *(*unsafe.Pointer)(unsafe.Pointer(&info.Data))
	return pages{
		mem:  unsafe.Slice((*byte)(base), tx.Size()),
		size: uint64(info.PageSize),
	}
}

// A page is a branch or a leaf whose head was checked.
type page struct {
	id    uint64
	buf   []byte
	count int
	leaf  bool
}

// load returns a page, which must begin with a key; nil for any.
func (p *pages) load(id uint64, first []byte) page {
	from := id * p.size
	if id < 2 || id >= uint64(len(p.mem))/p.size {
		panic(pageDamage{id, "is not in the file"})
	}
	head := p.mem[from : from+pageHeader]
	end := from + p.size*(1+uint64(le.Uint32(head[12:])))
	switch {
	case le.Uint64(head) != id:
		panic(pageDamage{id, "says that it is another one"})
	case end > uint64(len(p.mem)):
		panic(pageDamage{id, "goes beyond the end of the file"})
	}
	return newPage(id, p.mem[from:end:end], first)
}

// newPage checks the head of a page.
func newPage(id uint64, buf, first []byte) page {
	g := page{id: id, buf: buf, count: int(le.Uint16(buf[10:]))}
	switch le.Uint16(buf[8:]) {
	case flagLeaf:
		g.leaf = true
	case flagBranch:
	default:
		panic(pageDamage{id, "is neither branch nor leaf"})
	}
	switch {
	case pageHeader+g.count*pageElement > len(buf):
		panic(pageDamage{id, "has more elements than fit"})
	case g.count > 0:
		g.adjoin(0)
	case !g.leaf || first != nil:
		panic(pageDamage{id, "is empty"})
	}
	if first != nil && !bytes.Equal(g.key(0), first) {
		panic(pageDamage{id, "does not begin with the key that is known of it"})
	}
	return g
}

// extent returns where the key of an element begins and ends, and its value.
func (g *page) extent(i int) (key, value, end int) {
	at := pageHeader + i*pageElement
	e := g.buf[at : at+pageElement]
	if g.leaf {
		key = at + int(le.Uint32(e[4:]))
		value = key + int(le.Uint32(e[8:]))
		end = value + int(le.Uint32(e[12:]))
	} else {
		key = at + int(le.Uint32(e))
		value = key + int(le.Uint32(e[4:]))
		end = value
	}
	if end > len(g.buf) || key == value {
		panic(pageDamage{g.id, "has an element outside of it"})
	}
	return key, value, end
}

const (
	notAdjoining = "has elements that do not adjoin"
	unknownKind  = "has an element of an unknown kind"
)

// adjoin checks that an element begins where the one before it ends, and the first
// one behind all elements.
func (g *page) adjoin(i int) {
	want := pageHeader + g.count*pageElement
	if i > 0 {
		_, _, want = g.extent(i - 1)
	}
	if key, _, _ := g.extent(i); key != want {
		panic(pageDamage{g.id, notAdjoining})
	}
}

func (g *page) key(i int) []byte {
	key, value, _ := g.extent(i)
	return g.buf[key:value:value]
}

// flags returns those of an element of a leaf.
func (g *page) flags(i int) uint32 { return le.Uint32(g.buf[pageHeader+i*pageElement:]) }

func (g *page) child(i int) uint64 { return le.Uint64(g.buf[pageHeader+i*pageElement+8:]) }

// entry returns an element of a leaf, and whether it is a bucket.
func (g *page) entry(i int) (k, v []byte, isBucket bool) {
	g.adjoin(i)
	if i+1 < g.count {
		g.adjoin(i + 1)
	}
	key, value, end := g.extent(i)
	flags := g.flags(i)
	if flags&^flagBucket != 0 {
		panic(pageDamage{g.id, unknownKind})
	}
	return g.buf[key:value:value], g.buf[value:end:end], flags == flagBucket
}

// search returns the first element whose key is not below the given one.
func (g *page) search(key []byte) (i int, exact bool) {
	end := g.count
	for i < end {
		mid := int(uint(i+end) / 2)
		switch c := bytes.Compare(g.key(mid), key); {
		case c == 0:
			return mid, true
		case c < 0:
			i = mid + 1
		default:
			end = mid
		}
	}
	return i, false
}

// way returns the element of a branch below which a key is.
func (g *page) way(key []byte) int {
	i, exact := g.search(key)
	if !exact && i > 0 {
		i--
	}
	return i
}

// bucket returns the root page of a bucket. ok is false if there is none.
func (p *pages) bucket(root uint64, b Bucket) (g page, ok bool) {
	c := pageCursor{pages: p, root: p.load(root, nil)}
	k, v := c.Seek([]byte{byte(b)})
	if len(k) != 1 || k[0] != byte(b) {
		return g, false
	}
	top := c.top()
	if _, _, isBucket := top.page.entry(top.index); !isBucket || len(v) < bucketHeader {
		panic(pageDamage{top.page.id, "has an entry that is not a bucket"})
	}
	if id := le.Uint64(v); id != 0 {
		return p.load(id, nil), true
	}
	if v = v[bucketHeader:]; len(v) < pageHeader {
		panic(pageDamage{top.page.id, "has a bucket that is too short"})
	}
	return newPage(top.page.id, v, nil), true
}

// bucketHeader is in front of the page of a small bucket, which is in its entry.
const bucketHeader = 16

// A pageCursor walks the entries below a page.
//
// The finder of a bucket stays in its leaf between operations (home): writes
// are often neighbours, and each descent from the root costs the checks of all
// pages on the way. home is only valid as long as the cursor is where descend
// left it, so whatever moves away clears it (aside) or restores it.
type pageCursor struct {
	pages *pages
	root  page
	stack []pageRef
	spare []pageRef // of before and behind
	home  leafRange // of the key that was sought
	after nextEntry // of home, for locate
}

// A nextEntry is the first entry behind a leaf; none if its key is nil.
type nextEntry struct {
	entryText
	known bool
}

// A leafRange is a leaf and the keys that belong there: from first, up to but without
// next. Each is nil for no bound.
type leafRange struct {
	page        page
	first, next []byte
}

// has reports whether a key belongs to the leaf.
func (r *leafRange) has(key []byte) bool {
	return r.page.leaf && bytes.Compare(key, r.first) >= 0 && (r.next == nil || bytes.Compare(key, r.next) < 0)
}

// check checks all of the leaf, that is, what load leaves for later.
func (r *leafRange) check() {
	leaf := &r.page
	if leaf.count == 0 {
		return
	}
	key, value, end := leaf.extent(0)
	for i := 1; i < leaf.count; i++ {
		before, next := leaf.buf[key:value], end
		if key, value, end = leaf.extent(i); key != next {
			panic(pageDamage{leaf.id, notAdjoining})
		}
		if bytes.Compare(before, leaf.buf[key:value]) >= 0 {
			panic(pageDamage{leaf.id, "has keys out of order"})
		}
	}
}

type pageRef struct {
	page  page
	index int // of the last one: count behind the last entry
}

func (c *pageCursor) top() *pageRef { return &c.stack[len(c.stack)-1] }

// Seek goes to the first entry that is not below the key.
func (c *pageCursor) Seek(key []byte) (k, v []byte) {
	c.descend(key)
	if !c.within(key) {
		return c.nextLeaf()
	}
	return c.here()
}

// locate is Seek for keys that are often neighbours: it does not descend again to the
// leaf where it is. It stays in the leaf where the key belongs, so only before may follow.
func (c *pageCursor) locate(key []byte) (k, v []byte) {
	if !c.home.has(key) {
		c.descend(key)
	}
	if !c.within(key) {
		return c.behind()
	}
	return c.here()
}

// descend goes to the leaf where a key belongs.
func (c *pageCursor) descend(key []byte) {
	c.stack = append(c.stack[:0], pageRef{page: c.root})
	c.home, c.after = leafRange{}, nextEntry{}
	for !c.top().page.leaf {
		top := c.top()
		i := top.page.way(key)
		c.home.first = top.page.key(i)
		if i+1 < top.page.count {
			c.home.next = top.page.key(i + 1)
		}
		c.down(i)
	}
	c.home.page = c.top().page
}

// within goes to the first entry of the leaf that is not below the key. ok is false if
// there is none.
func (c *pageCursor) within(key []byte) (ok bool) {
	top := c.top()
	top.index, _ = top.page.search(key)
	return top.index < top.page.count
}

// down goes to a child of the branch at the top.
func (c *pageCursor) down(i int) {
	top := c.top()
	top.index = i
	if len(c.stack) > maxPageDepth {
		panic(pageDamage{top.page.id, "is too deep"})
	}
	c.stack = append(c.stack, pageRef{page: c.pages.load(top.page.child(i), top.page.key(i))})
}

// maxPageDepth is more than a file has that fits any disk.
const maxPageDepth = 40

func (c *pageCursor) here() (k, v []byte) {
	top := c.top()
	if top.page.count == 0 {
		return nil, nil
	}
	k, v, _ = top.page.entry(top.index)
	return k, v
}

// Next goes to the next entry.
func (c *pageCursor) Next() (k, v []byte) {
	top := c.top()
	if top.index+1 < top.page.count {
		top.index++
		return c.here()
	}
	return c.nextLeaf()
}

// nextLeaf goes to the first entry of the next leaf. If there is none it stays where
// it is, behind the last entry.
func (c *pageCursor) nextLeaf() (k, v []byte) {
	up := len(c.stack) - 2
	for up >= 0 && c.stack[up].index+1 == c.stack[up].page.count {
		up--
	}
	if up < 0 {
		c.top().index = c.top().page.count
		return nil, nil
	}
	c.stack = c.stack[:up+1]
	for c.down(c.top().index + 1); !c.top().page.leaf; {
		c.down(0)
	}
	return c.here()
}

// Prev goes to the entry before.
func (c *pageCursor) Prev() (k, v []byte) {
	if !c.back() {
		return nil, nil
	}
	return c.here()
}

// back goes to the entry before. If there is none it stays where it is.
func (c *pageCursor) back() bool {
	if top := c.top(); top.index > 0 {
		top.index--
		return true
	}
	up := len(c.stack) - 2
	for up >= 0 && c.stack[up].index == 0 {
		up--
	}
	if up < 0 {
		return false
	}
	c.stack = c.stack[:up+1]
	c.down(c.top().index - 1)
	c.bottom()
	return true
}

// bottom goes to the last entry below the page at the top.
func (c *pageCursor) bottom() {
	for !c.top().page.leaf {
		c.down(c.top().page.count - 1)
	}
	c.top().index = max(c.top().page.count-1, 0)
}

// Last goes to the last entry.
func (c *pageCursor) Last() (k, v []byte) {
	c.stack = append(c.stack[:0], pageRef{page: c.root})
	c.bottom()
	return c.here()
}

// before returns the entry before the one that was sought, without going there.
func (c *pageCursor) before() (k, v []byte) {
	if top := c.top(); top.index > 0 {
		k, v, _ = top.page.entry(top.index - 1)
		return k, v
	}
	if len(c.stack) == 1 {
		return nil, nil
	}
	c.aside(func() {
		if c.back() {
			k, v = c.here()
		}
	})
	return k, v
}

// behind returns the first entry behind the leaf, without going there.
func (c *pageCursor) behind() (k, v []byte) {
	if !c.after.known {
		c.aside(func() { c.after.k, c.after.v = c.nextLeaf() })
		c.after.known = true
	}
	return c.after.k, c.after.v
}

// aside calls f, which may go elsewhere, and comes back. If f panics, the cursor has to
// seek anew.
func (c *pageCursor) aside(f func()) {
	home := c.home
	c.home = leafRange{}
	c.spare = append(c.spare[:0], c.stack...)
	c.stack, c.spare = c.spare, c.stack
	f()
	c.stack, c.spare = c.spare, c.stack
	c.home = home
}

// What bbolt keeps at the beginning of a page, and in front of the keys of
// branch and leaf pages.
const (
	pageHeader  = 16
	pageElement = 16
	flagBranch  = 0x01
	flagLeaf    = 0x02
	flagMeta    = 0x04
	flagFree    = 0x10 // the list of free pages
	flagBucket  = 0x01 // of an element: its value is a bucket

	noFreeList  = math.MaxUint64 // in the place of the list's page
	longList    = math.MaxUint16 // a count that stands in front of the list
	freeElement = 8
)

var le = binary.LittleEndian
