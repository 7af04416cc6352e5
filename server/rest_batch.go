package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
)

// pathBatch is where several places are read at once (docs/extensions.md).
const pathBatch = "/.batch.json"

// postBatch reads several places in one state of the database: POST /.batch.json
func postBatch(q *request) (answer, error) {
	if err := openBatch(q); err != nil {
		return answer{}, err
	}
	src, err := q.text(maxBatchBytes)
	if err != nil {
		return answer{}, err
	}
	var entries []dsync.Lookup
	err = q.handling(len(src), func() error {
		entries, err = parseBatch(q.r.Context(), src)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	for i := range entries {
		entries[i].Read.Caller, entries[i].Read.Hold = q.id.Caller, q.hold
		if entries[i].Read.Query.Filter != nil {
			expose(q.w.Header(), headerExtensions, "where")
		}
	}
	return answerWith(q, func(ctx context.Context, q *request) (answer, error) { return findEntries(ctx, q, entries) })
}

// openBatch is open without a path and conditions. The parameters are those of a
// GET, but those that select children: each entry of the body has its own.
func openBatch(q *request) (err error) {
	if err := q.openDatabase(); err != nil {
		return err
	}
	if err := q.identify(); err != nil {
		return err
	}
	q.form, err = parseForm(q.params, http.MethodGet)
	return err
}

// findEntries answers with what the entries of a batch read. All entries are
// read in one transaction: a client that compares two of them compares values
// of the same moment.
func findEntries(ctx context.Context, q *request, entries []dsync.Lookup) (answer, error) {
	all, err := findAll(q, ctx, entries)
	if err != nil {
		return answer{}, err
	}
	q.charge(max(all.Reads-1, all.Bytes/chargedText))
	size := writeChunk + longest(all.Found)
	pieces := batchPieces(q, entries, all, size)
	if all.Bytes > writeChunk && q.mayStream() {
		if err := q.reserve(all.Held + size); err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, pieces: q.inTurns(pieces)}, nil
	}
	if err := q.reserve(all.Bytes + len(entries)*len(`{"path":"","value":},`)); err != nil {
		return answer{}, err
	}
	return q.json(func(dst []byte) []byte {
		for piece := range pieces {
			dst = append(dst, piece...)
		}
		return dst
	}), nil
}

// batchPieces returns the answer in pieces of about size at most, each in the memory of
// the one before. Values are let go of when they are told, so it can be read once.
//
// The answer is made while it is sent, because it can be many times what was read: a
// value that is asked for thirty times is in memory once. So the sum of the values is
// bounded, and the answer needs the memory of its longest part.
func batchPieces(q *request, entries []dsync.Lookup, all dsync.Findings, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		piece := append(make([]byte, 0, min(size, all.Bytes)+usualAnswer), `{"revision":`...)
		piece = strconv.AppendUint(piece, all.Revision, 10)
		piece = append(piece, `,"results":[`...)
		for i := range all.Found {
			if i > 0 {
				piece = append(piece, ',')
			}
			piece = appendFound(q, piece, &entries[i], &all.Found[i])
			all.Found[i] = dsync.Found{}
			if len(piece) < writeChunk {
				continue
			}
			if !yield(piece) {
				return
			}
			piece = piece[:0]
		}
		yield(append(piece, `]}`...))
	}
}

// longest returns about how long the longest of the results is.
func longest(found []dsync.Found) (size int) {
	for i := range found {
		n := len(found[i].Node.Text())
		for _, one := range found[i].Each {
			n += len(one.Node.Text())
		}
		size = max(size, n)
	}
	return size
}

func findAll(q *request, ctx context.Context, entries []dsync.Lookup) (dsync.Findings, error) {
	all, err := q.db.GetAll(ctx, entries)
	if tooMany := (*fault.TooManyError)(nil); errors.As(err, &tooMany) {
		err = badRequest(tooMany.Error())
	}
	if errors.Is(err, fault.ErrTooBig) {
		err = &detailedError{badRequest(textReadTooBig), fault.Detail(err)}
	}
	return all, err
}

// appendFound appends the result of one entry: its path with the value, with keys
// and values, or with the reason why there is neither.
func appendFound(q *request, dst []byte, l *dsync.Lookup, f *dsync.Found) []byte {
	dst = wire.AppendString(append(dst, `{"path":`...), l.Read.Path.String())
	switch {
	case f.Err != nil:
		status, text := f.Status()
		dst = wire.AppendString(append(dst, `,"error":`...), text)
		dst = wire.AppendString(append(dst, `,"code":`...), status)
	case f.Each != nil:
		dst = appendEach(q, dst, f)
	case f.Listing != nil && f.Listing.Keys.Len() > 0:
		dst = appendListing(append(dst, `,"value":`...), f.Listing.Keys)
	case f.Listing != nil:
		dst = appendFoundValue(q, append(dst, `,"value":`...), f.Listing.Leaf)
	default:
		dst = appendFoundValue(q, append(dst, `,"value":`...), selected(l, f.Node))
	}
	return append(dst, '}')
}

