package server

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// gzipFrom is the size above which compressing an answer pays (REST §9).
const gzipFrom = 1 << 10

// A gzip writer is about 800 KiB, so they are kept.
var gzipWriters = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// compress writes body to dst in gzip form. An error means that the client
// left.
func compress(dst io.Writer, body []byte) {
	z := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(z)
	z.Reset(dst)
	if _, err := z.Write(body); err == nil {
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
