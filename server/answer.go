package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/wire"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/piecewise"
	"github.com/dogwooddb/dogwood/tree/store/durable"
)

const (
	typeJSON   = "application/json; charset=utf-8"
	typeScript = "application/javascript; charset=utf-8"
	typeText   = "text/plain; charset=utf-8"
)

// usualAnswer is the length up to which an answer is made in one piece of memory.
const usualAnswer = 256

// An answer is a whole response to a request. The zero answer is one that has
// been sent already, as event streams are.
//
// Handlers return it and do not write to the client. So an error after half of
// the work is still answered with its own status, the memory of what was read
// is given back before a slow client begins to take the answer, and HEAD is GET
// without the last step.
type answer struct {
	status int
	kind   string // Content-Type; "" is typeJSON
	tag    string // ETag, "" for none
	body   []byte

	// pieces, if not nil, are in place of body: of an answer that is made while it is
	// sent, since it is longer than what it is made of. A piece is good until the next.
	pieces iter.Seq[[]byte]
}

// json answers 200 with compact JSON, in the form that print= asks for. body
// is called only if the client wants to see it.
func (q *request) json(body func(dst []byte) []byte) answer {
	if q.form.silent {
		return answer{status: http.StatusNoContent}
	}
	a := answer{status: http.StatusOK, body: body(make([]byte, 0, max(q.answer.Size(), usualAnswer)))}
	q.settle(a.body)
	if q.form.pretty || q.form.callback != "" {
		a.body, a.pieces = gathered(dressed(&q.form, a.body))
	}
	if q.form.callback != "" {
		a.kind = typeScript
	}
	return a
}

// dressedPiece is about how long the pieces of an answer in another form are.
const dressedPiece = smallAnswer / 2

// dressed yields compact JSON in the form that print= and callback= ask for. That can be ten
// times as long, so it is made while it is sent: only the compact one, which stays as it is, is in
// memory, and was counted.
func dressed(f *form, compact []byte) iter.Seq[[]byte] {
	text, before, after := inPieces(compact), "", "\n"
	if f.pretty {
		text = tree.PrettyPieces(piecewise.Own(compact), dressedPiece)
	}
	if f.callback != "" {
		before, after = f.callback+"(", ");"
	}
	return func(yield func([]byte) bool) {
		if !yield([]byte(before)) {
			return
		}
		for piece := range text {
			if f.callback != "" {
				piece = []byte(lineSeparators.Replace(string(piece)))
			}
			if !yield(piece) {
				return
			}
		}
		yield([]byte(after))
	}
}

// lineSeparators are two characters that JSON may hold, and strings of older JavaScript may not.
var lineSeparators = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

// inPieces yields a text in pieces that do not end inside of a character.
func inPieces(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rest := text
		for len(rest) > dressedPiece {
			n := dressedPiece
			for !utf8.RuneStart(rest[n]) {
				n--
			}
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
		yield(rest)
	}
}

// gathered returns the text of pieces if it is short, or else the pieces.
func gathered(pieces iter.Seq[[]byte]) (text []byte, long iter.Seq[[]byte]) {
	for piece := range pieces {
		if len(text)+len(piece) > smallAnswer {
			return nil, pieces
		}
		text = append(text, piece...)
	}
	return text, nil
}

// mayStream reports whether compact JSON is sent as it is, so that it can be sent in
// pieces.
func (q *request) mayStream() bool {
	return !q.form.silent && !q.form.pretty && q.form.callback == ""
}

// jsonText is json for a text that is there.
func (q *request) jsonText(body string) answer {
	return q.json(func(dst []byte) []byte { return piecewise.Append(dst, body) })
}

// node answers with a value in plain form, with the ETag that was asked for.
func (q *request) node(n tree.Node) answer {
	a := q.json(func(dst []byte) []byte { return tree.AppendPlain(dst, n) })
	a.tag = q.cond.tag(n)
	return a
}

