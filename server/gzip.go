package server

import (
	"bytes"
	"compress/gzip"
	"io"
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

// inflateBytes is the memory of an inflater, and of the first piece of the text, which counts as a part of
// the body.
const inflateBytes = 80 << 10

// An inflater reads a compressed body.
//
// The bound is on the ratio and not only on the size. The size alone would let
// a kilobyte become MaxWriteBytes, so that sending costs an attacker nothing
// and us everything.
type inflater struct {
	src        io.Reader
	z          *gzip.Reader
	read, made int64

	*places      // in which it inflates texts that are long; nil: in none
	turns   bool // it is in one
}

// A places is those of a request for long work.
type places struct {
	in     func(size int, f func())      // runs f in one
	out    func(wait func() error) error // has no place during wait
	charge func(requests int)            // for what comes out, which costs little to send
}

func newInflater(src io.Reader) (*inflater, error) {
	f := &inflater{src: src}
	z, err := gzip.NewReader((*deflated)(f))
	f.z = z
	return f, err
}

func (f *inflater) Read(p []byte) (n int, err error) {
	if f.turns = f.places != nil && f.made >= outbox.LongText; f.turns {
		f.in(outbox.LongText, func() { n, err = f.z.Read(p) })
	} else {
		n, err = f.z.Read(p)
	}
	before := f.made
	f.made += int64(n)
	if f.places != nil {
		f.charge(int(f.made/chargedText - before/chargedText))
	}
	if f.made > freeExpansion && f.made > f.read*maxExpansion {
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
		err = d.out(read) // a slow client holds no place
	} else {
		err = read()
	}
	d.read += int64(n)
	return n, err
}

// gzipBytes is what a gzip writer takes. They are kept.
//
// A client that does not read its answer must not keep one for nothing. So a short answer is
// compressed as a whole, in a place of brief reads, before any of it is sent. The writer of a long
// one counts as a large answer does, and without room for it the answer is sent as it is.
const gzipBytes = 1200 << 10

var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// compress writes what write writes to dst in gzip form. An error means that the client left.
func compress(dst io.Writer, write func(io.Writer) error) {
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(dst)
	if write(z) == nil {
		_ = z.Close()
	}
	z.Reset(nil)
}

// compressed returns a short body in gzip form.
func compressed(body []byte) []byte {
	var text bytes.Buffer
	compress(&text, func(z io.Writer) error {
		_, err := z.Write(body)
		return err
	})
	return text.Bytes()
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
