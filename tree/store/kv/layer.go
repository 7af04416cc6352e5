package kv

import "iter"

// A Layer is entries in memory in front of those of a transaction. An entry without a value
// is deleted there. A Layer has many readers or one writer at a time.
//
// Copies share their trees until one of them is written to (copy-on-write of btree). So a
// reader's copy is cheap, and a writer pays for a page of the tree only if a reader took a
// copy since its last write.
type Layer struct {
	trees [len(Buckets)]memTree // nil: it has no entry of the bucket
	bytes int64
}

// layerOverhead is what an entry takes in addition to its bytes. It is an
// estimate of the item in the tree. The bounds of memory go by it, so it need
// not be exact, and must not be zero: many small entries take more than their
// bytes.
const layerOverhead = 96

// Set puts an entry, or with a nil value deletes it. It keeps the key and the value.
func (l *Layer) Set(b Bucket, key, value []byte) { l.set(b, asString(key), &value) }

func (l *Layer) set(b Bucket, key string, value *[]byte) {
	old, replaced := l.tree(b).Set(key, value)
	l.account(key, value, old, replaced)
}

// load is set for keys that mostly come in their order.
func (l *Layer) load(b Bucket, key string, value *[]byte) {
	old, replaced := l.tree(b).Load(key, value)
	l.account(key, value, old, replaced)
}

func (l *Layer) tree(b Bucket) memTree {
	tree := &l.trees[bucketSlots[b]]
	if *tree == nil {
		*tree = newMemTree()
	}
	return *tree
}

// account counts an entry, and the one that it replaced no more.
func (l *Layer) account(key string, value, old *[]byte, replaced bool) {
	l.bytes += int64(len(key)+len(*value)) + layerOverhead
	if replaced {
		l.bytes -= int64(len(key)+len(*old)) + layerOverhead
	}
}

// Get returns the value of an entry. ok is false if the layer has none; a nil value with ok
// is that of a deleted one.
func (l *Layer) Get(b Bucket, key []byte) (value []byte, ok bool) {
	tree := l.trees[bucketSlots[b]]
	if tree == nil {
		return nil, false
	}
	if found, ok := tree.Get(asString(key)); ok {
		return *found, true
	}
	return nil, false
}

// Bytes returns about how much memory the layer takes.
func (l *Layer) Bytes() int64 { return l.bytes }

// DataBytes returns how many bytes the keys and values have.
func (l *Layer) DataBytes() int64 { return l.bytes - int64(l.Len())*layerOverhead }

// Len returns how many entries the layer has.
func (l *Layer) Len() (n int) {
	for _, tree := range l.trees {
		if tree != nil {
			n += tree.Len()
		}
	}
	return n
}

// Copy returns a layer with the same entries, for readers. It copies no entry.
func (l *Layer) Copy() *Layer {
	c := &Layer{bytes: l.bytes}
	for i, tree := range l.trees {
		if tree != nil {
			c.trees[i] = tree.Copy()
		}
	}
	return c
}

// Add puts the entries of a layer that comes in front.
func (l *Layer) Add(front *Layer) {
	for _, b := range Buckets {
		tree := front.trees[bucketSlots[b]]
		if tree == nil {
			continue
		}
		for it := tree.Iter(); it.Next(); {
			l.set(b, it.Key(), it.Value())
		}
	}
}

// An Entry is an entry of a layer.
type Entry struct {
	Bucket     Bucket
	Key, Value []byte
}

// All returns the entries, bucket after bucket in the order of keys.
func (l *Layer) All() iter.Seq[Entry] { return l.Of(Buckets[:]...) }

// Of returns the entries of some buckets, bucket after bucket in the order of keys.
func (l *Layer) Of(buckets ...Bucket) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for _, b := range buckets {
			tree := l.trees[bucketSlots[b]]
			if tree == nil {
				continue
			}
			for it := tree.Iter(); it.Next(); {
				if !yield(Entry{b, asBytes(it.Key()), *it.Value()}) {
					return
				}
			}
		}
	}
}

// Empty reports whether the layer has no entries.
func (l *Layer) Empty() bool { return l.bytes == 0 }

// A Layered is the entries of layers, the first of which is the one in front, and of a
// transaction behind them. It writes nothing.
type Layered struct {
	Base   Tx
	Layers []*Layer
}

// Get returns the value of a key, nil if there is none.
func (l *Layered) Get(b Bucket, key []byte) ([]byte, error) {
	for _, layer := range l.Layers {
		if v, ok := layer.Get(b, key); ok {
			return v, nil
		}
	}
	return l.Base.Get(b, key)
}

// Cursor returns a cursor of a bucket. tick is called for every entry that is looked at, nil
// for not; an error ends the walk.
func (l *Layered) Cursor(b Bucket, tick func() error) Cursor {
	base := l.Base.Cursor(b)
	var trees []memTree
	for _, layer := range l.Layers {
		if tree := layer.trees[bucketSlots[b]]; tree != nil {
			trees = append(trees, tree)
		}
	}
	if len(trees) == 0 {
		return base
	}
	return newMerged(base, tick, trees...)
}

// copied returns a value that Set may keep, and that is not nil.
func copied(value []byte) []byte { return append(make([]byte, 0, len(value)), value...) }

// Put puts a copy of an entry.
func (l *Layer) Put(b Bucket, key, value []byte) {
	own := copied(value)
	l.load(b, string(key), &own)
}

// Delete deletes an entry.
func (l *Layer) Delete(b Bucket, key []byte) { l.load(b, string(key), &deleted) }

// deleted is the value of all entries that Delete has deleted.
var deleted []byte
