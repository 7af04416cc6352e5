package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/sync/echo"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/tree"
)

// This file answers requests whose data need not fit into memory: imports,
// exports and backups, all for administrators only.

const (
	bulkFrom   = 4 << 20 // bytes from which a body without limit is an import; below, a write is as any other
	streamFrom = 1 << 20 // bytes from which the value of a PUT is stored while it arrives, if that can be
	streamWork = 8 << 20 // memory that this takes, however long the body is
)

const typeBinary = "application/octet-stream"

// putData replaces the value at the path. An administrator's body is streamed if it has no
// limit: PUT /rooms.json?writeSizeLimit=unlimited&import=true, and if nobody has to see the
// value as a whole, as for an ETag or print=pretty.
//
// A body is streamed only if nothing has to see the value as a whole before it is stored:
// the rules of a caller that they apply to, an ETag, or an answer in another form. Such
// requests are parsed in memory, within the bounds of MaxWriteBytes.
func putData(q *request) (answer, error) {
	if err := q.openChange(); err != nil {
		return answer{}, err
	}
	f := &q.form
	streams := q.id.Admin && !f.explain && !q.target.Priority && q.cond == (conditions{})
	unlimited := f.maxWrite == "unlimited"
	switch {
	case streams && unlimited && isLarge(q, bulkFrom):
		return importBody(q)
	case streams && !f.pretty && !f.dataOnly && isLarge(q, streamFrom) && q.db.MayPut(q.target.Path):
		if f.silent {
			_, err := streamBody(q, nil)
			return answer{status: http.StatusNoContent}, err
		}
		if q.s.echoes.Try(1) == nil {
			defer q.s.echoes.Release(1)
			return echoBody(q)
		}
	}
	a, err := putValue(q)
	if err == nil && f.dataOnly {
		tellBuilding(q)
	}
	if unlimited {
		err = located(err)
	}
	return a, err
}

// streamBody stores the value of a PUT while it arrives, within the limits of any write. to
// is as in dsync.Database.Put. A body with a mistake is read to its end, since many clients
// do not look at an answer before they have sent everything.
func streamBody(q *request, to io.Writer) (sums []echo.Value, err error) {
	src, err := q.plainBody(q.s.opts.MaxWriteBytes, false)
	if err != nil {
		return nil, bodyError(err)
	}
	if err := q.acquireWork(min(streamWork, q.work.Of.Most())); err != nil {
		return nil, err
	}
	body := &bodyReader{Reader: src, limit: maxWriteSize(q)}
	sums, err = q.db.Put(q.r.Context(), q.target.Path, body, to)
	if wrong := (*tree.ParseError)(nil); errors.As(err, &wrong) {
		_, _ = io.Copy(io.Discard, body) // the client is told when it has sent all, and of its length first
	}
	switch {
	case body.err != nil && err != nil:
		err = bodyError(body.err)
	case err != nil && q.form.maxWrite == "unlimited":
		err = located(err)
	}
	return sums, err
}

// echoBody is streamBody for a client that wants to see the value that was written. What
// goes wrong with the file is known before the commit, and the answer is sent after it.
//
// The value has to be the one of this write, whatever others write next, and a client may
// take minutes to read it. So it can neither be read page by page while it is sent, since
// there is no snapshot of it later, nor from a snapshot that is held until then: that
// keeps freed pages from being used again, and the file grows.
func echoBody(q *request) (answer, error) {
	return spooled(q, func(s *spool) error {
		sums, err := streamBody(q, cutWriter{q.r.Context(), s})
		if err != nil {
			return err
		}
		q.releaseBody() // it may take long to send
		return sendSpool(q, s, typeJSON, sums)
	})
}

// isLarge reports whether the body is long enough to be streamed. If its length is not
// known, its beginning is read.
func isLarge(q *request, from int64) bool {
	if q.r.ContentLength >= 0 {
		return q.r.ContentLength > from
	}
	body := q.r.Body
	var head bytes.Buffer
	n, err := io.CopyN(&head, patientReader(q, body), from+1)
	q.r.Body = readCloser{io.MultiReader(&head, &rest{body, err}), body}
	return n > from
}

// A rest is what is left of a body, or the error that ended its beginning.
type rest struct {
	body io.Reader
	err  error
}

func (r *rest) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.body.Read(p)
}

type readCloser struct {
	io.Reader
	io.Closer
}

// patientReader returns the body as one that may take as long as it keeps arriving.
func patientReader(q *request, body io.ReadCloser) io.Reader {
	return &patientBody{q: q, body: body, due: time.Now().Add(bodyGrace)}
}

