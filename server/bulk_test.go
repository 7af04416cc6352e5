package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/server/auth"
	"github.com/dogwooddb/dogwood/server/metrics"
	"github.com/dogwooddb/dogwood/server/observe"
	dsync "github.com/dogwooddb/dogwood/sync"
	"github.com/dogwooddb/dogwood/tree"
)

// fill takes places until empty is called. A request gives its place back a little after its
// answer has come.
func fill(t *testing.T, places *observe.Places, n int, share observe.PlaceShare) (empty func()) {
	t.Helper()
	var all []func()
	for range n {
		waitFor(t, "a place", func() bool {
			leave, err := places.Enter(share)
			all = append(all, leave)
			if err != nil {
				all = all[:len(all)-1]
			}
			return err == nil
		})
	}
	return func() {
		for _, leave := range all {
			leave()
		}
	}
}

// Administrators of one database cannot keep those of others from imports and exports, and
// those of the whole server always have a place.
func TestBulkShares(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	ts := serveTest(t, Options{
		Namespaces: []string{"a", "b"}, AdminSecrets: []string{"all"},
		Auth: auth.Options{Secrets: []auth.Secret{{Value: "of-a", Namespaces: []string{"a"}}, {Value: "of-b", Namespaces: []string{"b"}}}},
	})
	text := bulkText(1)
	for _, c := range []struct {
		what   string
		places *observe.Places
		call   call
		status int // of one that has a place
	}{
		{"imports", &ts.imports, call{"PUT", "/x.json?writeSizeLimit=unlimited&print=silent", nil, text}, 204},
		{"exports and backups", &ts.exports, call{"GET", "/x/none.json?format=export", nil, ""}, 200},
	} {
		want := func(ns, secret string, status int, why string) {
			t.Helper()
			r := ts.do(call{c.call.method, c.call.target + "&ns=" + ns, bearer(secret), c.call.body})
			if r.StatusCode != status || !strings.Contains(r.body, why) {
				t.Errorf("%s of %s by %s: %d %s, want %d %s", c.what, ns, secret, r.StatusCode, r.body, status, why)
			}
		}
		defer fill(t, c.places, maxBulkOf, observe.PlaceShare{Namespace: "a", Bound: true})()
		want("a", "of-a", 503, fmt.Sprintf("%d %s of this database are running", maxBulkOf, c.what))
		want("b", "of-b", c.status, "")
		defer fill(t, c.places, maxBulk-maxBulkOf-observe.Reserved, observe.PlaceShare{Namespace: "b", Bound: true})()
		want("b", "of-b", 503, "the last place is for administrators of the whole server")
		want("a", "all", c.status, "")
		if got := ts.metrics.Refused.Of(metrics.Bulk); got == 0 {
			t.Error("no refusal is counted")
		}
	}
}

// bulkText is more than bulkFrom bytes of canonical JSON.
func bulkText(version int) string {
	var b strings.Builder
	for i := 0; b.Len() <= bulkFrom; i++ {
		fmt.Fprintf(&b, `,"k%06d":{"pad":"%0900d","version":%d}`, i, i, version)
	}
	return "{" + b.String()[1:] + "}"
}

var ownerHeader = http.Header{"Authorization": {"Bearer owner"}}

func withHeader(more http.Header) http.Header {
	h := ownerHeader.Clone()
	for name, values := range more {
		h[name] = values
	}
	return h
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

func chunked(text string) string {
	var b strings.Builder
	for part := range strings.SplitAfterSeq(text, "},") {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(part), part)
	}
	return b.String() + "0\r\n\r\n"
}

// TestLargePut sends more than the server takes into memory.
func TestLargePut(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	ts := serveTest(t, Options{Dev: true, Dir: t.TempDir(), Limits: Limits{MaxWriteBytes: 1 << 20, MaxReadBytes: 1 << 20, MaxBodiesBytes: 1<<20 + inflateBytes}})
	for i, c := range []struct {
		header http.Header
		encode func(string) string
		print  string
		status int
		answer string
	}{
		{http.Header{}, strings.Clone, "", 200, `{"bytes":%d}`},
		{http.Header{"Transfer-Encoding": {"chunked"}}, chunked, "silent", 204, ""},
		{http.Header{"Content-Encoding": {"gzip"}}, zipped, "", 413, ""}, // so small that it is read at once, and then too large,
		{http.Header{"Content-Encoding": {"gzip"}, "Transfer-Encoding": {"chunked"}}, func(s string) string { return chunked(stored(s)) }, "", 200, `{"bytes":%d}`},
	} {
		text := bulkText(i)
		target := "/a/b.json?writeSizeLimit=unlimited&disableTriggers=true"
		if c.print != "" {
			target += "&print=" + c.print
		}
		r := ts.do(call{"PUT", target, withHeader(c.header), c.encode(text)})
		answer := c.answer
		if strings.Contains(answer, "%d") {
			answer = fmt.Sprintf(answer, len(text))
		}
		if r.StatusCode != c.status || c.status != 413 && r.body != answer {
			t.Errorf("%v: %d %.200s, want %d %s", c.header, r.StatusCode, r.body, c.status, answer)
		}
		if c.status != 413 {
			ts.want("GET", "/a/b.json?format=export", noBody, 200, text)
		}
	}
	ts.want("GET", "/a/b/k000007/version.json", noBody, 200, "3")
}

