package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/realtime"
)

// A browser is a client of the realtime protocol over long polling.
type browser struct {
	t            *testing.T
	http         http.Client
	id, password string
	serial, seg  int
	received     int // responses
}

func (n *network) browser() *browser {
	b := &browser{t: n.t, serial: 100}
	transport := &http.Transport{DialContext: n.dial}
	b.http.Transport = transport
	n.t.Cleanup(transport.CloseIdleConnections)
	return b
}

// A reply is the script that a request was answered with.
type reply struct {
	status   int
	number   int // of the response, -1 if there is none
	messages []string
	closes   bool
	closeAt  int // -1: at once
	err      error
}

var script = regexp.MustCompile(`^(?:parent\.pLPCommand7\("start","(\w+)","(\w+)"\);)?` +
	`(?:parent\.pRTLPCB7\((\d+),(\[.*\])\);)?` +
	`(parent\.pLPCommand7\("close"(?:,(\d+))?\);)?$`)

// fetch makes a request and takes its script apart.
func (b *browser) fetch(query string) reply {
	resp, err := b.http.Get("http://db.localhost/.lp?ns=test&" + query)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r := reply{status: resp.StatusCode, number: -1, closeAt: -1, err: err}
	if err != nil || r.status != http.StatusOK {
		return r
	}
	m := script.FindStringSubmatch(string(body))
	if m == nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/javascript") ||
		resp.Header.Get("Cache-Control") != "no-store" {
		r.err = fmt.Errorf("%v %s", resp.Header, body)
		return r
	}
	if m[1] != "" {
		b.id, b.password = m[1], m[2]
	}
	if m[3] != "" {
		r.number, _ = strconv.Atoi(m[3])
		var raw []json.RawMessage
		r.err = json.Unmarshal([]byte(m[4]), &raw)
		for _, msg := range raw {
			r.messages = append(r.messages, string(msg))
		}
	}
	r.closes = m[5] != ""
	if m[6] != "" {
		r.closeAt, _ = strconv.Atoi(m[6])
	}
	return r
}

// get makes a request and returns the status only.
func (b *browser) get(query string) int {
	b.t.Helper()
	r := b.fetch(query)
	if r.err != nil {
		b.t.Fatalf("GET /.lp?%s: %v", query, r.err)
	}
	return r.status
}

// start opens a connection and returns the session's id.
func (b *browser) start(query string) string {
	b.t.Helper()
	r := b.fetch("start=t&ser=1&cb=7&v=5" + query)
	if r.err != nil || r.number != 0 || len(r.messages) != 1 || b.id == "" || r.closes {
		b.t.Fatalf("start: %+v", r)
	}
	b.received = 1
	return helloID(b.t, r.messages[0])
}

// query is that of the next poll, which brings messages.
func (b *browser) query(msgs ...string) string {
	b.serial++
	q := fmt.Sprintf("id=%s&pw=%s&ser=%d", b.id, b.password, b.serial)
	for i, p := range b.pieces(1840, msgs...) {
		q += fmt.Sprintf("&seg%d=%s&ts%d=%s&d%d=%s", i, p[0], i, p[1], i, p[2])
	}
	return q
}

// pieces encodes and cuts messages: number, total and data of each piece.
func (b *browser) pieces(size int, msgs ...string) (pieces [][3]string) {
	encoding := base64.URLEncoding.WithPadding('.')
	for _, msg := range msgs {
		text := encoding.EncodeToString([]byte(msg))
		total := strconv.Itoa((len(text) + size - 1) / size)
		for len(text) > 0 {
			n := min(size, len(text))
			pieces = append(pieces, [3]string{strconv.Itoa(b.seg), total, text[:n]})
			text = text[n:]
			b.seg++
		}
	}
	return pieces
}

// hold sends a poll that waits.
func (b *browser) hold(msgs ...string) <-chan reply {
	q := b.query(msgs...)
	c := make(chan reply, 1)
	go func() { c <- b.fetch(q) }()
	return c
}

