package logged

import (
	"encoding/binary"

	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// The origin of a file is the id of the database that it was when it was first in a log. A file that
// is restored or copied, or gets another log, becomes another database and keeps its origin. So
// backups from before and after that are known to be of one tree. Versions that write no origin
// leave it as it is.
var originKey = []byte("origin") // in bucket m

// keepOrigin notes the origin of a file that has none, which is about to be a database of a log. A file
// of an earlier version may say which one it was before. An origin that is damaged stays so: it must
// not keep commits out of the file.
func keepOrigin(tx kv.Tx, database uint64) error {
	if b, err := tx.Get(kv.Meta, originKey); b != nil || err != nil {
		return nil
	}
	if b, err := tx.Get(kv.Meta, positionKey); err == nil && len(b) >= 16 {
		database = binary.BigEndian.Uint64(b[8:])
	}
	return tx.Put(kv.Meta, originKey, binary.BigEndian.AppendUint64(nil, database))
}

// OriginOf returns the origin of a file, 0 if it was never in a log.
func OriginOf(file *kv.File) (uint64, error) {
	tx, err := file.Begin(false)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	b, err := tx.Get(kv.Meta, originKey)
	switch {
	case err != nil:
		return 0, err
	case len(b) == 8:
		return binary.BigEndian.Uint64(b), nil
	}
	p, _, err := readPosition(tx)
	return p.database, err
}