// stored is the text as gzip that is longer than the text.
func stored(text string) string {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		panic(err)
	}
	z.Write([]byte(text))
	z.Close()
	return b.String()
}

// TestPutThatIsNotStreamed has the limits and the echo of any other write.
func TestPutThatIsNotStreamed(t *testing.T) {
	t.Parallel()
	tier.RacedFrom(t, tier.Full)
	ts := serveTest(t, Options{Dev: true, Limits: Limits{MaxWriteBytes: 1 << 20}})
	text := bulkText(1)
	for _, c := range []struct {
		name, target string
		header       http.Header
		body         string
		status       int
	}{
		{"without unlimited", "/a.json", ownerHeader, text, 413},
		{"by a user", "/a.json?writeSizeLimit=unlimited", nil, text, 413},
		{"by a user, in chunks", "/a.json?writeSizeLimit=unlimited", http.Header{"Transfer-Encoding": {"chunked"}}, chunked(text), 413},
		{"a priority", "/a/.priority.json?writeSizeLimit=unlimited", ownerHeader, text, 413},
		{"with a condition", "/a.json?writeSizeLimit=unlimited", withHeader(http.Header{"If-Match": {"null_etag"}}), text, 413},
		{"small", "/a.json?writeSizeLimit=unlimited", ownerHeader, `{"b": [1, {".sv":"timestamp"}]}`, 200},
		{"small, an import", "/a.json?writeSizeLimit=unlimited&import=true", ownerHeader, `{"b": [1, {".sv":"timestamp"}]}`, 400},
		{"small, an import or not", "/a.json?writeSizeLimit=unlimited&import=yes", ownerHeader, `{"b": 1}`, 400},
		{"small data", "/a.json?writeSizeLimit=unlimited&import=true", ownerHeader, `{"b": 1}`, 200},
		{"small, in chunks", "/a.json?writeSizeLimit=unlimited", withHeader(http.Header{"Transfer-Encoding": {"chunked"}}), chunked(`{"b": 1}`), 200},
		{"nothing", "/a.json?writeSizeLimit=unlimited", withHeader(http.Header{"Transfer-Encoding": {"chunked"}}), chunked(``), 400},
		{"a wrong path", "/a.json.json?writeSizeLimit=unlimited", ownerHeader, text, 400},
		{"a wrong limit", "/a.json?writeSizeLimit=none", ownerHeader, text, 400},
	} {
		r := ts.do(call{"PUT", c.target, c.header, c.body})
		if r.StatusCode != c.status || r.StatusCode == 200 && !strings.HasPrefix(r.body, `{"b":`) {
			t.Errorf("%s: %d %.200s, want %d", c.name, r.StatusCode, r.body, c.status)
		}
	}
	ts.want("GET", "/.json", noBody, 200, `{"a":{"b":1}}`)
}

// TestLargePutThatFails changes nothing.
func TestLargePutThatFails(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	ts := serveTest(t, Options{Dev: true, Dir: t.TempDir()})
	ts.want("PUT", "/a.json", `"old"`, 200, `"old"`)
	text := bulkText(1)
	large := "/a.json?writeSizeLimit=unlimited"
	for _, c := range []struct {
		name   string
		header http.Header
		body   string
		status int
		want   string
	}{
		{"a wrong key", nil, text[:len(text)-1] + ",\n \"a.b\":1}", 400, `Invalid data; couldn't parse key beginning at 2:2`},
		{"no end", nil, text[:len(text)-1], 400, textBadJSON},
		{"its place", nil, text[:len(text)-1] + ",\n \"b\": nothing}", 400, `"detail" : "2:7: `},
		{"a server value", nil, text[:len(text)-1] + `,"n":{".sv":"timestamp"}}`, 400, "unrecognized server value"},
		{"wrong chunks", http.Header{"Transfer-Encoding": {"chunked"}}, fmt.Sprintf("%x\r\n%s\r\nnonsense\r\n\r\n", len(text)-9, text[:len(text)-9]), 400, "could not be read"},
		{"a wrong coding", http.Header{"Content-Encoding": {"br"}}, text, 415, "Content-Encoding"},
		{"no gzip", http.Header{"Content-Encoding": {"gzip"}}, text, 400, "not gzip"},
		{"too deep", nil, strings.Repeat(`{"a":`, 40) + text + strings.Repeat(`}`, 40), 400, textTooDeep},
	} {
		r := ts.do(call{"PUT", large, withHeader(c.header), c.body})
		if r.StatusCode != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s: %d %.200s, want %d %s", c.name, r.StatusCode, r.body, c.status, c.want)
		}
	}
	conn, _ := ts.send(call{"PUT", large, withHeader(http.Header{"Content-Length": {"9999999"}}), text[:len(text)/2]})
	conn.Close() // in the middle
	leave := fill(t, &ts.imports, maxBulk, observe.PlaceShare{})
	if r := ts.do(call{"PUT", large, ownerHeader, text}); r.StatusCode != 503 {
		t.Errorf("one import too many: %d %s", r.StatusCode, r.body)
	}
	leave()
	ts.want("GET", "/.json", noBody, 200, `{"a":"old"}`)
}

