package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/observe"
	"github.com/dogwooddb/dogwood/server/peer"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A request is one HTTP request, taken apart. The fields below method are
// filled by open, in the documented order of checks (REST §8).
//
// It lives as long as its handler and belongs to its goroutine. A handler takes
// no lock of the server: what it shares with others goes through reservation
// (memory and places), spaces (databases) and the database itself.
//
// The checks come in a fixed order, since their answers differ: namespace,
// path, credential, parameters, conditions, permission, body. Clients and
// recorded tests depend on which of two mistakes is told.
type request struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	path   string // as sent, with percent escapes
	params params
	method string // after X-HTTP-Method-Override

	ns     string
	space  *namespace
	db     *dsync.Database
	using  *namespace // whose database stays open meanwhile; nil: none yet
	target tree.Target
	id     identity  // on whose behalf
	asked  time.Time // when that was decided; zero: it was not
	form   form
	cond   conditions

	visit peer.Request
	peer  *peer.Client // nil: without bounds
	reservation

	readBy time.Time // the deadline of reading that was set; zero: none
	first  readContext
	few    [2]param  // memory of params
	length [1]string // value of the header Content-Length
}

// init takes a request apart as far as every route needs it. q is zero before.
func (q *request) init(s *Server, w http.ResponseWriter, r *http.Request) {
	path, query := splitNamespace(r.URL.EscapedPath(), r.URL.RawQuery)
	q.s, q.w, q.r, q.path, q.method = s, w, r, path, r.Method
	q.reservation.of, q.reservation.ctx, q.reservation.form = q, r.Context(), &q.form
	q.use(s.all)
	if len(query) <= s.opts.MaxURLBytes {
		q.params = appendParams(q.few[:0], query)
	}
	if r.Method == http.MethodPost {
		q.method = q.overriddenMethod()
	}
	if r.Body != nil && r.Body != http.NoBody {
		// Also bounds how long the rest of a refused body is waited for.
		q.setReadDeadline(time.Now().Add(s.opts.waits.body))
	}
}

// overriddenMethod returns the method that a POST stands for (REST §2).
func (q *request) overriddenMethod() string {
	m := q.r.Header.Get("X-HTTP-Method-Override")
	if m == "" {
		m = q.params.fold("x-http-method-override")
	}
	if m == "" {
		return http.MethodPost
	}
	return strings.ToUpper(m)
}

// open resolves what every request for data needs: namespace, path,
// credentials, parameters. The body is not read here: a caller that may not
// write is refused before it can send one.
func (q *request) open() (err error) {
	if err := q.openDatabase(); err != nil {
		return err
	}
	if q.target, err = parseTarget(q.path); err != nil {
		return err
	}
	if err := q.identify(); err != nil {
		return err
	}
	if q.form, err = parseForm(q.params, q.method); err != nil {
		return err
	}
	q.cond = parseConditions(q.r.Header)
	return q.cond.check(q)
}

// openDatabase begins the use of the database, which leave ends. It may be called again.
func (q *request) openDatabase() (err error) {
	if q.using != nil {
		return nil
	}
	if q.ns, err = q.s.spaces.resolve(q.params, q.r.Host); err != nil {
		return err
	}
	if q.space, err = q.s.spaces.find(q.ns); err != nil {
		return err
	}
	if q.db, err = q.s.spaces.use(q.space); err == nil {
		q.using = q.space
	}
	return err
}

// leave ends the use of the database.
func (q *request) leave() {
	if q.using != nil {
		q.s.spaces.leave(q.using)
		q.using = nil
	}
}

// gone returns a channel that is closed when the database of the request is dropped.
func (q *request) gone() <-chan struct{} {
	if q.space == nil {
		return nil
	}
	return q.space.gone
}

// chargedToken is how many bytes of a credential count as one more request. Tokens of usual
// length are shorter; one of 64 KiB that is made for it takes a millisecond to be parsed.
const chargedToken = 4 << 10

// chargedText is how many bytes count as one more request that the server makes of less: of a
// body that was compressed, or of an answer that tells a value more than once.
const chargedText = 64 << 10