// next polls until there are messages, which it returns.
func (b *browser) next(msgs ...string) []string {
	b.t.Helper()
	for {
		r := b.fetch(b.query(msgs...))
		if r.err != nil || r.status != http.StatusOK {
			b.t.Fatalf("poll: %+v", r)
		}
		if r.number >= 0 {
			if r.number != b.received {
				b.t.Fatalf("response %d, want %d", r.number, b.received)
			}
			b.received++
			return r.messages
		}
		msgs = nil
	}
}

func (b *browser) want(msg, want string) {
	b.t.Helper()
	if got := strings.Join(b.next(msg), "\n"); got != want {
		b.t.Fatalf("poll with %.100s:\n got %.300s\nwant %.300s", msg, got, want)
	}
}

func ask(r int, action, body string) string {
	return fmt.Sprintf(`{"t":"d","d":{"r":%d,"a":%q,"b":%s}}`, r, action, body)
}

func okReply(r int, data string) string {
	return fmt.Sprintf(`{"t":"d","d":{"r":%d,"b":{"s":"ok","d":%s}}}`, r, data)
}

const ping = `{"t":"c","d":{"t":"p","d":{}}}`

func TestPollConversation(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	b.start("")
	b.want(ping, pong)
	b.want(ask(1, "p", `{"p":"/x","d":"</script>\u2028"}`), okReply(1, `""`))
	b.want(ask(2, "g", `{"p":"/x","q":{}}`), okReply(2, `"<\/script>\u2028"`))
	b.want(ask(3, "p", `{"p":5}`), `{"t":"d","d":{"r":3,"b":{"s":"invalid_parameters","d":"b.p is 5, want a string"}}}`)

	// A write of another client ends the wait of a poll.
	b.next(ask(4, "q", `{"p":"/x","h":""}`))
	held := b.hold()
	c := n.connect("")
	c.do("p", `{"p":"/x","d":7}`)
	r := <-held
	if want := `{"t":"d","d":{"a":"d","b":{"p":"x","d":7}}}`; len(r.messages) != 1 || r.messages[0] != want {
		t.Errorf("held poll: %+v, want %s", r, want)
	}
}

func TestPollLargeMessage(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	b.start("")
	value := strings.Repeat("€😀", 3000)
	pieces := b.pieces(1840, ask(1, "p", `{"p":"/x","d":"`+value+`"}`))
	replies := make(chan reply, len(pieces))
	for i := range pieces { // the second half comes first, as over two connections
		p := pieces[(i+len(pieces)/2)%len(pieces)]
		b.serial++
		q := fmt.Sprintf("id=%s&pw=%s&ser=%d&seg0=%s&ts0=%s&d0=%s", b.id, b.password, b.serial, p[0], p[1], p[2])
		go func() { replies <- b.fetch(q) }()
	}
	// The answer comes with the reply to any of them, or to the next one.
	var answers []string
	for range pieces {
		r := <-replies
		if r.err != nil || r.status != http.StatusOK {
			t.Errorf("piece: %+v", r)
		}
		answers = append(answers, r.messages...)
	}
	if len(answers) == 0 {
		answers = b.next()
	} else {
		b.received++
	}
	if len(answers) != 1 || answers[0] != okReply(1, `""`) {
		t.Errorf("answers: %q", answers)
	}
	b.want(ask(2, "g", `{"p":"/x","q":{}}`), okReply(2, `"`+value+`"`))
}

