package store

import "github.com/dogwooddb/dogwood/tree"

// ReadPage describes the children in a query's window, which has a limit, in the order of the
// query. It costs a row or two for each child, however much lies below. Whether the count may
// be told is for the caller to say.
func ReadPage(tx *Tx, p tree.Path, q tree.Query) (page tree.Page, err error) {
	page.Revision = tx.Revision()
	r, rest, err := tx.find(p)
	if err != nil {
		return page, err
	}
	if page.Count, err = tx.Count(p, tree.Query{OrderBy: tree.ByKey}); err != nil {
		return page, err
	}
	most := q.Limit
	q.Limit++
	entries, err := read(tx).entries(r, rest, p, q)
	if err != nil {
		return page, err
	}
	if page.More = len(entries) > most; page.More {
		q.Limit = most
		entries = q.Cut(entries)
	}
	page.Children = make([]tree.PageChild, len(entries))
	for i, e := range entries {
		if page.Children[i], err = read(tx).describe(r, rest, e.Key); err != nil {
			return page, err
		}
	}
	return page, tx.hold(page.Size())
}

// describe returns what a page tells of a child of what find found.
func (rd reader) describe(r row, rest tree.Path, key string) (c tree.PageChild, err error) {
	if r.tag == tagPacked {
		return tree.Describe(key, r.node.Get(rest).Child(key)), nil
	}
	child, err := rd.tx.rowAt(r.id, key, true)
	switch {
	case err != nil:
		return c, err
	case child.tag == tagPacked:
		return tree.Describe(key, child.node), nil
	}
	c = tree.PageChild{Key: key, Priority: child.priority}
	if child.tag == tagContainer {
		n, known, err := countsOf(rd.tx).kept(child.id)
		if c.Object = true; known {
			c.Children = int(n)
		}
		return c, err
	}
	for chunk, err := range rd.chunks(child.id) {
		if err != nil {
			return c, err
		}
		start := chunk[:min(len(chunk), 4*tree.PreviewChars+4)]
		c.Value, c.Bytes = tree.Preview(string(start), int(child.size))
		break
	}
	return c, nil
}