// charge makes the request count as n more of its address.
func (q *request) charge(n int) {
	if q.peer != nil {
		peer.Charge(q.peer.Requests, n)
	}
}

func (q *request) identify() (err error) {
	token, _ := q.params.get("auth")
	access, _ := q.params.get("access_token")
	q.charge((len(token) + len(access) + len(q.r.Header.Get("Authorization"))) / chargedToken)
	q.id, err = q.s.identify(q.r.Header, q.params, q.ns)
	q.asked = time.Now()
	q.id.Origin = &rules.Origin{Request: observe.RequestOf(q.w)}
	q.debug()
	return err
}

// parseTarget reads the path of a request: what is left without .json, decoded
// and then split, so that %2F separates too (REST §1.1).
func parseTarget(escaped string) (tree.Target, error) {
	path, err := url.PathUnescape(strings.TrimSuffix(escaped, ".json"))
	if err != nil {
		return tree.Target{}, fmt.Errorf("%w: %w", tree.ErrInvalidPath, err)
	}
	return tree.ParseTarget(path)
}

// plainBody returns the body, decompressed if need be, of at most max bytes. turns says that it is
// decompressed in places among the reads: the caller holds none.
func (q *request) plainBody(max int64, turns bool) (src io.Reader, err error) {
	coding := q.coding()
	if coding != "" && coding != "identity" && coding != "gzip" {
		return nil, errCoding
	}
	if q.r.ContentLength > max {
		return nil, &http.MaxBytesError{Limit: max}
	}
	src = http.MaxBytesReader(q.w, &patientBody{q: q, body: q.r.Body, due: time.Now().Add(bodyGrace)}, max)
	if coding == "gzip" {
		if q.body.Grow(inflateBytes) != nil {
			return nil, errOverloaded
		}
		z, err := newInflater(src)
		if err != nil {
			return nil, badRequest("Invalid data; the body is not gzip")
		}
		if turns {
			z.places = &places{q.making, q.readers.Yield, q.charge}
		}
		src = http.MaxBytesReader(q.w, z, max)
	}
	return src, nil
}

// coding returns the content coding of the body.
func (q *request) coding() string {
	return strings.ToLower(strings.Join(q.r.Header.Values("Content-Encoding"), ","))
}

// text reads the body as text, decompressed if need be, of at most max bytes.
// The bytes count against the meter of bodies until the answer is made.
func (q *request) text(max int64) (string, error) {
	src, err := q.plainBody(max, true)
	if err != nil {
		return "", err
	}
	size := min(firstPiece, max+1)
	if n := q.r.ContentLength; n >= 0 && q.coding() == "" {
		size = min(size, n+1) // most bodies are small
	}
	text, err := q.readText(src, int(size))
	return text, bodyError(err)
}

// A body is read in pieces, the first small and each twice as large as the one
// before. So it takes little more memory than what has arrived, and is copied
// only once.
const (
	firstPiece = 32 << 10
	mostPiece  = 256 << 10
)

// readText reads all of src, at first a piece of the given size. What it reads
// counts against the meter of bodies.
//
// Memory is taken as bytes arrive and not by Content-Length: a client that
// announces much and sends nothing would otherwise hold memory that others
// need. For the same reason the estimate of what the write costs grows with the
// text, and ends the reading as soon as it is too much.
func (q *request) readText(src io.Reader, size int) (string, error) {
	var pieces [][]byte
	var cost dsync.Cost
	piece := make([]byte, 0, size)
	for {
		n, err := src.Read(piece[len(piece):cap(piece)])
		if n > 0 && q.body.Grow(int64(n)) != nil {
			return "", errOverloaded
		}
		cost.Add(piece[len(piece) : len(piece)+n])
		piece = piece[:len(piece)+n]
		if cost.Memory() > q.work.Of.Most() {
			return "", errCostly
		}
		if err == io.EOF {
			return q.textOf(pieces, piece, cost)
		}
		if err != nil {
			return "", err
		}
		if len(piece) == cap(piece) {
			pieces = append(pieces, piece)
			piece = make([]byte, 0, min(2*cap(piece), mostPiece))
		}
	}
}

