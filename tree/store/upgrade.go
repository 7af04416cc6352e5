package store

import (
	"bytes"
	"fmt"
)

// Files of format 1 have no checksums. When one is opened to be written to, its
// format becomes 2, which older versions refuse, and the entries of bucket m get
// theirs. The others follow in the background, bucket after bucket in the order of
// keys, a slice in each transaction, which also notes how far it came: what is before
// that place has checksums, what is behind it has none, and there is never a doubt
// about one entry.

// Formats of files. A file of a later one is refused.
const (
	formatPlain   = "dogwood 1" // no checksums
	formatVersion = "dogwood 2"
)

// placeKey is the entry of bucket m that says how far an upgrade is. There is none
// when it has ended.
var placeKey = []byte("checksums")

// upgradeOrder is the order in which buckets get their checksums.
var upgradeOrder = func() (order []bucket) {
	order = append(order, bucketMeta)
	for _, b := range allBuckets {
		if b != bucketMeta {
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

// An upgradePlace is how far an upgrade is: all buckets before a turn, and of the
// one whose turn it is the entries below a key. The zero place is the beginning.
type upgradePlace struct {
	turn int
	key  []byte
}

var upgradeEnd = upgradePlace{turn: len(upgradeOrder)}

func (p upgradePlace) has(b bucket, key []byte) bool {
	turn := upgradeTurns[b]
	return turn < p.turn || turn == p.turn && bytes.Compare(key, p.key) < 0
}

func (p upgradePlace) encode() []byte { return append([]byte{byte(p.turn)}, p.key...) }

func (t *sumTx) readFormat() string {
	_, v := t.boltTx.cursor(bucketMeta).seekExact(formatKey)
	return string(v)
}

// readPlace returns how far the upgrade of the file is.
func (t *sumTx) readPlace() (place upgradePlace, err error) {
	defer t.guard(bucketMeta, placeKey, mayFault(), &err)
	k, stored := t.boltTx.cursor(bucketMeta).seekExact(placeKey)
	switch format := t.readFormat(); {
	case format == formatPlain && k == nil:
		return upgradePlace{}, nil
	case format == formatPlain:
		return place, t.damage(bucketMeta, placeKey, "belongs to a later format")
	case k == nil:
		return upgradeEnd, nil
	}
	place, ok := decodePlace(stored)
	if !ok {
		return place, t.damage(bucketMeta, placeKey, "the checksum is wrong")
	}
	return place, nil
}

// decodePlace reads a place as it is stored.
func decodePlace(stored []byte) (place upgradePlace, ok bool) {
	v, ok := checkSum(bucketMeta, placeKey, stored)
	if !ok || len(v) == 0 || int(v[0]) == 0 || int(v[0]) >= len(upgradeOrder) {
		return place, false
	}
	return upgradePlace{int(v[0]), bytes.Clone(v[1:])}, true
}

// beginUpgrade gives bucket m its checksums and the file its format.
func (t *sumTx) beginUpgrade() (err error) {
	defer t.guard(bucketMeta, formatKey, mayFault(), &err)
	var entries [][2][]byte
	c := t.boltTx.cursor(bucketMeta)
	for k, v := c.seek(nil); k != nil; k, v = c.next() {
		entries = append(entries, [2][]byte{bytes.Clone(k), bytes.Clone(v)})
	}
	t.place = upgradePlace{turn: 1}
	for _, e := range entries {
		if err := t.put(bucketMeta, e[0], e[1]); err != nil {
			return err
		}
	}
	if err := t.put(bucketMeta, formatKey, []byte(formatVersion)); err != nil {
		return err
	}
	return t.put(bucketMeta, placeKey, t.place.encode())
}

// startUpgrade begins to give a file of an older format its checksums.
func (k *sumKV) startUpgrade() error {
	tx, err := k.begin(true)
	if err != nil {
		return err
	}
	defer tx.rollback()
	format, err := readFormat(tx)
	if err != nil || format != formatPlain {
		return err
	}
	if err := tx.(*sumTx).beginUpgrade(); err != nil {
		return err
	}
	return tx.commit()
}

// upgradeBytes bounds the values of a slice.
const upgradeBytes = 1 << 20

// upgrade gives a number of entries their checksums. It reports whether there are
// more.
func (t *sumTx) upgrade(entries int) (more bool, err error) {
	defer t.guard(bucketMeta, placeKey, mayFault(), &err)
	place := t.place
	for size := 0; entries > 0 && size < upgradeBytes && place.turn < len(upgradeOrder); {
		b := upgradeOrder[place.turn]
		var slice [][2][]byte
		c := t.boltTx.cursor(b)
		k, v := c.seek(place.key)
		for ; k != nil && entries > 0 && size < upgradeBytes; k, v = c.next() {
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
		return false, t.delete(bucketMeta, placeKey)
	}
	return true, t.put(bucketMeta, placeKey, place.encode())
}

// Upgrade gives about budget entries of a file of an older format the checksums that
// they lack, in a transaction of its own, and reports whether there are more. Call it
// when there is nothing better to do.
func (s *Store) Upgrade(budget int) (more bool, err error) {
	k, ok := s.kv.(*sumKV)
	if !ok || k.all.Load() || s.options.ReadOnly {
		return false, nil
	}
	tx, err := s.Begin(true)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	t, ok := fileOf(tx.kv)
	if !ok {
		return false, nil
	}
	if more, err = t.upgrade(budget); err != nil {
		return false, fmt.Errorf("add checksums to %s: %w", s, err)
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	if !more {
		k.all.Store(true)
	}
	return more, nil
}

// fileOf returns the transaction of the file below a transaction, if there is one.
func fileOf(k kvTx) (*sumTx, bool) {
	if o, ok := k.(*orderedTx); ok {
		k = o.kvTx
	}
	t, ok := k.(*sumTx)
	return t, ok
}
