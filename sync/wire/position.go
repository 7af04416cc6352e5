package wire

// AppendSince adds to a listen, which must be what dst ends with, the place in the log up to
// which the client has all of the view (FeaturePositions); "" asks for places alone.
func AppendSince(dst []byte, place string) []byte {
	const end = `}}}`
	return append(AppendString(append(dst[:len(dst)-len(end)], `,"since":`...), place), end...)
}

// AppendPosition appends the push that says that the client has all of its views up to a place in
// the log (FeaturePositions).
func AppendPosition(dst, place []byte) []byte {
	dst = append(appendEventHead(dst, PushPosition), `"d":"`...)
	return append(append(dst, place...), `"}}}`...)
}
