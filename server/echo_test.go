package server

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A bodyMaker makes random bodies of a PUT, with all that such a body may have.
type bodyMaker struct{ *rand.Rand }

func (m bodyMaker) pick(texts ...string) string { return texts[m.IntN(len(texts))] }

func (m bodyMaker) text() string {
	return m.pick(`""`, `"a"`, `"\u00e9\ud83d\ude00"`, `"é😀"`, `"\u2028\/\"\\\n\u0001"`, `"increment 1"`,
		`"`+strings.Repeat(m.pick("x", "é", `\n`, "😀"), m.IntN(9000))+`"`)
}

func (m bodyMaker) leaf() string {
	switch m.IntN(8) {
	case 0, 1:
		return m.text()
	case 2:
		return m.pick("true", "false", "null")
	case 3:
		return m.pick(`{".sv":"timestamp"}`, `{".sv":{"increment":2.5}}`, `{".sv":{"increment":1e20}}`)
	}
	return m.pick("0", "-0", "1e2", "1.50", "12345678901234567890", "-7", "1e-7", "5e-324", strconv.Itoa(m.IntN(1e6)))
}

func (m bodyMaker) key() string {
	return m.pick("0", "1", "2", "07", "-3", "2147483648", "a", "b", "é", `\u00e9`, "😀", strconv.Itoa(m.IntN(9)), strconv.Itoa(m.IntN(9999)), fmt.Sprintf("k%d", m.IntN(99)))
}

// value returns a value, whose containers have up to the given number of children.
func (m bodyMaker) value(depth, children int) string {
	if depth == 0 || m.IntN(4) == 0 && children < 100 {
		return m.leaf()
	}
	var parts []string
	n := m.IntN(children + 1)
	switch m.IntN(4) {
	case 0:
		for range n {
			parts = append(parts, m.value(depth-1, 8))
		}
		return "[" + strings.Join(parts, m.pick(",", " ,\n")) + "]"
	case 1:
		return `{".value":` + m.leaf() + `,".priority":` + m.pick("1", `"p"`, "null", `{".sv":{"increment":1}}`) + "}"
	case 2: // has keys that make it an array, or nearly
		step := 1 + m.IntN(3)
		for i := range n {
			parts = append(parts, fmt.Sprintf(`"%d":%s`, i*step, m.value(depth-1, 8)))
		}
	default:
		for range n {
			parts = append(parts, `"`+m.key()+`":`+m.value(depth-1, 8))
		}
	}
	if m.IntN(3) == 0 {
		parts = append(parts, `".priority":`+m.pick("3", `"x"`))
	}
	m.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, ",") + "}"
}

// body returns a body that is long enough to be streamed.
func (m bodyMaker) body() string {
	text := m.value(4, 700)
	if n := streamFrom + 1 - len(text); n > 0 {
		text = strings.Repeat(" ", n) + text
	}
	return text
}

// TestEchoOfLargePut: an answer that is read back from the store is the one that is made of a
// value in memory, as it is if the client asks for an ETag.
func TestEchoOfLargePut(t *testing.T) {
	tier.Unraced(t)
	t.Parallel()
	now := time.UnixMilli(1_700_000_000_000)
	inMemory := serveTest(t, Options{Dev: true, Now: func() time.Time { return now }})
	onDisk := serveTest(t, Options{Dev: true, Dir: t.TempDir(), Now: func() time.Time { return now }})
	for i := range tier.Pick(4, 4, 600) {
		ts := inMemory
		if i%4 == 0 {
			ts = onDisk
		}
		m := bodyMaker{rand.New(rand.NewPCG(uint64(i), 5))}
		old, text := m.value(3, 20), m.body()
		header := withHeader(http.Header{"Accept-Encoding": {m.pick("gzip", "identity")}})
		var answers [2]result
		for k, h := range []http.Header{header, withTag(header)} {
			ts.want("PUT", "/a.json?print=silent", old, 204, "")
			answers[k] = ts.do(call{"PUT", "/a.json", h, text})
			for _, name := range []string{"Date", "Etag", "X-Request-Id"} {
				answers[k].Header.Del(name)
			}
			if answers[k].Header.Get("Content-Encoding") == "" && answers[k].Header.Get("Content-Length") == "" {
				t.Errorf("seed %d: the answer has no length", i)
			}
		}
		streamed, whole := answers[0], answers[1]
		if streamed.StatusCode != whole.StatusCode || streamed.body != whole.body {
			t.Fatalf("seed %d: %d with %d bytes, want %d with %d\n%s", i, streamed.StatusCode, len(streamed.body), whole.StatusCode, len(whole.body), difference(streamed.body, whole.body))
		}
		if got, want := fmt.Sprint(streamed.Header), fmt.Sprint(whole.Header); got != want {
			t.Errorf("seed %d: headers %s\nwant %s", i, got, want)
		}
		stored := ts.do(call{"GET", "/a.json", ownerHeader, ""})
		if streamed.StatusCode == 200 && stored.body != streamed.body {
			t.Errorf("seed %d: the database has something else\n%s", i, difference(streamed.body, stored.body))
		}
	}
}

func withTag(h http.Header) http.Header {
	h = h.Clone()
	h.Set("X-Firebase-ETag", "true")
	return h
}

// difference shows where two texts begin to differ.
func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	from := max(0, i-60)
	return fmt.Sprintf("at %d: %.200s\nwant %.200s", i, got[from:], want[from:])
}

// TestEchoThatIsNotRead: while a client does not read its echo, the server holds no snapshot
// and no memory for it, and further large PUTs are answered.
func TestEchoThatIsNotRead(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	t.Parallel()
	ts := serveTest(t, Options{Dev: true, Dir: t.TempDir()})
	long := "[" + strings.Repeat(`"`+strings.Repeat("x", 1<<20)+`",`, 8) + "1]" // more than sockets buffer
	for i := range maxBulk + 1 {
		deaf, _ := ts.send(call{"PUT", fmt.Sprintf("/a%d.json", i), ownerHeader, long})
		defer deaf.Close()
		deaf.(*net.TCPConn).SetReadBuffer(4096)
	}
	waitFor(t, "all echoes but one to be streamed", func() bool { return ts.echoes.Used() == maxBulk })
	for i := range maxBulk + 1 {
		path := fmt.Sprintf("/a%d.json?shallow=true", i)
		waitFor(t, "all to be written", func() bool { return ts.do(call{"GET", path, ownerHeader, ""}).body != "null" })
	}
	waitFor(t, "the memory of bodies to be free", func() bool { return ts.all.Work.Meter().Used() == 0 })
	ts.want("PUT", "/small.json", "1", 200, "1")
}

// TestEchoWithoutFile: if there is no file for the echo, nothing is written.
func TestEchoWithoutFile(t *testing.T) {
	t.Parallel()
	tier.RacedFrom(t, tier.Full)
	ts := serveTest(t, Options{Dev: true, Dir: t.TempDir()})
	ts.want("PUT", "/a.json", "1", 200, "1")
	dir := ts.opts.Dir
	ts.opts.Dir = filepath.Join(dir, "missing")
	if r := ts.do(call{"PUT", "/a.json", ownerHeader, rowsFrom("")}); r.StatusCode != 500 {
		t.Errorf("without a file: %d %.200s", r.StatusCode, r.body)
	}
	ts.want("GET", "/a.json", noBody, 200, "1")
	ts.opts.Dir = dir
	if r := ts.do(call{"PUT", "/a.json", ownerHeader, rowsFrom("")}); r.StatusCode != 200 || r.body != rowsFrom("") {
		t.Errorf("with a file: %d %.200s", r.StatusCode, r.body)
	}
}
