package wire

// AppendReturns adds to a put or merge, which must be what dst ends with, that its
// resolved server values are to be returned (FeatureReturns).
func AppendReturns(dst []byte) []byte {
	const end = `}}}`
	return append(dst[:len(dst)-len(end)], `,"v":1`+end...)
}

// AppendConflicts adds to a put or merge, which must be what dst ends with, that a refusal
// because a place is taken is StatusConflict (FeatureConflicts).
func AppendConflicts(dst []byte) []byte {
	const end = `}}}`
	return append(dst[:len(dst)-len(end)], `,"u":1`+end...)
}
