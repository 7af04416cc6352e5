package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/limit"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// getValue answers with the value at the path, through a query if there is one:
// GET /rooms/r1.json. The request was opened.
func getValue(q *request) (answer, error) {
	if err := checkForms(q); err != nil {
		return answer{}, err
	}
	if names := q.form.extensions(); len(names) > 0 {
		expose(q.w.Header(), headerExtensions, strings.Join(names, ", "))
	}
	a, err := answerGet(q)
	if err == nil && a.status == http.StatusOK {
		tellBuilding(q)
	}
	return a, err
}

// tellBuilding names the definitions that are not ready and may meet the path.
func tellBuilding(q *request) {
	if names := q.db.Unfinished(q.target.Path); len(names) > 0 {
		expose(q.w.Header(), "X-Dogwood-Building", strings.Join(names, ", "))
	}
}

// headerExtensions names the parameters beyond those of Firebase that an answer is by. Other
// servers ignore them, and answer with more than was asked for.
const headerExtensions = "X-Dogwood-Extensions"

// answerGet answers in the form that is asked for.
func answerGet(q *request) (answer, error) {
	if q.r.Method == http.MethodGet && wantsEvents(q.r.Header) {
		return streamValue(q)
	}
	switch {
	case q.form.changes:
		return answer{}, badRequest("changes goes with event streams")
	case q.form.notify:
		return answer{}, badRequest("notify goes with event streams")
	}
	if q.form.count {
		return answerBriefly(q, readCount)
	}
	if q.form.pages {
		return answerBriefly(q, readPage)
	}
	if q.form.own {
		return answerWith(q, readReadable)
	}
	if q.form.explain {
		return answerWith(q, explainRead)
	}
	if q.form.shallow && !q.target.Priority {
		return answerBriefly(q, readKeys)
	}
	return answerBriefly(q, readValue)
}

// answerBriefly runs f, which reads a value and answers with it, in a place among the brief
// reads. If that takes long, f begins again in a place among the others. So a small value is
// read at once, whatever large ones others read: how large a value is, is known only when it
// is read. The first attempt is wasted for a large value, and bounded by store.BriefBytes
// and a number of rows.
func answerBriefly(q *request, f reading) (answer, error) {
	q.attempt = brief
	a, err := answerOnce(q, q.briefs, f)
	if err == nil { // which is most often; what is below allocates
		return a, nil
	}
	if full := (*noMemoryError)(nil); !errors.Is(err, fault.ErrLong) && !errors.As(err, &full) {
		return a, err
	}
	q.attempt = again
	return answerWith(q, f)
}

// answerWith runs f, which reads a value and answers with it, in a place among the reads.
// Where f finds no memory, what it read is forgotten, and f runs again once there is
// memory, so that nothing large is held while waiting.
//
// Waiting while holding what was read would be simpler. But then a few large values could
// fill the memory with reads that cannot finish.
func answerWith(q *request, f reading) (answer, error) {
	a, err := answerOnce(q, q.readers, f)
	var until context.Context
	for full := (*noMemoryError)(nil); errors.As(err, &full); {
		if until == nil {
			q.countWait(full.hold, full.refusal)
			ctx, cancel := context.WithTimeout(q.r.Context(), peer.MemoryTimeout)
			defer cancel()
			until = ctx
		}
		if err := q.waitFor(until, full); err != nil {
			return answer{}, err
		}
		a, err = answerOnce(q, q.readers, f)
	}
	return a, err
}

// A reading reads a value, until a context ends, and answers with it.
type reading func(context.Context, *request) (answer, error)

func answerOnce(q *request, places *limit.Share, f reading) (answer, error) {
	if err := q.acquirePlace(places); err != nil {
		return answer{}, err
	}
	defer q.releasePlace(places)
	ctx := q.readContext()
	defer ctx.end()
	return f(ctx, q)
}

// readValue answers with what the request reads.
func readValue(ctx context.Context, q *request) (answer, error) {
	n, err := readNode(ctx, q)
	if err != nil {
		return answer{}, err
	}
	if q.cond.has(n) {
		return answer{status: http.StatusNotModified, tag: tagOf(n)}, nil
	}
	if err := q.reserve(len(n.JSON())); err != nil {
		return answer{}, err
	}
	a := nodeOrExport(q, n)
	a.tag = q.cond.tag(n)
	return a, nil
}

// nodeOrExport answers with a node in the form that is asked for.
func nodeOrExport(q *request, n tree.Node) answer {
	if !q.form.export {
		return q.node(n)
	}
	return q.json(func(dst []byte) []byte { return tree.AppendExport(dst, n) })
}

