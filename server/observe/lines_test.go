package observe

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBounded: warnings and errors of one text are written ten at once and then one in a second, which
// says how many it stands for, and have no long values.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		log := Bounded(slog.New(slog.NewTextHandler(&written, nil))).With("namespace", "shop")
		lines := func() (n int) {
			defer written.Reset()
			return strings.Count(written.String(), "namespace=shop")
		}
		for range 100 {
			log.Info("told")
			log.With("a", 1).Warn("full", "path", "/x")
			log.WithGroup("g").Error("broken", "err", errors.New("no"))
		}
		if n := lines(); n != 100+2*LineBurst {
			t.Errorf("%d lines are written at once", n)
		}
		time.Sleep(time.Second)
		log.Warn("full", "path", strings.Repeat("x", 10*MaxLogged), "err", errors.New(strings.Repeat("y", 10*MaxLogged)))
		if text := written.String(); !strings.Contains(text, "count=91") || len(text) > 3*MaxLogged {
			t.Errorf("after a second: %s", text)
		}
		if log.Warn("full"); lines() != 1 {
			t.Error("there is a second line in the second")
		}
	})
}
