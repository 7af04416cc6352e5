package realtime

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/sync/wire"
)

// FuzzPollQuery: what strangers ask for is either understood or refused.
func FuzzPollQuery(f *testing.F) {
	for _, q := range []string{
		"start=t&ser=12345&cb=1&v=5&ns=test&ls=x",
		"id=a&pw=b&ser=3&ns=test&seg0=0&ts0=1&d0=eyJ9&seg1=1&ts1=2&d1=AA..",
		"dframe=t&id=a&pw=b", "disconn=t&id=a&pw=b",
		"id=a&pw=b&ser=99999999999999999999", "seg0=%00&ser=1", ";&=%zz",
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v, _ := url.ParseQuery(raw)
		q, err := parsePollQuery(v)
		if err != nil {
			return
		}
		switch q.kind {
		case pollStart:
			if strings.Trim(v.Get("cb"), "0123456789") != "" {
				t.Errorf("cb %q was accepted", v.Get("cb"))
			}
		case pollNext:
			if strconv.FormatInt(q.serial, 10) != strings.TrimLeft(strings.TrimPrefix(v.Get("ser"), "+"), "0") && q.serial != 0 {
				t.Errorf("ser %q was read as %d", v.Get("ser"), q.serial)
			}
			for i, p := range q.pieces {
				if got := v.Get("d" + strconv.Itoa(i)); p.Data != got || p.Seg < 0 {
					t.Errorf("piece %d is %+v", i, p)
				}
			}
		}
	})
}

// A browser sends two requests at once and the newer one overtakes: it is
// answered before the older one arrives. Some browsers run replies only in the
// order of their requests, so the older one must not be held.
func TestOvertakenPollIsNotHeld(t *testing.T) {
	p := &poll{woken: make(chan struct{}, 1)}
	p.idle = time.AfterFunc(time.Hour, func() {})
	defer p.idle.Stop()
	newer := p.enter(8)
	p.leave(newer)
	older := p.enter(7)
	select {
	case <-older.released:
	default:
		t.Error("the older request is held")
	}
}

// While the messages of a poll wait to be made, other requests come in, and the connection can end.
// Then they are not made.
func TestPollWaitsForMessages(t *testing.T) {
	s := serveTest(t, Limits{})
	for name, c := range map[string]struct {
		reason closeReason
		last   string
	}{
		"the page goes": {left, `("close");`},
		"a shutdown":    {goingAway, `("close",0);`},
	} {
		t.Run(name, func(t *testing.T) {
			conn := newConn(s.Server, "test", s.opts.Host.(testHost).db, nil)
			conn.leave = func() {}
			p := newPoll(conn, wire.CallbackID{})
			defer p.retire()
			p.start([]byte("{}"))
			places := conn.out.Readers()
			busy := int64(0)
			for places.Try(1) == nil {
				busy++
			}
			defer places.Release(busy)
			conn.out.PushLater(70, func() [][]byte {
				t.Error("the messages were made")
				return nil
			})
			first, ended := make(chan string, 1), make(chan struct{})
			t1 := p.enter(1)
			go func() { first <- string(p.take(t1)) }()
			for n := 1; n > 0; n, _ = conn.out.Backlog() { // it takes them
				time.Sleep(time.Millisecond)
			}
			go func() {
				defer close(ended)
				p.leave(p.enter(2))
				if c.reason == left && !p.isOver() {
					p.abandon(left)
				}
				conn.close(c.reason)
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("it waits for the messages, too")
			}
			if got := <-first; !strings.HasSuffix(got, c.last) {
				t.Errorf("the poll ends with %q, want %s", got, c.last)
			}
		})
	}
}

// A request that is repeated while its messages are made will not get them.
func TestRepeatedPollIsLost(t *testing.T) {
	s := serveTest(t, Limits{})
	conn := newConn(s.Server, "test", s.opts.Host.(testHost).db, nil)
	conn.leave = func() {}
	p := newPoll(conn, wire.CallbackID{})
	defer p.retire()
	t1 := p.enter(1)
	conn.out.PushLater(70, func() [][]byte {
		p.leave(p.enter(1))
		return [][]byte{[]byte("{}")}
	})
	if body := p.take(t1); body != nil {
		t.Errorf("it is answered with %s", body)
	}
	if reason, ends := p.wantsEnd(); !ends {
		t.Error("the connection goes on")
	} else {
		conn.close(reason)
	}
}

// A poll that ends keeps what is ready for its client, also behind a large answer that was taken. No
// values are read for the client, and for one whose page is gone nothing is kept.
func TestPollEnd(t *testing.T) {
	s := serveTest(t, Limits{})
	for name, c := range map[string]struct {
		end  func(*poll)
		kept bool
	}{
		"a shutdown":     {func(p *poll) { p.c.close(goingAway) }, true},
		"the page goes":  {func(p *poll) { p.abandon(left) }, false},
		"the connection": {func(p *poll) { p.c.close(dropped) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			conn := newConn(s.Server, "test", s.opts.Host.(testHost).db, nil)
			conn.leave = func() {}
			p := newPoll(conn, wire.CallbackID{})
			defer p.retire()
			made := 0
			read := func() {
				conn.out.PushRead(70, func() [][]byte {
					made++
					return [][]byte{bytes.Repeat([]byte("1"), PollBatch)}
				})
			}
			read()
			conn.out.Take(PollBatch)
			conn.out.PushFrame([]byte(`"acknowledged"`))
			for range 100 {
				read()
			}
			c.end(p)
			if made != 1 {
				t.Errorf("%d values were read, want 1", made)
			}
			if len(p.last) > 2*pollRest || strings.Contains(string(p.last), "acknowledged") != c.kept {
				t.Errorf("kept: %d bytes, %.60s", len(p.last), p.last)
			}
		})
	}
}

// The response to each request counts until it was sent: also when the next one gets its own, and when
// the connection ends.
func TestPollsCountUntilTheyAreSent(t *testing.T) {
	const size = 1 << 20
	s := serveTest(t, Limits{})
	conn := newConn(s.Server, "test", s.opts.Host.(testHost).db, nil)
	conn.leave = func() {}
	p := newPoll(conn, wire.CallbackID{})
	defer p.retire()
	views := s.opts.Peers.Resources(nil).Views
	var requests []*pollRequest
	var total int64
	for i := range int64(3) {
		conn.out.PushLater(70, func() [][]byte { return [][]byte{bytes.Repeat([]byte("1"), size)} })
		r := p.enter(i)
		requests = append(requests, r)
		total += int64(cap(p.take(r)))
		if held := views.Held(); total < (i+1)*size || held != total {
			t.Fatalf("%d responses of %d bytes hold %d", i+1, total, held)
		}
	}
	conn.close(left)
	if held := views.Held(); held != total {
		t.Errorf("after the end %d bytes are held of %d", held, total)
	}
	for _, r := range requests {
		p.leave(r)
	}
	if held := views.Held(); held != 0 {
		t.Errorf("%d bytes are left", held)
	}
}