// textOf returns a body that has arrived, once there is memory for all that will be made
// of it. That includes the body. The body is held in two forms for a moment here, pieces
// and text, which the estimate covers.
func (q *request) textOf(pieces [][]byte, last []byte, cost dsync.Cost) (text string, err error) {
	if err := q.acquireWork(cost.Memory()); err != nil {
		return "", err
	}
	size := len(last) + len(pieces)*mostPiece // at most
	err = q.handling(size, func() error {
		text = piecewise.Join(append(pieces, last)...)
		return nil
	})
	return text, err
}

// bodyError classifies an error of reading a body. What is not a limit of ours
// is the client's fault.
func bodyError(err error) error {
	if err == nil {
		return nil
	}
	var known *statusError
	var tooBig *http.MaxBytesError
	if errors.As(err, &known) || errors.As(err, &tooBig) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return badRequest("Invalid data; the body could not be read")
}

// A patientBody reads a request body for as long as it keeps arriving.
//
// A single deadline for the whole body would have to be long enough for the
// slowest network, and would let every client hold its memory for that long.
// This one moves with the bytes that have come.
type patientBody struct {
	q    *request
	body io.ReadCloser
	due  time.Time // when the next byte is too late; moves on with what arrives
	left time.Time // when the last Read returned: what happens until the next is not the client's delay
}

func (b *patientBody) Read(p []byte) (int, error) {
	now := time.Now()
	if !b.left.IsZero() {
		b.due = b.due.Add(now.Sub(b.left))
	}
	b.q.setReadDeadline(earlier(b.due, now.Add(b.q.s.opts.waits.body)))
	n, err := b.body.Read(p)
	b.left = time.Now()
	b.due = earlier(b.due.Add(time.Duration(n)*time.Second/bodyRate), b.left.Add(bodyGrace))
	if err == io.EOF { // from here on the connection is watched for the client's leaving
		b.q.setReadDeadline(time.Time{})
		if refusal := checkAgain(b.q); refusal != nil {
			err = refusal
		}
	}
	return n, err
}

// bodyTrusted is how long a body may take without another look at the credential.
const bodyTrusted = time.Second

// checkAgain decides the credential of a request again whose body took long to arrive, before
// anything is made of the body: a client can take hours to send one. A credential that has merely
// expired meanwhile was good when the request began, and an import may take longer than an access
// token is valid.
func checkAgain(q *request) error {
	id := q.id.credential
	if !id.CanEnd() || time.Since(q.asked) < bodyTrusted {
		return nil
	}
	err := q.s.auth.CheckBegun(q.ns, id)
	if err == nil {
		return nil
	}
	q.s.credentials.Add(q.ns, "", err)
	if id.Admin && id.Account() != "" && !errors.Is(err, auth.ErrUnavailable) {
		return errUnauthorized // as other requests with its access token
	}
	return restTokenError(err)
}

func (b *patientBody) Close() error { return b.body.Close() }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// deadlineStep is how much later a deadline must be than the one before to be worth
// setting. Most bodies are there at once, and their first deadline will do.
const deadlineStep = 100 * time.Millisecond

// setReadDeadline does nothing where the connection has no deadlines, as in
// tests with a recorder. A zero time ends the deadline. Each call is a timer of
// the runtime, so small moves are left out.
func (q *request) setReadDeadline(t time.Time) {
	if later := t.Sub(q.readBy); !t.IsZero() && later >= 0 && later < deadlineStep {
		return
	}
	q.readBy = t
	_ = http.NewResponseController(q.w).SetReadDeadline(t)
}

// view returns what the request reads. A request without query parameters
// counts as ordered by key (rules §7).
func (q *request) view() dsync.Read {
	return dsync.Read{
		Caller:  q.id.Caller,
		Path:    q.target.Path,
		Query:   q.form.query,
		Plain:   !q.form.isQuery,
		OneShot: true,
		Hold:    q.hold,
		Brief:   q.attempt == brief,
		Again:   q.attempt == again,
	}
}

// countFor makes what the request holds count for a client.
func (q *request) countFor(c *peer.Client) {
	if q.peer = c; c != nil {
		q.use(&c.Resources)
	}
}
