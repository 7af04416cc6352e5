package kv

import "bytes"

// Files of format 1 have no checksums. When one is opened to be written to, its
// format becomes 2, which older versions refuse, and the entries of bucket m get
// theirs. The others follow in the background, bucket after bucket in the order of
// keys, a slice in each transaction, which also notes how far it came: what is before
// that place has checksums, what is behind it has none, and there is never a doubt
// about one entry.

// placeKey is the entry of bucket m that says how far an upgrade is. There is none
// when it has ended.
var placeKey = []byte("checksums")

// upgradeOrder is the order in which buckets get their checksums.
var upgradeOrder = func() (order []Bucket) {
	order = append(order, Meta)
	for _, b := range Buckets {
		if b != Meta {
			order = append(order, b)
		}
	}
	return order
}()

// upgradeTurns are the places of buckets in upgradeOrder.
var upgradeTurns = func() (turns [256]int) {
	for i, b := range upgradeOrder {
		turns[b] = i
	}
	return turns
}()

// An upgradePlace is how far an upgrade is: all buckets before a turn, and of the one
// whose turn it is the entries below a key. The zero place is the beginning. It is part
// of each transaction, so a snapshot that began before a slice was committed reads its
// entries as they were then.
type upgradePlace struct {
	turn int
	key  []byte
}

var upgradeEnd = upgradePlace{turn: len(upgradeOrder)}

func (p upgradePlace) has(b Bucket, key []byte) bool {
	turn := upgradeTurns[b]
	return turn < p.turn || turn == p.turn && bytes.Compare(key, p.key) < 0
}

func (p upgradePlace) encode() []byte { return append([]byte{byte(p.turn)}, p.key...) }

func (t *FileTx) readFormat() string {
	_, v := t.boltTx.exact(Meta, formatKey)
	return string(v)
}

// readPlace returns how far the upgrade of the file is.
func (t *FileTx) readPlace() (place upgradePlace, err error) {
	defer t.guard(Meta, placeKey, mayFault(), &err)
	k, stored := t.boltTx.exact(Meta, placeKey)
	switch format := t.readFormat(); {
	case format == formatPlain && k == nil:
		return upgradePlace{}, nil
	case format == formatPlain:
		return place, t.damage(Meta, placeKey, "belongs to a later format")
	case k == nil:
		return upgradeEnd, nil
	}
	place, ok := decodePlace(stored)
	if !ok {
		return place, t.damage(Meta, placeKey, "the checksum is wrong")
	}
	return place, nil
}

// decodePlace reads a place as it is stored.
func decodePlace(stored []byte) (place upgradePlace, ok bool) {
	v, ok := checkSum(Meta, placeKey, stored)
	if !ok || len(v) == 0 || int(v[0]) == 0 || int(v[0]) >= len(upgradeOrder) {
		return place, false
	}
	return upgradePlace{int(v[0]), bytes.Clone(v[1:])}, true
}

// beginUpgrade gives bucket m its checksums and the file its format.
func (t *FileTx) beginUpgrade() (err error) {
	defer t.guard(Meta, formatKey, mayFault(), &err)
	var entries [][2][]byte
	c := t.boltTx.cursor(Meta)
	for k, v := c.Seek(nil); k != nil; k, v = c.Next() {
		entries = append(entries, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
	}
	t.place = upgradePlace{turn: 1}
	for _, e := range entries {
		if err := t.Put(Meta, e[0], e[1]); err != nil {
			return err
		}
	}
	if err := t.Put(Meta, formatKey, []byte(formatVersion)); err != nil {
		return err
	}
	return t.Put(Meta, placeKey, t.place.encode())
}

// Start makes what the file shows durable, and creates the buckets that it lacks. A file
// of an older format begins to get its checksums.
func (k *File) Start() error {
	if err := k.start(); err != nil {
		return err
	}
	return k.startUpgrade()
}

// startUpgrade begins to give a file of an older format its checksums.
func (k *File) startUpgrade() error {
	tx, err := k.Begin(true)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	format, err := ReadFormat(tx)
	if err != nil || format != formatPlain {
		return err
	}
	if err := tx.(*FileTx).beginUpgrade(); err != nil {
		return err
	}
	return tx.Commit()
}

// upgradeBytes bounds the values of a slice.
const upgradeBytes = 1 << 20

// Plain reports whether the file has entries without checksums.
func (k *File) Plain() bool { return !k.all.Load() }

// NoteUpgraded is to be called when a transaction was committed in which the last
// entries got their checksums.
func (k *File) NoteUpgraded() { k.all.Store(true) }

// Upgrade gives a number of entries their checksums. It reports whether there are
// more.
func (t *FileTx) Upgrade(entries int) (more bool, err error) {
	defer t.guard(Meta, placeKey, mayFault(), &err)
	place := t.place
	for size := 0; entries > 0 && size < upgradeBytes && place.turn < len(upgradeOrder); {
		b := upgradeOrder[place.turn]
		var slice [][2][]byte
		c := t.boltTx.cursor(b)
		k, v := c.Seek(place.key)
		for ; k != nil && entries > 0 && size < upgradeBytes; k, v = c.Next() {
			slice = append(slice, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
			entries--
			size += len(k) + len(v)
		}
		for _, e := range slice {
			if err := t.boltTx.put(b, e[0], t.seal(b, e[0], e[1])); err != nil {
				return false, err
			}
		}
		if k != nil {
			place.key = bytes.Clone(k)
			break
		}
		place = upgradePlace{turn: place.turn + 1}
	}
	t.place = place
	if place.turn == len(upgradeOrder) {
		return false, t.Delete(Meta, placeKey)
	}
	return true, t.Put(Meta, placeKey, place.encode())
}

// FileOf returns the transaction of the file below a transaction, if there is one.
func FileOf(k Tx) (*FileTx, bool) {
	if o, ok := k.(*sortedWrites); ok {
		k = o.Tx
	}
	if above, ok := k.(interface{ File() Tx }); ok {
		k = above.File()
	}
	t, ok := k.(*FileTx)
	return t, ok
}
