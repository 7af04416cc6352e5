package disk

import "github.com/dogwooddb/dogwood/tree/store/durable"

// NoRoom reports whether an error is of a disk that takes nothing more.
func NoRoom(err error) bool { return durable.NoRoom(err) }

// Punch gives the room of a part of a file back, where the system can do that. The part has no
// bytes that matter any more, and the size of the file stays. No record may be written there.
// Blocks that are given back have to be allocated again by a write, which can fail on a full
// disk.
func Punch(f File, at, size int64) error {
	if f, ok := f.(osFile); ok && size > 0 {
		return f.punch(at, size)
	}
	return nil
}
