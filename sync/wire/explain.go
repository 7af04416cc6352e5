package wire

// AppendExplain appends the request to tell what a get takes (FeatureExplain). An
// empty query asks for the whole value.
func AppendExplain(dst []byte, id int64, path, query string) []byte {
	return append(appendView(dst, id, ActionExplain, path, query, 0), `}}}`...)
}

// AppendExplainWrite appends the request to tell what a write would take: a put, or
// a merge.
func AppendExplainWrite[T Raw](dst []byte, id int64, path string, data T, merge bool) []byte {
	dst = appendWrite(dst, id, ActionExplain, path, data)
	if merge {
		dst = append(dst, `,"m":1`...)
	}
	return append(dst, `}}}`...)
}