// importBody answers with counts, not with an echo: a client that sends so much does not
// want it back.
func importBody(q *request) (answer, error) {
	leave, err := enterBulk(q, &q.s.imports)
	if err != nil {
		return answer{}, err
	}
	defer leave()
	src, err := decodedBody(q, patientReader(q, q.r.Body))
	if err != nil {
		return answer{}, err
	}
	body := &bodyReader{Reader: src}
	began := time.Now()
	done, err := q.db.Import(q.r.Context(), q.target.Path, body, nil)
	if body.err != nil && err != nil {
		return answer{}, bodyError(body.err)
	}
	if err != nil {
		return answer{}, diskError(located(err))
	}
	q.s.log.InfoContext(q.r.Context(), "imported", "namespace", q.ns, "path", q.target.Path, "bytes", done.Bytes, "rows", done.Rows, "took", time.Since(began))
	tellBuilding(q)
	return q.json(func(dst []byte) []byte {
		dst = strconv.AppendInt(append(dst, `{"bytes":`...), done.Bytes, 10)
		return append(dst, '}')
	}), nil
}

// enterBulk takes a place among imports or exports, for as long as the client sends or reads.
func enterBulk(q *request, places *observe.Places) (leave func(), err error) {
	if leave, err = places.Enter(placeShare(q)); err != nil {
		q.refused(metrics.Bulk)
		err = &detailedError{errOverloaded, err.Error()}
	}
	return leave, err
}

// located has a mistake in an import answered with its place, if it is one.
func located(err error) error {
	if e := (*tree.ParseError)(nil); errors.As(err, &e) {
		return &detailedError{e, e.Error()}
	}
	return err
}

// A bodyReader remembers how a body failed.
type bodyReader struct {
	io.Reader
	limit string // of its size, a value of writeSizeLimit; "": none
	size  int
	err   error
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.size += n; err == io.EOF && !fits(r.size, r.limit) {
		err = badRequest(textWriteTooBig)
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// decodedBody returns a body without its content coding.
func decodedBody(q *request, body io.Reader) (io.Reader, error) {
	switch coding := strings.ToLower(strings.Join(q.r.Header.Values("Content-Encoding"), ",")); coding {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, badRequest("Invalid data; the body is not gzip")
		}
		return z, nil
	}
	return nil, errCoding
}

// getData answers with the value at the path. An administrator's export may be
// of any size: GET /rooms.json?format=export
func getData(q *request) (answer, error) {
	if err := q.open(); err != nil {
		return answer{}, err
	}
	if !q.id.Admin || !q.form.export || !exportsAll(q) {
		return getValue(q)
	}
	f := &q.form
	return sendSpooled(q, typeJSON, f.download, func(w io.Writer) error {
		ctx, cancel := newReadContext(q.r.Context(), q.gone(), q.form.timeout)
		defer cancel()
		return q.db.Export(ctx, q.view(), w)
	})
}

// exportsAll reports whether a request asks for the whole value at the path and for nothing else.
func exportsAll(q *request) bool {
	f := &q.form
	whole := !f.isQuery && !f.shallow && !f.explain && !f.count && len(f.extensions()) == 0
	plain := !f.pretty && !f.silent && f.callback == "" && q.cond == (conditions{})
	return whole && plain && !q.target.Priority && !wantsEvents(q.r.Header)
}

// getBackup answers with a copy of the database's file, made while it is in
// use: GET /.settings/backup
func getBackup(q *request) (answer, error) {
	return sendSpooled(q, typeBinary, q.ns+fileSuffix, func(w io.Writer) error {
		_, err := q.db.Backup(w)
		if errors.Is(err, fault.ErrNoFile) {
			return &statusError{http.StatusConflict, "The database is kept in memory; it has no file to back up."}
		}
		return diskError(err)
	})
}

// sendSpooled answers with what emit writes.
func sendSpooled(q *request, kind, name string, emit func(io.Writer) error) (answer, error) {
	leave, err := enterBulk(q, &q.s.exports)
	if err != nil {
		return answer{}, err
	}
	defer leave()
	return spooled(q, func(s *spool) error {
		if err := emit(cutWriter{q.r.Context(), s}); err != nil {
			return err
		}
		if name != "" {
			q.w.Header().Set("Content-Disposition", disposition(name))
		}
		return sendSpool(q, s, kind, nil)
	})
}

// spooled answers by f, which has a spool that is closed after it.
func spooled(q *request, f func(*spool) error) (answer, error) {
	s := newSpool(q.s.opts.Dir)
	err := f(s)
	if err := s.close(); err != nil {
		q.s.log.Error("a temporary file is left", "dir", q.s.opts.Dir, "err", err)
	}
	return answer{}, err // it is sent, unless there is an error
}

// sendSpool sends what a spool has, with values in its holes.
func sendSpool(q *request, s *spool, kind string, values []echo.Value) error {
	src, err := s.reader()
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", kind)
	text, size := echo.Fill(src, s.size, values)
	streamFile(q, text, size)
	return nil
}
