package main

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A second signal counts unless it comes so soon that it is a copy of the first.
func TestHeedSignals(t *testing.T) {
	type sent struct {
		at     time.Duration
		signal os.Signal
	}
	for name, test := range map[string]struct {
		signals []sent
		code    int // of the signal that ends the process; 0: none does
		at      time.Duration
	}{
		"one":                {[]sent{{0, os.Interrupt}}, 0, 0},
		"two at once":        {[]sent{{0, os.Interrupt}, {0, os.Interrupt}}, 0, 0},
		"passed on":          {[]sent{{0, os.Interrupt}, {echoTime - 1, syscall.SIGTERM}}, 0, 0},
		"twice":              {[]sent{{0, os.Interrupt}, {echoTime, os.Interrupt}}, 130, echoTime},
		"late":               {[]sent{{time.Hour, syscall.SIGTERM}, {2 * time.Hour, syscall.SIGTERM}}, 143, 2 * time.Hour},
		"late, both copied":  {[]sent{{0, os.Interrupt}, {1, os.Interrupt}, {time.Second, os.Interrupt}, {time.Second, os.Interrupt}}, 130, time.Second},
		"copies do not wait": {[]sent{{0, os.Interrupt}, {echoTime / 2, os.Interrupt}, {echoTime, os.Interrupt}}, 130, echoTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				signals := make(chan os.Signal)
				began := time.Now()
				ended := make(chan time.Duration, 1)
				var by signalError
				go func() {
					by = heed(signals, cancel)
					ended <- time.Since(began)
				}()
				for _, s := range test.signals {
					time.Sleep(s.at - time.Since(began))
					select {
					case signals <- s.signal:
					case <-time.After(time.Hour): // the process has ended
					}
					synctest.Wait()
				}
				if got, want := context.Cause(ctx), (signalError{test.signals[0].signal}); got != want {
					t.Errorf("cancelled by %v, want %v", got, want)
				}
				if test.code == 0 {
					if len(ended) != 0 {
						t.Errorf("ended at once by %v", by)
					}
					time.Sleep(echoTime)
					signals <- os.Interrupt // ends the goroutine
					return
				}
				if at := <-ended; at != test.at || by.exitCode() != test.code {
					t.Errorf("ended after %v with code %d, want %v and %d", at, by.exitCode(), test.at, test.code)
				}
			})
		})
	}
}
