package server

import (
	"errors"
	"fmt"
	"net/http"
	"sort"
	"strconv"
	"strings"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// putValue replaces the value, or the priority, at the path and echoes it:
// PUT /rooms/r1.json. The request was opened.
func putValue(q *request) (answer, error) {
	src, err := readNewData(q)
	if err != nil {
		return answer{}, err
	}
	w, err := parseWrite(q, q.target, src)
	if err == nil && q.form.dataOnly {
		err = wantsData(w.Value)
	}
	if err != nil {
		return answer{}, err
	}
	if err := q.await(len(src)); err != nil {
		return answer{}, err
	}
	return replaceValue(q, w)
}

// deleteValue deletes the value at the path: DELETE /rooms/r1.json
func deleteValue(q *request) (answer, error) {
	if err := q.openChange(); err != nil {
		return answer{}, err
	}
	return replaceValue(q, tree.Write{Target: q.target})
}

func replaceValue(q *request, w tree.Write) (answer, error) {
	c, a, err := performWrite(q, dsync.Write{
		Caller: q.id.Caller,
		Update: tree.Update{w},
		Base:   w.Path,
		If:     q.cond.hash(),
		Shown:  true,
	})
	if c != nil {
		answering(q, len(c.Writes[0].Node.Text()), func() {
			n, whole := c.Shown(0)
			a = q.node(n)
			if !whole || !c.Stays(0) {
				a.tag = "" // it would tell the same as the value, or is not that of what was stored
			}
		})
		return a, nil
	}
	if stale := (*fault.StaleError)(nil); errors.As(err, &stale) {
		size := len(stale.Current.JSON())
		if err := q.reserve(size); err != nil {
			return answer{}, err
		}
		answering(q, size, func() { a = q.node(stale.Current) }) // clients take the value from here and try again
		a.status = http.StatusPreconditionFailed
		return a, nil
	}
	return a, err
}

// answering runs f, which makes the answer of a write from a value of size bytes, in a place among
// the reads if that is long: to hash a value takes longer than to parse it. It does not fail, since
// the write was made.
func answering(q *request, size int, f func()) {
	if q.form.silent && !q.cond.wantTag {
		size = 0 // the value is not looked at
	}
	q.making(size, f)
}

// performWrite carries a write out. If the request only wants it explained, there is no
// commit, but an answer.
//
// When it returns without an error the write is on the disk. From here on nothing may
// fail that would make the client send it again: the memory for the answer was taken
// before (await).
func performWrite(q *request, w dsync.Write) (c *dsync.Commit, explained answer, err error) {
	w.Turn, w.Door, w.Conflicts = q.readers, dsync.DoorREST, true
	if q.form.explain {
		explained, err = explainWrite(q, w)
		return nil, explained, err
	}
	w.Quota = q.s.peers.Resources(q.peer).Quota
	c, err = q.db.Write(q.r.Context(), w)
	if c != nil && c.Kept > 0 {
		expose(q.w.Header(), "X-Dogwood-Kept", strconv.Itoa(c.Kept))
	}
	return c, answer{}, err
}

// postValue adds a child under a new push id: POST /rooms/r1/messages.json
func postValue(q *request) (answer, error) {
	src, err := openForValue(q)
	if err != nil {
		return answer{}, err
	}
	if err := refusePriority(q); err != nil {
		return answer{}, err
	}
	name := q.db.NextPushID()
	w, err := parseWrite(q, tree.Target{Path: q.target.Path.Child(name)}, src)
	if err != nil {
		return answer{}, err
	}
	c, explained, err := performWrite(q, dsync.Write{Caller: q.id.Caller, Update: tree.Update{w}, Base: w.Path})
	if c == nil {
		return explained, err
	}
	a := q.jsonText(`{"name":"` + name + `"}`)
	if c.Stays(0) && q.cond.wantTag {
		q.making(len(src), func() { a.tag = tagOf(c.Writes[0].Node) })
	}
	return a, nil
}

// patchValue writes several places below the path at once: PATCH /rooms/r1.json.
// A body of null deletes the node: that is how the CLI removes (REST §2).
func patchValue(q *request) (answer, error) {
	src, err := openForPatch(q)
	if err != nil {
		return answer{}, err
	}
	if err := refusePriority(q); err != nil {
		return answer{}, err
	}
	if strings.TrimSpace(src) == "null" {
		return replaceValue(q, tree.Write{Target: q.target})
	}
	base := q.target.Path
	update, err := parseUpdate(q, base, src)
	if err != nil {
		return answer{}, err
	}
	if len(update) == 0 {
		return q.jsonText("{}"), nil
	}
	if err := q.await(len(src)); err != nil {
		return answer{}, err
	}
	c, explained, err := performWrite(q, dsync.Write{Caller: q.id.Caller, Update: update, Merge: true, Base: base, Shown: true})
	if c == nil {
		return explained, err
	}
	var a answer
	answering(q, len(src), func() { a = q.json(func(dst []byte) []byte { return appendEcho(dst, base, c) }) })
	return a, nil
}

// appendEcho appends what a PATCH wrote as the object that was sent, with nulls and with
// server values resolved, but for those that the caller may not see (REST §2.1).
func appendEcho(dst []byte, base tree.Path, c *dsync.Commit) []byte {
	type member struct {
		key  string
		node tree.Node
	}
	var members []member
	for i, w := range c.Writes {
		n, whole := c.Shown(i)
		if !whole && n.IsEmpty() {
			continue // null would say that there is nothing
		}
		rel := tree.Target{Path: base.Rel(w.Path), Priority: w.Priority}
		members = append(members, member{strings.TrimPrefix(rel.String(), "/"), n})
	}
	sort.Slice(members, func(i, j int) bool {
		a, b := members[i], members[j]
		return tree.CompareKeys(a.key, b.key) < 0
	})
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(wire.AppendString(dst, m.key), ':')
		dst = tree.AppendPlain(dst, m.node)
	}
	return append(dst, '}')
}

