package server

import (
	"encoding/json"

	dsync "github.com/dogwooddb/dogwood/sync"
)

// explainRead answers with what the read takes, in place of what it reads:
// GET /rooms.json?orderBy="type"&equalTo="public"&explain=true
func explainRead(q *request) (answer, error) {
	if q.target.Priority {
		return answer{}, badRequest("explain is not supported for priorities")
	}
	ctx, cancel := newReadContext(q.r.Context(), q.form.timeout)
	defer cancel()
	if q.form.shallow {
		e, err := q.db.ExplainShallow(ctx, q.view(), q.form.after, q.form.query.Limit)
		return explainedAnswer(q, e, err)
	}
	e, err := q.db.Explain(ctx, q.view())
	return explainedAnswer(q, e, err)
}

// explainWrite answers with what a write would take, which is not made.
func explainWrite(q *request, w dsync.Write) (answer, error) {
	e, err := q.db.ExplainWrite(q.r.Context(), w)
	return explainedAnswer(q, e, err)
}

func explainedAnswer(q *request, e any, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return answer{}, err
	}
	return q.jsonText(string(text)), nil
}
