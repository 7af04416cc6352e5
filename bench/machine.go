package bench

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// A Machine says where figures were measured.
type Machine struct {
	Processor string  `json:"processor,omitempty"`
	Cores     int     `json:"cores"`
	System    string  `json:"system"` // linux/amd64
	Go        string  `json:"go"`
	SyncMs    float64 `json:"syncMs,omitempty"` // median of making 4 KiB durable; 0 is unknown
}

// ThisMachine describes the machine that this process runs on. dir is where
// the data is, on whose disk syncs are measured; "" leaves that out.
func ThisMachine(dir string) (Machine, error) {
	m := Machine{
		Processor: processor(),
		Cores:     runtime.NumCPU(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Go:        runtime.Version(),
	}
	if dir == "" {
		return m, nil
	}
	sync, err := syncTime(dir, 50)
	m.SyncMs = float64(sync) / float64(time.Millisecond)
	return m, err
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// syncTime returns the median time of appending a page to a file in dir and
// syncing it.
func syncTime(dir string, times int) (median time.Duration, err error) {
	f, err := os.CreateTemp(dir, "sync-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(filepath.Clean(f.Name()))) }()
	page := make([]byte, 4096)
	var took []float64
	for range times {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(began)))
	}
	return time.Duration(MedianOf(took)), nil
}
