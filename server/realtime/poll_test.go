package realtime

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
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
