package space

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
)

const mib = 1 << 20

// disks are what a test says about directories.
type disks map[string]Stat

func (d disks) stat(dir string) (Stat, error) {
	if s, ok := d[dir]; ok {
		return s, nil
	}
	return Stat{}, errors.New("no such directory")
}

// TestShort: writes stop below what is to be kept, and go on a little above it.
func TestShort(t *testing.T) {
	var log bytes.Buffer
	d := disks{"data": {Free: 500 * mib, Size: 10 << 30, Device: 1}, "log": {Free: 500 * mib, Size: 10 << 30, Device: 1}}
	w := New(Options{Data: "data", Log: "log", Least: Amount{Bytes: 160 * mib}, To: slog.New(slog.NewTextHandler(&log, nil)), Stat: d.stat})
	for _, step := range []struct {
		free    int64
		missing int64 // -1: writes go on
	}{
		{500 * mib, -1},
		{160 * mib, -1},
		{159 * mib, 1 * mib},
		{159 * mib, 11 * mib},
		{0, 170 * mib},
		{165 * mib, 5 * mib}, // not enough more
		{170 * mib, -1},
		{165 * mib, -1},
		{10 * mib, 150 * mib},
	} {
		for dir, s := range d {
			s.Free = step.free
			d[dir] = s
		}
		w.Look()
		got := int64(-1)
		if short := w.Short(); short != nil {
			got = short.Missing
		}
		if got != step.missing {
			t.Errorf("with %s free: missing %d, want %d", Text(step.free), got, step.missing)
		}
	}
	if n := strings.Count(log.String(), "writes stop"); n != 2 {
		t.Errorf("the log has %d lines about writes that stop, want 2:\n%s", n, &log)
	}
	if n := strings.Count(log.String(), "writes go on: there is room again"); n != 1 {
		t.Errorf("the log has %d lines about writes that go on, want 1:\n%s", n, &log)
	}
	if len(w.Disks()) != 1 {
		t.Errorf("one disk is shown as %+v", w.Disks())
	}
}

// TestDiskOfTheLog: a log on a disk of its own stops writes, too, whatever is free in the files
// of databases.
func TestDiskOfTheLog(t *testing.T) {
	d := disks{"data": {Free: 500 * mib, Size: 10 << 30, Device: 1}, "log": {Free: 5 * mib, Size: 1 << 30, Device: 2}}
	w := New(Options{Data: "data", Log: "log", Least: Amount{Bytes: 256 * mib, Percent: 2}, To: slog.New(slog.DiscardHandler), Stat: d.stat})
	short := w.Short()
	if short == nil || short.Dir != "log" || short.Missing != math.MaxInt64 {
		t.Fatalf("short is %+v", short)
	}
	if all := w.Disks(); len(all) != 2 || all[0].Short || !all[1].Short || all[0].Least != (10<<30)/50 {
		t.Errorf("disks are %+v", all)
	}
	d["log"] = Stat{Free: 30 * mib, Size: 1 << 30, Device: 2}
	if w.Look(); w.Short() != nil {
		t.Errorf("writes do not go on: %+v", w.Short())
	}
}

// TestBothDisks: what is free in the files of databases does not count if the disk of the log is
// short, too.
func TestBothDisks(t *testing.T) {
	short := Stat{Free: 5 * mib, Size: 1 << 30}
	data, log := short, short
	data.Device, log.Device = 1, 2
	w := New(Options{Data: "data", Log: "log", Least: Amount{Bytes: 256 * mib}, To: slog.New(slog.DiscardHandler), Stat: disks{"data": data, "log": log}.stat})
	if err := w.Short(); err == nil || err.Dir != "log" || err.Missing != math.MaxInt64 {
		t.Errorf("short is %+v", err)
	}
}

// TestBlind: a disk that cannot be looked at stops nothing, and the log says so once.
func TestBlind(t *testing.T) {
	var log bytes.Buffer
	w := New(Options{Data: "data", Log: "log", Least: Auto, To: slog.New(slog.NewTextHandler(&log, nil)), Stat: disks{}.stat})
	w.Look()
	if w.Short() != nil || len(w.Disks()) != 0 || strings.Count(log.String(), "--min-free has no effect") != 1 {
		t.Errorf("%+v, %+v\n%s", w.Short(), w.Disks(), &log)
	}
}

// TestStat asks the system.
func TestStat(t *testing.T) {
	s, err := stat(t.TempDir())
	if errors.Is(err, errUnsupported) {
		t.Log(err)
		return
	}
	if err != nil || s.Free <= 0 || s.Size < s.Free {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64 // of a disk of 10 GiB; -1: refused
	}{
		{"auto", (10 << 30) / 50},
		{"0", 0},
		{"1000", 1000},
		{"512MiB", 512 * mib},
		{"512 mib", 512 * mib},
		{"1.5GiB", 1536 * mib},
		{"2GB", 2e9},
		{"1k", 1024},
		{"5%", (10 << 30) / 20},
		{"0%", 0},
		{"-1", -1}, {"", -1}, {"%", -1}, {"91%", -1}, {"NaN%", -1}, {"NaN", -1}, {"1e300", -1}, {"MiB", -1}, {"5MiB MiB", -1}, {"much", -1},
	} {
		var a Amount
		if err := a.UnmarshalText([]byte(c.text)); err != nil {
			if c.want != -1 {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if got := a.Of(10 << 30); got != c.want {
			t.Errorf("%s: %d, want %d", c.text, got, c.want)
		}
		text, _ := a.MarshalText()
		var again Amount
		if err := again.UnmarshalText(text); err != nil || again != a {
			t.Errorf("%s is written as %s, which is %+v, %v", c.text, text, again, err)
		}
	}
}
