package wire

// AppendReturns adds to a put or merge, which must be what dst ends with, that its
// resolved server values are to be returned (FeatureReturns).
func AppendReturns(dst []byte) []byte {
	const end = `}}}`
	return append(dst[:len(dst)-len(end)], `,"v":1`+end...)
}
