package server

import (
	"compress/gzip"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/sync/outbox"
)

// gzipFrom is the size above which compressing an answer pays (REST §9).
const gzipFrom = 1 << 10

// A compressed body may grow to freeExpansion whatever its size, and beyond that
// to maxExpansion times what was sent. JSON seldom reaches a third of that; what
// is made to reach more takes a thousand times the memory that it costs to send.
const (
	freeExpansion = 1 << 20
	maxExpansion  = 100
)

var errExpansion = &statusError{http.StatusRequestEntityTooLarge, "The body is compressed too well."}

// An inflater reads a compressed body.
//
// The bound is on the ratio and not only on the size. The size alone would let
// a kilobyte become MaxWriteBytes, so that sending costs an attacker nothing
// and us everything.
type inflater struct {
	src     io.Reader
	z       *gzip.Reader
	in, out int64

	// of, if not nil, is the request in whose places it inflates what is long. Beyond that
	// it is charged for what comes out, which costs little to send.
	of    *request
	turns bool // it is in such a place
}

func newInflater(src io.Reader) (*inflater, error) {
	f := &inflater{src: src}
	z, err := gzip.NewReader((*deflated)(f))
	f.z = z
	return f, err
}

func (f *inflater) Read(p []byte) (n int, err error) {
	if f.turns = f.of != nil && f.out >= outbox.LongText; f.turns {
		f.of.making(outbox.LongText, func() { n, err = f.z.Read(p) })
	} else {
		n, err = f.z.Read(p)
	}
	before := f.out
	f.out += int64(n)
	if f.of != nil {
		f.of.charge(int(f.out/chargedText - before/chargedText))
	}
	if f.out > freeExpansion && f.out > f.in*maxExpansion {
		return 0, errExpansion
	}
	return n, err
}

// Close implements io.Closer. It does not close the source.
func (f *inflater) Close() error { return f.z.Close() }

// deflated is an inflater's source.
type deflated inflater

func (d *deflated) Read(p []byte) (n int, err error) {
	read := func() error { n, err = d.src.Read(p); return err }
	if d.turns {
		err = d.of.readers.Yield(read) // a slow client holds no place
	} else {
		err = read()
	}
	d.in += int64(n)
	return n, err
}

// A gzip writer is about 800 KiB, so they are kept.
var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// compress writes a body to dst in gzip form. An error means that the client
// left.
func compress(dst io.Writer, body iter.Seq[[]byte]) {
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(dst)
	if err := writeAll(z, body); err == nil {
		_ = z.Close()
	}
}

// acceptsGzip reports whether a client takes gzip, which it may refuse with a
// quality of 0.
func acceptsGzip(h http.Header) bool {
	for _, field := range h.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(field, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, given := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			f, err := strconv.ParseFloat(q, 64)
			return !given || err != nil || f > 0
		}
	}
	return false
}
