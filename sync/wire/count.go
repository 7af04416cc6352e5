package wire

// AppendCount appends the request for the number of children that a get would show
// (FeatureCount). An empty query counts all of them.
func AppendCount(dst []byte, id int64, path, query string) []byte {
	return append(appendView(dst, id, ActionCount, path, query, 0), `}}}`...)
}