// openChange is open for requests that write. It refuses callers that may write
// nothing here before they can send a body.
func (q *request) openChange() error {
	if err := q.open(); err != nil {
		return err
	}
	return q.mayWrite()
}

func (q *request) mayWrite() error {
	return q.db.MayWrite(q.r.Context(), q.id.Caller, q.target)
}

// openForValue is openChange for requests that bring a value. It returns their
// body.
func openForValue(q *request) (string, error) {
	if err := q.openChange(); err != nil {
		return "", err
	}
	return readNewData(q)
}

// maxEmptyUpdate is the length of the longest text that is taken for an empty
// update where nothing may be written.
const maxEmptyUpdate = 64

// openForPatch is openWrite for updates. One that writes nothing is allowed where nothing
// may be written, too (rules §4.1), so a short body is looked at before it is refused. To
// refuse by the rules alone would differ from the service, which allows an empty update
// anywhere.
func openForPatch(q *request) (string, error) {
	if err := q.open(); err != nil {
		return "", err
	}
	if q.id.Admin || q.r.ContentLength > maxEmptyUpdate || q.db.Rules().MayWrite(q.target.Path) {
		if err := q.mayWrite(); err != nil {
			return "", err
		}
		return readNewData(q)
	}
	src, err := q.text(maxEmptyUpdate)
	if err == nil && isEmptyObject(src) {
		return src, nil
	}
	if err := q.mayWrite(); err != nil {
		return "", err
	}
	return "", fault.ErrDenied // unless the rules have changed just now
}

// isEmptyObject reports whether a text is {} in JSON.
func isEmptyObject(src string) bool {
	const space = " \t\r\n"
	inside, ok := strings.CutPrefix(strings.Trim(src, space), "{")
	return ok && strings.Trim(inside, space) == "}"
}

// readNewData returns the body of a request that brings a value.
func readNewData(q *request) (string, error) {
	src, err := q.text(q.s.opts.MaxWriteBytes)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(src) == "":
		return "", badRequest(textNoData)
	case !fits(len(src), maxWriteSize(q)):
		return "", badRequest(textWriteTooBig)
	}
	return src, q.handling(len(src), func() error { return dsync.CheckValues(q.id.Caller, src) })
}

func parseWrite(q *request, t tree.Target, text string) (w tree.Write, err error) {
	err = q.handling(len(text), func() error {
		w, err = tree.ParseWrite(t, text, tree.Strict)
		return err
	})
	return w, err
}

func parseUpdate(q *request, base tree.Path, text string) (u tree.Update, err error) {
	err = q.handling(len(text), func() error {
		u, err = dsync.ParseUpdate(q.id.Caller, base, text, tree.Strict)
		return err
	})
	return u, err
}

func maxWriteSize(q *request) string {
	if q.form.maxWrite != "" {
		return q.form.maxWrite
	}
	return writeSizeLimit(q)
}

// wantsData refuses server values in an import that is so small that it is written
// as any other value: what a file may hold does not depend on its size.
func wantsData(d tree.Draft) error {
	for v := range d.ServerValues() {
		return badRequest(fmt.Sprintf("Invalid data; server value at %s of what is imported", v.At))
	}
	return nil
}

// refusePriority refuses to treat a priority as a place with children.
func refusePriority(q *request) error {
	if q.target.Priority {
		return tree.ErrInvalidPath
	}
	return nil
}