// appendEach appends all keys, the values that there are, and the errors, if there
// are any.
func appendEach(q *request, dst []byte, f *dsync.Found) []byte {
	dst = f.AppendKeys(append(dst, `,"keys":[`...))
	failed := false
	dst = f.AppendMembers(append(dst, `],"values":{`...), func(one *dsync.Found, dst []byte) ([]byte, bool) {
		failed = failed || one.Err != nil
		if one.Node.IsEmpty() {
			return dst, false
		}
		return appendFoundValue(q, dst, one.Node), true
	})
	if dst = append(dst, '}'); !failed {
		return dst
	}
	dst = f.AppendMembers(append(dst, `,"errors":{`...), func(one *dsync.Found, dst []byte) ([]byte, bool) {
		if one.Err == nil {
			return dst, false
		}
		_, text := one.Status()
		return wire.AppendString(dst, text), true
	})
	return append(dst, '}')
}

// selected returns what an entry shows of what was read. A leaf has no children for
// a query to select (REST §5.1).
func selected(l *dsync.Lookup, n tree.Node) tree.Node {
	if !l.Read.Plain && n.IsLeaf() {
		return tree.Empty
	}
	return n
}

func appendFoundValue(q *request, dst []byte, n tree.Node) []byte {
	if q.form.export {
		return tree.AppendExport(dst, n)
	}
	return tree.AppendPlain(dst, n)
}

// maxBatchBytes bounds the body of a batch.
const maxBatchBytes = 1 << 20

// parseBatch reads the body of a batch. Mistakes are answered with 400 and say
// which entry has them.
func parseBatch(ctx context.Context, src string) ([]dsync.Lookup, error) {
	var body struct {
		Get []map[string]json.RawMessage `json:"get"`
	}
	d := json.NewDecoder(strings.NewReader(src))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || d.More() || body.Get == nil || !utf8.ValidString(src) {
		return nil, badRequest(`Invalid data; a batch is {"get":[{"path":"/rooms/r1"}]}`)
	}
	if len(body.Get) > dsync.MaxLookups {
		return nil, badRequest(dsync.TooManyLookups().Error())
	}
	entries := make([]dsync.Lookup, len(body.Get))
	var filters query.Filters
	for i, members := range body.Get {
		if err := ctx.Err(); err != nil { // to compile many filters takes long
			return nil, err
		}
		var err error
		if entries[i], err = parseEntry(members); err == nil {
			err = filters.Add(entries[i].Read.Query)
		}
		if err != nil {
			return nil, badRequest(fmt.Sprintf("get[%d]: %s", i, batchErrorText(err)))
		}
	}
	return entries, nil
}

func batchErrorText(err error) string {
	switch {
	case errors.Is(err, tree.ErrInvalidPath):
		return textBadPath
	case errors.Is(err, tree.ErrTooDeep):
		return textTooDeep
	}
	return err.Error()
}

func parseEntry(members map[string]json.RawMessage) (l dsync.Lookup, err error) {
	var ps params
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := bytes.TrimSpace(members[name])
		switch name {
		case "path", "keys":
			l.Read.Path, err = batchPath(name, raw)
		case "child":
			l.Each, err = batchTemplate(raw)
		case "where":
			var text string
			text, err = batchString(name, raw)
			ps = append(ps, param{name, text})
		case "shallow":
			if l.Shallow = string(raw) == "true"; !l.Shallow && string(raw) != "false" {
				err = errors.New("shallow must be true or false")
			}
		default:
			if !slices.Contains(queryParams, name) {
				return l, fmt.Errorf("there is no member %.40q", name)
			}
			ps = append(ps, param{name, string(raw)})
		}
		if err != nil {
			return l, err
		}
	}
	if err := checkEntry(members, l.Shallow, ps.isQuery()); err != nil {
		return l, err
	}
	l.Read.Plain = !ps.isQuery()
	l.Read.Query, err = parseQuery(ps)
	return l, err
}

// queryParams are the members of an entry that select children. Their values are
// what the parameters of a GET are, without their escapes: "orderBy":"$key".
var queryParams = slices.Concat([]string{"orderBy", "maxVisited"}, boundParams, limitParams)

// checkEntry refuses combinations that mean nothing.
func checkEntry(members map[string]json.RawMessage, shallow, isQuery bool) error {
	_, path := members["path"]
	_, keys := members["keys"]
	_, child := members["child"]
	switch {
	case path == keys:
		return errors.New("there must be a path, or keys and child")
	case keys != child:
		return errors.New("keys and child go together")
	case shallow && (keys || isQuery):
		return errors.New("Mixing 'shallow' and querying parameters is not supported")
	}
	return nil
}

func batchPath(name string, raw []byte) (tree.Path, error) {
	text, err := batchString(name, raw)
	if err != nil {
		return tree.Root, err
	}
	return tree.ParsePath(text)
}

func batchTemplate(raw []byte) (*tree.Template, error) {
	text, err := batchString("child", raw)
	if err != nil {
		return nil, err
	}
	t, err := tree.ParseTemplate(text)
	if errors.Is(err, tree.ErrTemplate) {
		err = errors.New("child must be a path with $key in place of a segment")
	}
	return &t, err
}

func batchString(name string, raw []byte) (text string, err error) {
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", errors.New(name + " must be a string")
	}
	return text, nil
}
