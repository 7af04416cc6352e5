package server

import "strconv"

// readCount answers with the number of children that the request would read:
// GET /rooms.json?orderBy="type"&equalTo="public"&count=true
func readCount(q *request) (answer, error) {
	ctx, cancel := newReadContext(q.r.Context(), q.form.timeout)
	defer cancel()
	n, err := q.db.Count(ctx, q.view())
	if err != nil {
		return answer{}, err
	}
	return q.json(func(dst []byte) []byte { return strconv.AppendInt(dst, int64(n), 10) }), nil
}

// checkCount refuses what makes no sense beside count=true.
func checkCount(q *request) error {
	switch f := &q.form; {
	case !f.count:
		return nil
	case f.shallow:
		return badRequest("Mixing 'shallow' and count is not supported")
	case f.query.Limit > 0:
		return badRequest("Mixing limits and count is not supported")
	case f.explain:
		return badRequest("Mixing explain and count is not supported")
	case q.target.Priority:
		return badRequest("count is not supported for priorities")
	case q.cond != (conditions{}):
		return badRequest("Mixing count and ETag requests is not supported")
	}
	return nil
}
