package disktest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is synced is always there; of the rest, whole sectors are or are not.
func TestCrash(t *testing.T) {
	var d Disk
	old, next := bytes.Repeat([]byte("o"), 4*sectorBytes), bytes.Repeat([]byte("n"), 4*sectorBytes)
	d.Run(Event{Do: Truncate, At: 6 * sectorBytes})
	d.Run(Event{Do: Write, Data: old})
	d.Run(Event{Do: Sync})
	d.Run(Event{Do: Write, Data: next})
	d.Run(Event{Do: Truncate, At: 8 * sectorBytes})
	file := filepath.Join(t.TempDir(), "image")
	seen := make(map[string]int)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		if err := d.Crash(rnd).Write(file); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) != 6*sectorBytes && len(left) != 8*sectorBytes {
			t.Fatalf("%d bytes are left", len(left))
		}
		kind := ""
		for at := 0; at < 4*sectorBytes; at += sectorBytes {
			sector := left[at : at+sectorBytes]
			if !bytes.Equal(sector, old[:sectorBytes]) && !bytes.Equal(sector, next[:sectorBytes]) {
				t.Fatal("a sector is neither old nor new")
			}
			kind += string(sector[:1])
		}
		if strings.Trim(string(left[4*sectorBytes:]), "\x00") != "" {
			t.Fatal("there is something where nothing was written")
		}
		seen[kind]++
	}
	if len(seen) != 16 || seen["oooo"] < 50 || seen["nnnn"] < 50 {
		t.Errorf("the power failures leave %v", seen)
	}
}

// TestCrashAfterWriteSync: what was written with a sync is there, and hides what was written
// before it, which may be there around it.
func TestCrashAfterWriteSync(t *testing.T) {
	var d Disk
	d.Run(Event{Do: Write, Data: []byte("aaaa")})
	d.Run(Event{Do: WriteSync, At: 1, Data: []byte("bb")})
	file, seen := filepath.Join(t.TempDir(), "image"), make(map[string]bool)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if err := d.Crash(rnd).Write(file); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen[strings.ReplaceAll(string(left), "\x00", "-")] = true
	}
	if len(seen) != 4 || !seen["-bb"] || !seen["abb"] || !seen["-bba"] || !seen["abba"] {
		t.Errorf("the power failures leave %v", seen)
	}
}

func TestReadTrace(t *testing.T) {
	const log = `17 1795300000.000001 pwrite64(3<\x2f\x61>, "\x78\x79", 2, 4096) = 2
18 1795300000.000002 fdatasync(3<\x2f\x61> <unfinished ...>
17 1795300000.000003 ftruncate(4<\x2f\x62>, 512) = 0
18 1795300000.000004 <... fdatasync resumed>) = 0
17 1795300000.000005 pwrite64(3<\x2f\x61>, "\x78", 1, 0) = -1 EIO (Input/output error)
17 1795300000.000006 fsync(3<\x2f\x61>) = -1 EIO (Input/output error) (INJECTED)
17 +++ exited with 0 +++
17 1795300000.000006 pwrite64(3<\x2f\x61>, "\x78", 1`
	events, err := readTrace(strings.NewReader(log))
	if err != nil || len(events) != 4 {
		t.Fatalf("%d events, %v: %+v", len(events), err, events)
	}
	at := func(i int, do Step, offset int64, data, file string, micros int64) {
		t.Helper()
		e := events[i]
		if e.Do != do || e.At != offset || string(e.Data) != data || e.File != file || !e.Time.Equal(time.Unix(1795300000, micros*1000)) {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	at(0, Write, 4096, "xy", "/a", 1)
	at(1, Truncate, 512, "", "/b", 3)
	at(2, Sync, 0, "", "/a", 2)
	at(3, FailedSync, 0, "", "/a", 6)
	if _, err := readTrace(strings.NewReader(`17 1795300000.000001 pwrite64(3<\x2f\x61>, "\x78"..., 2, 0) = 2` + "\n")); err == nil {
		t.Error("a write that is not recorded whole is taken")
	}
}

// TestFailedSync: what a sync that failed was for is never written later, but for
// what the disk had taken.
func TestFailedSync(t *testing.T) {
	var d Disk // loses all
	d.Run(Event{Do: Write, Data: []byte("lost")})
	d.Run(Event{Do: FailedSync})
	d.Run(Event{Do: Write, At: 4, Data: []byte("kept")})
	d.Run(Event{Do: Sync})
	if got := string(d.synced.data); got != "\x00\x00\x00\x00kept" {
		t.Errorf("the disk has %q", got)
	}
	seen := map[string]bool{}
	for seed := range uint64(32) {
		d := Disk{Rand: rand.New(rand.NewPCG(seed, 0))}
		d.Run(Event{Do: Write, Data: []byte("some")})
		d.Run(Event{Do: FailedSync})
		d.Run(Event{Do: Sync})
		seen[string(d.synced.data)] = true
	}
	if len(seen) != 2 || !seen["some"] || !seen[""] {
		t.Errorf("the disk has one of %v", seen)
	}
}
