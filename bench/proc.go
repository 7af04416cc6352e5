package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// A usage is what a process has taken of the machine. It is zero where the
// system does not tell, which is everywhere but on Linux.
type usage struct {
	cpu      time.Duration
	resident int64 // bytes
}

// usages are those of both sides at one time.
type usages struct {
	at                time.Time
	server, generator usage
}

// usagesOf reads the usage of this process and of the server, if it runs here.
func usagesOf(pid int) usages {
	u := usages{at: time.Now(), generator: usageOf("self")}
	if pid > 0 {
		u.server = usageOf(strconv.Itoa(pid))
	}
	return u
}

// since returns how many processors were busy since an earlier usage.
func (u usage) since(before usage, seconds float64) float64 {
	if u.cpu == 0 || seconds <= 0 {
		return 0
	}
	return (u.cpu - before.cpu).Seconds() / seconds
}

func usageOf(process string) usage {
	stat, err := os.ReadFile("/proc/" + process + "/stat")
	if err != nil {
		return usage{}
	}
	u, _ := parseStat(stat)
	return u
}

// ticks is how many times per second Linux counts processor time for /proc,
// whatever it does inside.
const ticks = 100

// parseStat reads a /proc/PID/stat. The name of the program, in parentheses,
// may contain anything.
func parseStat(stat []byte) (usage, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const utime, stime, rss = 11, 12, 21 // counted from the field after the name
	if len(fields) <= rss {
		return usage{}, fmt.Errorf("%.100q has %d fields", stat, len(fields))
	}
	var n [3]int64
	for i, field := range []int{utime, stime, rss} {
		var err error
		if n[i], err = strconv.ParseInt(string(fields[field]), 10, 64); err != nil {
			return usage{}, err
		}
	}
	return usage{cpu: time.Duration(n[0]+n[1]) * time.Second / ticks, resident: n[2] * int64(os.Getpagesize())}, nil
}