// TestExportOfAnySize is for administrators; others have the limits of a read.
func TestExportOfAnySize(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	dir := t.TempDir()
	ts := serveTest(t, Options{Dev: true, Dir: dir, Limits: Limits{MaxReadBytes: 1 << 20}})
	text := bulkText(1)
	if r := ts.do(call{"PUT", "/a.json?writeSizeLimit=unlimited&print=silent", ownerHeader, text}); r.StatusCode != 204 {
		t.Fatalf("PUT: %d %s", r.StatusCode, r.body)
	}
	whole := `{"a":` + text + `}`
	most := readBound(ts.opts.MaxReadBytes)
	for _, c := range []struct {
		target string
		header http.Header
		status int
		body   string
	}{
		{"/.json?format=export", ownerHeader, 200, whole},
		{"/.json?format=export", withHeader(http.Header{"Accept-Encoding": {"gzip"}}), 200, whole},
		{"/a/k000003/version.json?format=export", ownerHeader, 200, "1"},
		{"/none.json?format=export", ownerHeader, 200, "null"},
		{"/.json?format=export", nil, 400, detailedBody(textReadTooBig, most)},
		{"/.json?format=export&print=pretty", ownerHeader, 400, detailedBody(textReadTooBig, most)},
		{"/.json", ownerHeader, 400, detailedBody(textReadTooBig, most)},
		{"/a/k000003.json?format=export&orderBy=\"$key\"&limitToFirst=1", ownerHeader, 200, ""},
	} {
		r := ts.do(call{"GET", c.target, c.header, ""})
		if r.StatusCode != c.status || c.body != "" && r.body != c.body {
			t.Errorf("GET %s: %d, %d bytes, %.100s, want %d, %d bytes", c.target, r.StatusCode, len(r.body), r.body, c.status, len(c.body))
		}
		if gzip := r.Header.Get("Content-Encoding") == "gzip"; c.status == 200 && gzip != (c.header.Get("Accept-Encoding") != "") {
			t.Errorf("GET %s: encoding %q", c.target, r.Header.Get("Content-Encoding"))
		}
	}
	if r := ts.do(call{"HEAD", "/.json?format=export&download=a.json", ownerHeader, ""}); r.ContentLength != int64(len(whole)) || r.Header.Get("Content-Disposition") == "" {
		t.Errorf("HEAD: length %d, %v", r.ContentLength, r.Header)
	}
	leave := fill(t, &ts.exports, maxBulk, observe.PlaceShare{})
	if r := ts.do(call{"GET", "/.json?format=export", ownerHeader, ""}); r.StatusCode != 503 {
		t.Errorf("one export too many: %d %s", r.StatusCode, r.body)
	}
	leave()
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

func TestBackupOverHTTP(t *testing.T) {
	dir := t.TempDir()
	ts := serveTest(t, Options{Dev: true, Dir: dir})
	ts.want("PUT", "/a.json?ns=shop", `{"b":1}`, 200, `{"b":1}`)
	if r := ts.do(call{"GET", "/.settings/backup?ns=shop", nil, ""}); r.StatusCode != 401 {
		t.Errorf("by nobody: %d %s", r.StatusCode, r.body)
	}
	r := ts.do(call{"GET", "/.settings/backup?ns=shop", ownerHeader, ""})
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != typeBinary || r.Header.Get("Content-Disposition") != `attachment; filename="shop.db"` {
		t.Fatalf("%d %v", r.StatusCode, r.Header)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(file, []byte(r.body), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dsync.CheckFile(file); err != nil {
		t.Errorf("the copy: %v", err)
	}
	db, err := dsync.Open(dsync.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	n, err := db.Get(t.Context(), dsync.Read{Caller: dsync.Admin, Path: tree.Root})
	if err != nil || n.JSON() != `{"a":{"b":1}}` {
		t.Errorf("the copy holds %s, %v", n.JSON(), err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	memory := serveTest(t, Options{Dev: true})
	if r := memory.admin("GET", "/.settings/backup", ""); r.StatusCode != 409 || !strings.Contains(r.body, "kept in memory") {
		t.Errorf("in memory: %d %s", r.StatusCode, r.body)
	}
}

// TestSpoolOnAFullDisk says what is wrong.
func TestSpoolOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	s := newSpool("")
	s.file = full
	if _, err := s.Write([]byte("x")); !reflect.DeepEqual(err, &statusError{507, "There is no room on the server's disk."}) {
		t.Errorf("Write to a full disk = %v", err)
	}
	s = newSpool(filepath.Join(t.TempDir(), "missing"))
	if _, err := s.Write(make([]byte, spoolMemory+1)); !os.IsNotExist(err) {
		t.Errorf("Write into a directory that is missing = %v", err)
	}
}
