package server

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/peer"
)

// asksGzip is a header of a request whose answer may be compressed.
var asksGzip = http.Header{"Accept-Encoding": {"gzip"}}

// randomText returns n characters that are half as long when they are compressed.
func randomText(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", rand.Uint64())
	}
	return b.String()[:n]
}

// A short answer is compressed before any of it is sent, so its length is known.
func TestShortAnswersAreCompressedFirst(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	for _, size := range []int{2 * gzipFrom, smallAnswer} {
		text := `"` + randomText(size-2) + `"`
		ts.want("PUT", "/x.json?print=silent", text, 204, "")
		r := ts.do(call{"GET", "/x.json", asksGzip, noBody})
		if r.body != text || r.Header.Get("Content-Encoding") != "gzip" || r.ContentLength <= 0 || r.ContentLength > int64(size) {
			t.Errorf("%d bytes: %v, a length of %d", size, r.Header, r.ContentLength)
		}
	}
}

// It is compressed in a place of brief reads.
func TestCompressionTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := pipeTest(t, Options{Dev: true})
		defer ts.shutdown()
		for ts.all.Views.Briefs().Try(1) == nil {
			continue
		}
		text := `"` + randomText(2*gzipFrom) + `"`
		done := make(chan result, 1)
		go func() { done <- ts.do(call{"PUT", "/x.json", asksGzip, text}) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Error("it is answered without a place")
		}
		ts.all.Views.Briefs().Release(1)
		if r := <-done; r.body != text || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("with a place it is answered with %d %v", r.StatusCode, r.Header)
		}
	})
}

// The writers of long answers that are not read count for the address of their client. When it
// has no room for another, answers are sent as they are.
func TestAddressCompression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 100 << 10
		tn := townOf(t, Options{Dev: true, Limits: Limits{MaxAnswersBytes: 7 << 20}})
		defer tn.shutdown()
		text := `"` + randomText(size) + `"`
		tn.at("198.51.100.2").want("PUT", "/long.json?print=silent", text, 204, "")
		var deaf []net.Conn
		got := ""
		for i := range 4 {
			path := []string{"/long.json", "/long.json?print=pretty"}[i%2]
			c, req := tn.at("198.51.100.1").send(call{"GET", path, asksGzip, noBody})
			deaf = append(deaf, c)
			r, err := http.ReadResponse(bufio.NewReader(c), req) // its body is not read
			if err != nil {
				t.Fatal(err)
			}
			got += r.Header.Get("Content-Encoding") + ";"
			synctest.Wait()
		}
		if want := "gzip;gzip;;;"; got != want {
			t.Errorf("the answers have the codings %s want %s", got, want)
		}
		if used := tn.all.Answers.Meter().Used(); used < 2*gzipBytes || used > 3<<20 {
			t.Errorf("one address holds %d of 7 MiB", used)
		}
		if r := tn.at("198.51.100.2").do(call{"GET", "/long.json", asksGzip, noBody}); r.body != text || r.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("another address is answered with %v", r.Header)
		}
		for _, c := range deaf {
			c.Close()
		}
		time.Sleep(peer.WriteTimeout)
		synctest.Wait()
		tn.wantIdle(t)
	})
}

// TestGzipBytes: a writer takes no more than is counted for it.
func TestGzipBytes(t *testing.T) {
	least := uint64(1 << 62)
	for range 5 { // other goroutines take memory, too
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(make([]byte, 100<<10))
		z.Close()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc-100<<10)
	}
	if least > gzipBytes || least < gzipBytes/2 {
		t.Errorf("a gzip writer takes %d bytes, and counts %d", least, gzipBytes)
	}
}