func readNode(ctx context.Context, q *request) (tree.Node, error) {
	if q.target.Priority {
		return q.db.Priority(ctx, q.view())
	}
	n, err := q.db.Get(ctx, q.view())
	if q.form.isQuery && n.IsLeaf() { // has no children to select (REST §5.1)
		n = tree.Empty
	}
	return n, err
}

// readKeys answers with the keys below the path: GET /rooms.json?shallow=true
func readKeys(ctx context.Context, q *request) (answer, error) {
	l, err := q.db.Shallow(ctx, q.view(), q.form.after, q.form.query.Limit)
	if err != nil {
		return answer{}, err
	}
	if l.Keys.Len() == 0 {
		return q.node(l.Leaf), nil
	}
	if err := q.reserve(listingSize(l.Keys)); err != nil {
		return answer{}, err
	}
	return q.json(func(dst []byte) []byte { return appendListing(dst, l.Keys) }), nil
}

// appendListing appends an object that maps each key to true. It is never an
// array.
func appendListing(dst []byte, keys dsync.KeyList) []byte {
	sep := byte('{')
	for key := range keys.All() {
		dst = append(wire.AppendString(append(dst, sep), key), ":true"...)
		sep = ','
	}
	return append(dst, '}')
}

// listingSize returns about how long a listing is.
func listingSize(keys dsync.KeyList) int { return keys.Size() + keys.Len()*len(`"":true,`) + 1 }

// readCount answers with the number of children that the request would read:
// GET /rooms.json?orderBy="type"&equalTo="public"&count=true
func readCount(ctx context.Context, q *request) (answer, error) {
	n, err := q.db.Count(ctx, q.view())
	if err != nil {
		return answer{}, err
	}
	return q.json(func(dst []byte) []byte { return strconv.AppendInt(dst, int64(n), 10) }), nil
}

// readPage answers with a page that describes children:
// GET /rooms.json?children=true&limitToFirst=200&startAfter="k"
func readPage(ctx context.Context, q *request) (answer, error) {
	page, err := dsync.Children(ctx, q.db, q.view(), q.form.reverse)
	if err != nil {
		return answer{}, err
	}
	if err := q.reserve(page.Size()); err != nil {
		return answer{}, err
	}
	return q.json(page.AppendJSON), nil
}

// headerNext has the next= of the page of readable=true that follows.
const headerNext = "X-Dogwood-Next"

// readReadable answers with the children that the caller may read:
// GET /rooms.json?readable=true&limitToFirst=50
func readReadable(ctx context.Context, q *request) (answer, error) {
	r, listing, after := q.view(), q.ns+"/"+q.target.Path.Clean(), ""
	if q.form.next != "" {
		var err error
		if after, err = q.s.bookmarks.Open(listing, q.form.next); err != nil {
			return answer{}, badRequest("next is not that of a page of this listing, or the server was started since: begin without it")
		}
	}
	r.KeysOnly, r.Plain = q.form.shallow, false
	page, err := dsync.Readable(ctx, q.db, r, after)
	if err != nil {
		return answer{}, err
	}
	size := len(page.Node.JSON())
	for _, key := range page.Keys {
		size += len(key) + len(`"":true,`)
	}
	if err := q.reserve(size); err != nil {
		return answer{}, err
	}
	if page.Next != "" {
		expose(q.w.Header(), headerNext, q.s.bookmarks.Seal(listing, page.Next))
	}
	if q.form.shallow {
		return q.json(func(dst []byte) []byte { return appendKeys(dst, page.Keys) }), nil
	}
	return nodeOrExport(q, page.Node), nil
}

func appendKeys(dst []byte, keys []string) []byte {
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendString(dst, key), ":true"...)
	}
	return append(dst, '}')
}

// checkForms refuses what makes no sense with count=true, children=true or readable=true.
func checkForms(q *request) error {
	switch f := &q.form; {
	case f.own && q.target.Priority:
		return badRequest("readable is not supported for priorities")
	case f.own && (wantsEvents(q.r.Header) || q.cond != (conditions{})):
		return badRequest("Mixing readable and event streams or ETag requests is not supported")
	case f.pages:
		return checkPages(q)
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

func checkPages(q *request) error {
	switch {
	case q.form.count:
		return badRequest("Mixing count and children is not supported")
	case q.form.explain:
		return badRequest("Mixing explain and children is not supported")
	case q.form.export:
		return badRequest("Mixing format and children is not supported")
	case q.target.Priority:
		return badRequest("children is not supported for priorities")
	case q.cond != (conditions{}):
		return badRequest("Mixing children and ETag requests is not supported")
	}
	return nil
}

// explainRead answers with what the read takes, in place of what it reads:
// GET /rooms.json?orderBy="type"&equalTo="public"&explain=true
func explainRead(ctx context.Context, q *request) (answer, error) {
	if q.target.Priority {
		return answer{}, badRequest("explain is not supported for priorities")
	}
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