// TestPollTurns: a newer poll completes the one that waits, and one that was
// overtaken is completed, too.
func TestPollTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		b := n.browser()
		b.start("")
		first := b.hold()
		synctest.Wait()
		late := b.query()
		second := b.hold()
		if r := <-first; r.err != nil || r.number != -1 || r.closes {
			t.Errorf("first poll: %+v, want an empty reply", r)
		}
		synctest.Wait()
		if r := b.fetch(late); r.err != nil || r.number != -1 || r.closes {
			t.Errorf("late poll: %+v, want an empty reply", r)
		}
		if r := <-second; r.err != nil || r.number != -1 || r.closes {
			t.Errorf("second poll: %+v, want an empty reply", r)
		}
		began := time.Now()
		if r := <-b.hold(); r.err != nil || r.number != -1 || time.Since(began) != realtime.PollHold {
			t.Errorf("poll: %+v after %v, want an empty reply after %v", r, time.Since(began), realtime.PollHold)
		}
		n.browser().http.CloseIdleConnections()
	})
}

// TestPollAbandoned: a poll that is gone does not take messages with it.
func TestPollAbandoned(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	b.start("")
	b.next(ask(1, "q", `{"p":"/x","h":""}`))
	ctx, cancel := context.WithCancel(t.Context())
	q := b.query()
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://db.localhost/.lp?ns=test&"+q, nil)
	done := make(chan error)
	go func() {
		_, err := b.http.Do(req)
		done <- err
	}()
	waitFor(t, "the poll to wait", func() bool { return n.underWay.Load() == 1 })
	cancel()
	<-done
	waitFor(t, "the poll to end", func() bool { return n.underWay.Load() == 0 })
	n.connect("").do("p", `{"p":"/x","d":1}`)
	if got := b.next(); len(got) != 1 || got[0] != `{"t":"d","d":{"a":"d","b":{"p":"x","d":1}}}` {
		t.Errorf("got %v", got)
	}
}

// TestPollRepeated: a browser that repeats a poll did not get the response.
func TestPollRepeated(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	b.start("")
	q := b.query(ping)
	if r := b.fetch(q); len(r.messages) != 1 {
		t.Fatalf("poll: %+v", r)
	}
	if r := b.fetch(q); !r.closes || r.closeAt != -1 || r.number != -1 {
		t.Errorf("repeated poll: %+v, want a close command", r)
	}
	if r := b.fetch(b.query()); !r.closes || r.closeAt != -1 {
		t.Errorf("poll after the end: %+v, want a close command", r)
	}
}

func TestPollRefused(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	b := n.browser()
	b.start("")
	for query, status := range map[string]int{
		"":                                 http.StatusBadRequest,
		"start=t":                          http.StatusBadRequest,
		"start=t&ser=1&cb=alert(1)":        http.StatusBadRequest,
		"id=" + b.id + "&pw=" + b.password: http.StatusBadRequest,
		"ser=5":                            http.StatusNotFound,
		"id=" + b.id + "&ser=5":            http.StatusNotFound,
		"id=" + b.id + "&pw=x&ser=5":       http.StatusNotFound,
		"id=x&pw=" + b.password + "&ser=5": http.StatusNotFound,
		"disconn=t&id=" + b.id + "&pw=x":   http.StatusNoContent,
		b.query() + "&seg0=x&ts0=1&d0=AA":  http.StatusBadRequest,
		b.query() + "&seg0=-1&ts0=1&d0=AA": http.StatusBadRequest,
	} {
		if got := b.get(query); got != status {
			t.Errorf("GET /.lp?%s: status %d, want %d", query, got, status)
		}
	}
	b.want(ping, pong)
}

func TestPollGarbage(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	for name, pieces := range map[string]string{
		"no base64":    "&seg0=0&ts0=1&d0=%21",
		"no pieces":    "&seg0=0&ts0=0&d0=AA",
		"no data":      "&seg0=0&ts0=1",
		"no JSON":      "&seg0=0&ts0=1&d0=aGVsbG8.",
		"far ahead":    "&seg0=100000&ts0=1&d0=AA",
		"other totals": "&seg0=0&ts0=3&d0=AA&seg1=1&ts1=2&d1=AA",
		"early end":    "&seg0=0&ts0=1&d0=" + url.QueryEscape(base64.URLEncoding.EncodeToString([]byte(`{"t":"c","d":{"t":"n","d":{}}}`))),
	} {
		b := n.browser()
		b.start("")
		if r := b.fetch(b.query() + pieces); r.err != nil || !r.closes {
			t.Errorf("%s: %+v, want a close command", name, r)
		}
	}
	waitFor(t, "the connections to end", func() bool { return n.rt.Count() == 0 })
}

