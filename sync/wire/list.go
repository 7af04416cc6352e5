package wire

// AppendList appends the request for a page that describes children (FeatureList).
func AppendList(dst []byte, id int64, path, query string, descending bool) []byte {
	dst = appendView(dst, id, ActionList, path, query, 0)
	if descending {
		dst = append(dst, `,"desc":1`...)
	}
	return append(dst, `}}}`...)
}

// AppendListenChanges is AppendListen without a view first (FeatureChanges). It needs a tag.
func AppendListenChanges(dst []byte, id int64, path, query string, tag int64) []byte {
	return append(appendView(dst, id, ActionListen, path, query, tag), `,"h":"","chg":1}}}`...)
}

// AppendNotices appends the request for notices of the children that change (FeatureNotices), and first for
// one of all that may have been missed. It needs a tag.
func AppendNotices(dst []byte, id int64, path, query string, tag int64, missed bool) []byte {
	dst = appendView(dst, id, ActionNotices, path, query, tag)
	if !missed {
		dst = append(dst, `,"chg":1`...)
	}
	return append(dst, `}}}`...)
}
