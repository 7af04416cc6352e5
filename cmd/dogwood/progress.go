package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progressEvery is how often a progress line is drawn.
const progressEvery = 200 * time.Millisecond

// A readProgress draws on a terminal how far a file was read.
type readProgress struct {
	w     io.Writer
	file  *bulkFile
	began time.Time
	width int // of the last line
	end   func()
}

// newReadProgress begins to draw, if somebody can see it. It must be stopped.
func newReadProgress(e *env, file *bulkFile) *readProgress {
	p := &readProgress{w: canvas(e.stderr), file: file, began: time.Now(), end: func() {}}
	if !isTerminal(e.stderr) {
		return p
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.draw(progressLine(file.read.Load(), file.size, time.Since(p.began)))
			case <-stop:
				p.draw("")
				return
			}
		}
	}()
	p.end = sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
	return p
}

// stop removes the line. It may be called again.
func (p *readProgress) stop() { p.end() }

func (p *readProgress) draw(line string) {
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	if line == "" {
		fmt.Fprint(p.w, "\r")
	}
	p.width = len(line)
}

// progressLine says how much of size bytes is done, 0 if nobody knows how many
// there are.
func progressLine(done, size int64, took time.Duration) string {
	const width = 24
	rate := float64(done) / max(took.Seconds(), 0.001)
	speed := formatBytes(int64(rate)) + "/s"
	if size <= 0 || done > size {
		return fmt.Sprintf("%s  %s", formatBytes(done), speed)
	}
	part := float64(done) / float64(size)
	bar := strings.Repeat("=", int(part*width)) + strings.Repeat(" ", width-int(part*width))
	line := fmt.Sprintf("[%s] %3.0f%%  %s of %s  %s", bar, part*100, formatBytes(done), formatBytes(size), speed)
	if rate > 0 {
		left := time.Duration(float64(size-done) / rate * float64(time.Second))
		line += "  " + left.Round(time.Second).String() + " left"
	}
	return line
}

// formatBytes writes a size as people read it.
func formatBytes(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, suffix := float64(n), ""
	for _, suffix = range []string{"kB", "MB", "GB", "TB"} {
		if f /= unit; f < unit {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, suffix)
}
