package kv

import "hash/crc32"

// A walk through many entries verifies some of a leaf at a time. The cost of each entry then is
// its checksum and little else: no guard, and each element is read once, not five times.
//
// It is the same verification. An entry that does not pass, or cannot be read, is left to the
// step that comes to it. So damage is reported by the walk that meets it, and none is passed over.

// Each time more is verified, since most walks are short.
const (
	stepsBefore = 3 // steps of a walk before anything is verified ahead
	firstAhead  = 4
	mostAhead   = 32
)

// verifiedAhead are entries of a leaf that were verified, behind the one where the cursor is.
type verifiedAhead struct {
	buf   []byte // of the leaf
	spans [mostAhead]span
	next  int // the first one of spans that was not returned
	end   int
	room  int // how many are verified the next time
}

// A span is where the key of an entry begins and ends, and its value with the checksum.
type span struct{ key, value, end uint32 }

// forget forgets what was verified: the cursor goes elsewhere.
func (c *sumCursor) forget() {
	c.steps = 0
	if a := c.ahead; a != nil {
		a.next, a.end, a.room = 0, 0, firstAhead
	}
}

// take goes to the next entry, which was verified.
func (c *sumCursor) take() (k, v []byte) {
	a := c.ahead
	s := a.spans[a.next]
	a.next++
	c.c.pages.top().index++
	sum := s.end - SumBytes
	return a.buf[s.key:s.value:s.value], a.buf[s.value:sum:sum]
}

// look verifies entries behind the one where the cursor is.
func (c *sumCursor) look() {
	if c.steps++; c.steps <= stepsBefore || !c.t.all || c.b == Meta {
		return
	}
	p, ok := c.c.walker.(*pageCursor)
	if !ok {
		return
	}
	if c.ahead == nil {
		c.ahead = &verifiedAhead{room: firstAhead}
	}
	a := c.ahead
	a.next, a.end = 0, 0
	// A page that cannot be read is the matter of the step that comes to it.
	defer func() { _ = recover() }()
	top := p.top()
	a.verify(&top.page, top.index, c.b)
	a.room = min(2*a.room, mostAhead)
}

// verify verifies entries behind element i.
func (a *verifiedAhead) verify(g *page, i int, b Bucket) {
	a.buf = g.buf
	_, _, before := g.extent(i)
	if i++; i >= g.count {
		return
	}
	key, value, end := g.extent(i)
	for a.end < a.room {
		last := i+1 == g.count
		next, nextValue, nextEnd := end, 0, 0
		if !last {
			next, nextValue, nextEnd = g.extent(i + 1)
		}
		if key != before || next != end || g.flags(i) != 0 || !whole(g.buf, b, key, value, end) {
			return
		}
		a.spans[a.end] = span{uint32(key), uint32(value), uint32(end)}
		a.end++
		if last {
			return
		}
		before, key, value, end = end, next, nextValue, nextEnd
		i++
	}
}

// whole reports whether the checksum of an entry is right, as checkSum does. Key and value lie
// one behind the other.
func whole(buf []byte, b Bucket, key, value, end int) bool {
	sum := end - SumBytes
	return sum >= value && le.Uint32(buf[sum:end]) == mixed(crc32.Update(0, castagnoli, buf[key:sum]), b, value-key)
}
