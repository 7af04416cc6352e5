package console

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progressEvery is how often a progress line is drawn.
const progressEvery = 200 * time.Millisecond

// A StatusLine is a line on the terminal of a person, which is drawn again and again.
type StatusLine struct{ w io.Writer } // nil: no terminal

const clearLine = "\r\x1b[K"

// StatusLine returns the line of the terminal, if there is one.
func (e *Env) StatusLine() StatusLine {
	if !IsTerminal(e.Stderr) {
		return StatusLine{}
	}
	return StatusLine{Canvas(e.Stderr)}
}

// Show replaces the line.
func (l StatusLine) Show(format string, args ...any) {
	if l.w != nil {
		fmt.Fprintf(l.w, clearLine+format, args...)
	}
}

// Clear removes the line.
func (l StatusLine) Clear() { l.Show("") }

// ShowProgress draws on a terminal how much of size bytes was read, until it is stopped.
// It may be stopped again.
func ShowProgress(e *Env, read func() int64, size int64) (stop func()) {
	line := e.StatusLine()
	if line.w == nil {
		return func() {}
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		defer line.Clear()
		for {
			select {
			case <-tick.C:
				line.Show("%s", progressLine(read(), size, time.Since(began)))
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		drawing.Wait()
	}
}

// progressLine says how much of size bytes is done. A size of 0 is unknown.
func progressLine(done, size int64, took time.Duration) string {
	const width = 24
	rate := float64(done) / max(took.Seconds(), 0.001)
	speed := FormatBytes(int64(rate)) + "/s"
	if size <= 0 || done > size {
		return fmt.Sprintf("%s  %s", FormatBytes(done), speed)
	}
	part := float64(done) / float64(size)
	bar := strings.Repeat("=", int(part*width)) + strings.Repeat(" ", width-int(part*width))
	line := fmt.Sprintf("[%s] %3.0f%%  %s of %s  %s", bar, part*100, FormatBytes(done), FormatBytes(size), speed)
	if rate > 0 {
		left := time.Duration(float64(size-done) / rate * float64(time.Second))
		line += "  " + left.Round(time.Second).String() + " left"
	}
	return line
}
