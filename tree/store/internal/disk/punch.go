package disk

// Punch gives the room of a part of a file back, where the system can do that. The part has no
// bytes that matter any more, and the size of the file stays. No record may be written there.
func Punch(f File, at, size int64) error {
	if f, ok := f.(osFile); ok && size > 0 {
		return f.punch(at, size)
	}
	return nil
}
