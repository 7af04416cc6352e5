package wire

// AppendOnlyIf adds to the registration of what is to be written when the
// connection ends, which must be what dst ends with, that this is done only if the
// place at a path below has a value, raw JSON, then (FeatureOnlyIf).
func AppendOnlyIf[T Raw](dst []byte, path string, value T) []byte {
	const end = `}}}`
	dst = AppendString(append(dst[:len(dst)-len(end)], `,"if":{"p":`...), path)
	dst = append(append(dst, `,"d":`...), value...)
	return append(dst, `}`+end...)
}
