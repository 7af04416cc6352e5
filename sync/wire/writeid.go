package wire

import "strconv"

// AppendWriteID adds an id (FeatureWriteIDs) to a put or merge, which must be what
// dst ends with: the writer, a UUID of its own, and the number of the write.
func AppendWriteID(dst []byte, writer string, number int64) []byte {
	const end = `}}}`
	dst = append(dst[:len(dst)-len(end)], `,"w":"`...)
	dst = append(append(dst, writer...), ':')
	return append(strconv.AppendInt(dst, number, 10), `"`+end...)
}