// failureAnswer answers with an error, always as pretty JSON (REST §4.2), and logs
// what is our own fault.
//
// A request that ended because its client left gets no answer and counts as no failure.
// One that was cut by a shutdown is told so: for a write that means that it had no
// effect, because writes are cut only after the database has refused them.
func failureAnswer(q *request, err error) answer {
	if q.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		if !isCut(q.r.Context()) {
			return answer{} // the client left
		}
		err = fault.ErrClosed // which a write waits for (dsync.Database.BeginClose): this had no effect
	}
	q.countFailure(err)
	e := q.statusOf(err)
	if e.status == http.StatusInternalServerError {
		if count, ok := q.s.lines.wrong.Often(time.Since(q.s.began)); ok {
			q.s.log.ErrorContext(q.r.Context(), "request failed", "request", observe.RequestOf(q.w), "method", q.method, "namespace", q.ns, "path", observe.Clipped(q.path), "err", err, "count", count)
		}
	}
	if e.status == http.StatusServiceUnavailable || e.status == http.StatusTooManyRequests {
		q.w.Header().Set("Retry-After", "1")
	}
	body := append([]byte("{\n  \"error\" : "), wire.AppendString(nil, e.text)...)
	detail := q.detailOf(err)
	if detail == "" && e.text == textDenied && q.ignoresHeader() {
		detail = detailScheme
	}
	if detail != "" {
		body = wire.AppendString(append(body, ",\n  \"detail\" : "...), detail)
	}
	if name := fault.Definition(err); name != "" {
		body = wire.AppendString(append(body, ",\n  \"definition\" : "...), name)
	}
	return answer{status: e.status, body: append(body, "\n}\n"...)}
}

// detailScheme is the detail of a denial to a request whose only credential was not read.
const detailScheme = "the Authorization header is not one of Bearer and a credential, and was not read: the request counts as signed out"

// ignoresHeader reports whether a request has no credential but an Authorization header that
// is not read, such as one of another scheme, which may be for a proxy.
func (q *request) ignoresHeader() bool {
	scheme, token, _ := strings.Cut(q.r.Header.Get("Authorization"), " ")
	if scheme == "" || strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != "" {
		return false
	}
	auth, _ := q.params.get("auth")
	other, _ := q.params.get("access_token")
	return auth == "" && other == ""
}

// detailOf returns what an answer says in addition to the text that clients compare.
func (q *request) detailOf(err error) string {
	if more := (*detailedError)(nil); errors.As(err, &more) {
		return more.detail
	}
	if denied := (*fault.DeniedError)(nil); errors.As(err, &denied) {
		return denied.Detail
	}
	if wrong := (*tree.ParseError)(nil); errors.As(err, &wrong) && wrong.Kind == tree.BadJSON {
		return wrong.Error()
	}
	if body := (*http.MaxBytesError)(nil); errors.As(err, &body) {
		return fmt.Sprintf("the body has at most %d bytes", body.Limit)
	}
	if detail := fault.Detail(err); detail != "" {
		return detail
	}
	if q.id.Admin {
		return durable.NoRoomCause(err)
	}
	return ""
}

// sendAnswer writes an answer.
func sendAnswer(q *request, a answer) {
	if a.status == 0 {
		return
	}
	h := q.w.Header()
	if a.tag != "" {
		h.Set("ETag", a.tag)
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		q.w.WriteHeader(a.status)
		return
	}
	if a.kind == "" {
		h["Content-Type"] = jsonType
	} else {
		h["Content-Type"] = []string{a.kind}
	}
	if q.form.download != "" && a.status == http.StatusOK {
		h.Set("Content-Disposition", disposition(q.form.download))
	}
	sendBody(q, a)
}

func sendBody(q *request, a answer) {
	h := q.w.Header()
	if h["Vary"] == nil {
		h["Vary"] = varyCoding
	} else {
		h.Add("Vary", "Accept-Encoding")
	}
	if q.method != http.MethodHead && (a.pieces != nil || len(a.body) > gzipFrom) && acceptsGzip(q.r.Header) {
		if a.pieces == nil && len(a.body) <= smallAnswer {
			if q.briefs.Do(q.ctx, func() error { a.body = compressed(a.body); return nil }) == nil {
				h.Set("Content-Encoding", "gzip")
			}
		} else if q.answer.Of.Try(gzipBytes) == nil {
			defer q.answer.Of.Release(gzipBytes)
			h.Set("Content-Encoding", "gzip")
			q.w.WriteHeader(a.status)
			pieces := a.all()
			compress(peer.NewWriter(q.w, q.r), func(z io.Writer) error { return writeAll(z, pieces) })
			return
		}
	}
	if a.pieces != nil {
		q.w.WriteHeader(a.status)
		if q.r.Method != http.MethodHead {
			_ = writeAll(peer.NewWriter(q.w, q.r), a.pieces)
		}
		return
	}
	q.length[0] = strconv.Itoa(len(a.body))
	h["Content-Length"] = q.length[:]
	q.w.WriteHeader(a.status)
	if q.r.Method != http.MethodHead {
		peer.WriteAll(q.w, q.r, a.body)
	}
}