func TestPollOfNoDatabase(t *testing.T) {
	n := onSocket(t, Options{Namespaces: []string{"real"}})
	r := n.browser().fetch("start=t&ser=1&cb=7")
	if len(r.messages) != 1 || !strings.HasPrefix(r.messages[0], `{"t":"c","d":{"t":"s","d":"Firebase error.`) {
		t.Errorf("start: %+v, want a shutdown", r)
	}
}

func TestPollDisconnect(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	for i, method := range []string{"GET", "POST"} {
		b := n.browser()
		b.start("")
		b.want(ask(1, "o", fmt.Sprintf(`{"p":"/gone/%d","d":true}`, i)), okReply(1, `""`))
		held := b.hold()
		req, _ := http.NewRequest(method, "http://db.localhost/.lp?ns=test&disconn=t&id="+b.id+"&pw="+b.password, strings.NewReader("x"))
		resp, err := b.http.Do(req)
		if err != nil || resp.StatusCode != http.StatusNoContent {
			t.Fatalf("%s: %v %v", method, resp, err)
		}
		resp.Body.Close()
		if got := n.value(fmt.Sprintf("/gone/%d", i)); got != "true" {
			t.Errorf("%s: the value is %s", method, got)
		}
		if r := <-held; !r.closes {
			t.Errorf("%s: the held poll got %+v", method, r)
		}
	}
}

func TestPollLastSession(t *testing.T) {
	n := onSocket(t, Options{Dev: true})
	old := n.browser()
	last := old.start("")
	old.want(ask(1, "o", `{"p":"/gone","d":true}`), okReply(1, `""`))
	b := n.browser()
	b.start("&ls=" + last)
	b.want(ask(1, "g", `{"p":"/gone","q":{}}`), okReply(1, `true`))
	if r := old.fetch(old.query()); !r.closes {
		t.Errorf("poll of the old session: %+v", r)
	}
}

func TestPollExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := onPipe(t, Options{Dev: true})
		b := n.browser()
		b.start("")
		time.Sleep(realtime.PollFirst - time.Second)
		b.want(ask(1, "o", `{"p":"/gone","d":true}`), okReply(1, `""`))
		for range 10 { // to wait is not to be idle
			time.Sleep(realtime.PollIdle - time.Second)
			<-b.hold()
		}
		time.Sleep(realtime.PollIdle - time.Second)
		synctest.Wait()
		if got := n.value("/gone"); got != "null" {
			t.Errorf("before the time: %s", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := n.value("/gone"); got != "true" {
			t.Errorf("after the time: %s", got)
		}
		if status := b.get(b.query()); status != http.StatusNotFound {
			t.Errorf("poll after expiry: status %d, want 404", status)
		}

		never := n.browser()
		never.start("")
		time.Sleep(realtime.PollFirst + time.Second)
		if status := never.get(never.query()); status != http.StatusNotFound {
			t.Errorf("first poll too late: status %d, want 404", status)
		}
		b.http.CloseIdleConnections()
		never.http.CloseIdleConnections()
	})
}

func TestPollPage(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	r := ts.do(call{method: "GET", target: "/.lp?dframe=t&id=x&pw=</script>"})
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "pagehide") || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, r.body)
	}
	if p := r.Header.Get("Content-Security-Policy"); !strings.Contains(p, "script-src 'sha256-") {
		t.Errorf("policy %s", p)
	}
	if r := ts.do(call{method: "POST", target: "/.lp?start=t&cb=7&ser=1"}); r.StatusCode != http.StatusBadRequest {
		t.Errorf("POST of a start: status %d", r.StatusCode)
	}
}
