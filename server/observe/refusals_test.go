package observe

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dogwooddb/dogwood/server/metrics"
)

// logTo returns a logger of what serve logs unless told otherwise, and of its
// lines from the message on.
func logTo(b *bytes.Buffer) (*slog.Logger, func() []string) {
	log := slog.New(slog.NewTextHandler(b, nil))
	return log, func() (lines []string) {
		for line := range strings.Lines(b.String()) {
			_, line, _ = strings.Cut(line, "level=")
			lines = append(lines, strings.TrimSpace(line))
		}
		b.Reset()
		return lines
	}
}

// TestRefusalsAreLogged: a line per reason, then one that counts what came until
// the pause was over.
func TestRefusalsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log, lines := logTo(&b)
		counts := metrics.New()
		r := NewRefusals(&counts.Refused, log)
		want := func(want ...string) {
			t.Helper()
			if got := lines(); !slices.Equal(got, want) {
				t.Errorf("log has %q, want %q", got, want)
			}
		}
		r.Add(metrics.SlowHeaders, "192.0.2.1")
		want(`WARN msg="came up against a limit" reason=slow_headers count=1 remote=192.0.2.1`)
		for range 5 {
			r.Add(metrics.SlowHeaders, "192.0.2.2")
		}
		want()
		r.Add(metrics.Bodies, "")
		want(`WARN msg="came up against a limit" reason=body_bytes count=1`)
		time.Sleep(LinePause)
		r.Add(metrics.SlowHeaders, "192.0.2.3")
		r.Add(metrics.SlowHeaders, "192.0.2.4")
		want(`WARN msg="came up against a limit" reason=slow_headers count=6 remote=192.0.2.3`)
		if n := counts.Refused.Of(metrics.SlowHeaders); n != 8 {
			t.Errorf("%d refusals are counted, want 8", n)
		}
	})
}

// TestLinesOften: some lines at once, then one in a second, which stands for those that were
// left out.
func TestLinesOften(t *testing.T) {
	var l LineLimiter
	lines, told := 0, uint64(0)
	for _, c := range []struct {
		since time.Duration
		lines int    // so far
		told  uint64 // in these
	}{
		{0, 10, 10},
		{time.Second - 1, 10, 10},
		{time.Second, 11, 201},
		{time.Hour, 21, 310},
	} {
		for range 100 {
			if count, ok := l.Often(c.since); ok {
				lines, told = lines+1, told+count
			}
		}
		if lines != c.lines || told != c.told {
			t.Errorf("until %s, %d lines for %d events, want %d for %d", c.since, lines, told, c.lines, c.told)
		}
	}
}

// TestErrorLog: what net/http has to say is in the log at a bounded rate.
func TestErrorLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log, lines := logTo(&b)
		l := ErrorLog(log)
		for range 100 {
			l.Printf("http: %s", "odd")
		}
		if got := lines(); len(got) != LineBurst || got[0] != `WARN msg="http: odd" count=1` {
			t.Errorf("log has %q", got)
		}
		time.Sleep(time.Second)
		l.Print("http: late")
		if got, want := lines(), []string{`WARN msg="http: late" count=91`}; !slices.Equal(got, want) {
			t.Errorf("log has %q, want %q", got, want)
		}
	})
}