// all returns the body in pieces, of which there may be one.
func (a *answer) all() iter.Seq[[]byte] {
	if a.pieces != nil {
		return a.pieces
	}
	return func(yield func([]byte) bool) { yield(a.body) }
}

// writeAll writes pieces to dst. An error means that the client left.
func writeAll(dst io.Writer, pieces iter.Seq[[]byte]) error {
	for piece := range pieces {
		if _, err := dst.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// disposition returns the header that makes browsers save an answer under the
// given name, of which unsafe characters are replaced.
func disposition(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f || strings.ContainsRune(`"\/:*?<>|;%`, r) {
			return '_'
		}
		return r
	}, name)
	return `attachment; filename="` + clean[:min(len(clean), 200)] + `"`
}

// A handler answers one method of a route.
type handler func(*request) (answer, error)

// streamFile sends size bytes. An error means that the client left. The length
// is sent unless it is compressed, so a client can tell a download that was cut
// off from a whole one.
func streamFile(q *request, src io.Reader, size int64) {
	h := q.w.Header()
	h.Add("Vary", "Accept-Encoding")
	dst := peer.NewWriter(q.w, q.r)
	zip := size > gzipFrom && acceptsGzip(q.r.Header) && q.answer.Of.Try(gzipBytes) == nil
	if zip {
		defer q.answer.Of.Release(gzipBytes)
		h.Set("Content-Encoding", "gzip")
	} else {
		h.Set("Content-Length", strconv.FormatInt(size, 10))
	}
	q.w.WriteHeader(http.StatusOK)
	switch {
	case q.r.Method == http.MethodHead:
	case zip:
		compress(dst, func(z io.Writer) error { return copyTo(z, src) })
	default:
		_ = copyTo(dst, src)
	}
}

// copyTo writes all that src has to dst.
func copyTo(dst io.Writer, src io.Reader) error {
	_, err := io.CopyBuffer(dst, src, make([]byte, writeChunk))
	return err
}

// Databases are protected by tokens, not by cookies, so every origin may ask
// (REST §9).
const (
	corsMethods = "GET, PUT, PATCH, POST, DELETE, OPTIONS, HEAD"
	corsHeaders = "Authorization, Content-Type, X-Firebase-ETag, If-Match, If-None-Match, X-HTTP-Method-Override, X-Firebase-AppCheck, X-Client-Version"
	corsExposed = "ETag, X-Firebase-Auth-Debug, " + observe.HeaderRequestID
	corsMaxAge  = "3600"
)

// Values of headers that every answer has. They are shared and must not be changed in
// place; http.Header.Set and Add do not.
var (
	anyOrigin  = []string{"*"}
	exposed    = []string{corsExposed}
	noCache    = []string{"no-cache"}
	noSniff    = []string{"nosniff"}
	strictTLS  = []string{"max-age=31556926; includeSubDomains; preload"}
	jsonType   = []string{typeJSON}
	varyCoding = []string{"Accept-Encoding"}
)

// setCommonHeaders sets what every answer has, errors and streams included
// (REST §4.1). Its keys are in their canonical form.
func setCommonHeaders(h http.Header, r *http.Request) {
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Access-Control-Expose-Headers"] = exposed
	h["Cache-Control"] = noCache
	h["X-Content-Type-Options"] = noSniff
	if r.TLS != nil {
		h["Strict-Transport-Security"] = strictTLS
	}
}

// expose sets a header that some answers have, and lets pages of other origins read it.
func expose(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set("Access-Control-Expose-Headers", h.Get("Access-Control-Expose-Headers")+", "+name)
	}
	h.Set(name, value)
}

// preflightAnswer answers OPTIONS.
func preflightAnswer(q *request) answer {
	h := q.w.Header()
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	if asked := q.r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Max-Age", corsMaxAge)
	return answer{status: http.StatusOK, kind: typeText}
}
