package kv

// plenty is how much room a disk has when nothing has to be set aside for a file.
const plenty = 1 << 30

// Provide makes sure that the file can grow by so many bytes, as far as the system can tell.
// On a disk with little room it sets them aside. An error is one of durable.NoRoom, unless
// the file cannot be used.
func (k *boltKV) Provide(size int64) error {
	if hasRoom(k.file, plenty+size) {
		return nil
	}
	tx, err := k.begin(false)
	if err != nil {
		return err
	}
	defer tx.rollback()
	return setAside(k.file, tx.Size(), size)
}
