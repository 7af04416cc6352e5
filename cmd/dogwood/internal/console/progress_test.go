package console

import (
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, size int64
		took       time.Duration
		want       string
	}{
		{0, 1000, 0, "[                        ]   0%  0 B of 1.0 kB  0 B/s"},
		{500, 1000, time.Second, "[============            ]  50%  500 B of 1.0 kB  500 B/s  1s left"},
		{220_000_000, 220_000_000, 2 * time.Second, "[========================] 100%  220.0 MB of 220.0 MB  110.0 MB/s  0s left"},
		{5_000_000, 0, time.Second, "5.0 MB  5.0 MB/s"},
		{2000, 1000, time.Second, "2.0 kB  2.0 kB/s"}, // it grew
	} {
		if got := progressLine(c.done, c.size, c.took); got != c.want {
			t.Errorf("progressLine(%d, %d, %s) = %q, want %q", c.done, c.size, c.took, got, c.want)
		}
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 1_000_000: "1.0 MB",
		2_500_000_000: "2.5 GB", 9_000_000_000_000: "9.0 TB", 9_000_000_000_000_000: "9000.0 TB",
	} {
		if got := FormatBytes(n); got != want {
			t.Errorf("formatBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
