package sync

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/entry"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// tailKeep bounds the segments that stay for the reader, which is never far behind: a long run
// writes many times as much.
const tailKeep = 1 << 30

// Variables of the process that TestTailOverKills kills.
const (
	tailDir  = "DOGWOOD_TEST_TAIL_DIR"
	tailFrom = "DOGWOOD_TEST_TAIL_FROM"
	tailEnds = "DOGWOOD_TEST_TAIL_ENDS" // at the end of the log, without writes
)

const tailWriters = 4

// TestTailOverKills: a reader of the log gets every acknowledged write once and in order, over
// kills and restarts of the process, when it goes on from where it was.
func TestTailOverKills(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	rnd := rand.New(rand.NewPCG(1, 5))
	f := follower{T: t, dir: t.TempDir()}
	for runs := tier.Pick(2, 2, 200); runs > 0; runs-- {
		f.last = runs == 1
		f.run(1+rnd.IntN(3000), false)
	}
	f.run(1<<30, true)
	for i := range tailWriters {
		if f.read[i] < f.acked[i] || f.acked[i] == 0 {
			t.Errorf("writer %d: %d writes were acknowledged, the reader got %d", i, f.acked[i], f.read[i])
		}
	}
	if f.large == 0 {
		t.Error("no large write was read")
	}
}

// A follower keeps what the processes say.
type follower struct {
	*testing.T
	dir   string
	acked [tailWriters]int
	read  [tailWriters]int
	rev   uint64 // of the last commit that was read
	safe  uint64 // up to which the reader needs nothing again
	large int
	last  bool // of the processes that are killed
}

// run starts a process and kills it after so many lines. The last one goes on until a large write was
// read: on a slow machine the others may all end before that.
func (f *follower) run(lines int, ends bool) {
	f.Helper()
	exe, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestTailProcess$", "-test.v")
	cmd.Env = append(os.Environ(), tailDir+"="+f.dir, tailFrom+"="+strconv.FormatUint(f.safe+1, 10))
	if ends {
		cmd.Env = append(cmd.Env, tailEnds+"=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.Fatal(err)
	}
	failed, other := false, ""
	for in := bufio.NewReader(out); ; lines-- {
		if lines <= 0 && (!f.last || f.large > 0) {
			_ = cmd.Process.Kill() // it may have ended
		}
		line, err := in.ReadString('\n')
		if err != nil { // what has no end was cut off by the kill
			break
		}
		failed = failed || strings.Contains(line, "FAIL")
		if !f.line(strings.Fields(line)) {
			other = other[max(len(other)-4000, 0):] + line
		}
	}
	if err := cmd.Wait(); failed || ends && err != nil {
		f.Fatalf("the process failed: %v\n%s", err, other)
	}
}

// line takes a line. It reports whether it is one that the process says to the test.
func (f *follower) line(words []string) bool {
	f.Helper()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			f.Fatal(err)
		}
		return n
	}
	switch {
	case len(words) == 3 && words[0] == "acked":
		f.acked[number(words[1])] = number(words[2])
	case len(words) >= 3 && words[0] == "read":
		rev, safe := uint64(number(words[1])), uint64(number(words[2]))
		if rev <= f.rev {
			return true // it was read before, since parts are needed
		}
		f.rev, f.safe = rev, safe
		for i := 3; i < len(words); i += 2 {
			w, n := number(words[i]), number(words[i+1])
			if n != f.read[w]+1 {
				f.Fatalf("revision %d: write %d of writer %d comes behind %d", rev, n, w, f.read[w])
			}
			f.read[w] = n
			if w == 0 && n%8 == 5 {
				f.large++
			}
		}
	default:
		return false
	}
	return true
}

// TestTailProcess is the process: it writes, and reads the log.
func TestTailProcess(t *testing.T) {
	dir := os.Getenv(tailDir)
	if dir == "" {
		t.Skip("it is a part of TestTailOverKills")
	}
	from, _ := strconv.ParseUint(os.Getenv(tailFrom), 10, 64)
	log, err := logged.OpenLog(store.LogDir(dir), logged.LogOptions{SegmentBytes: 256 << 10, KeepBytes: tailKeep})
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(Options{File: filepath.Join(dir, "db"), Rules: rules.Open(), Store: store.Options{Log: log, FreezeBytes: 64 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	var out sync.Mutex
	say := func(format string, args ...any) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf(format, args...)
	}
	tail, err := db.store.Tail(from)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	if os.Getenv(tailEnds) != "" {
		readTail(t, tail, say, false)
		if err := errors.Join(db.Close(), log.Close()); err != nil {
			t.Fatal(err)
		}
		return
	}
	go readTail(t, tail, say, true)
	var all sync.WaitGroup
	for i := range tailWriters {
		all.Go(func() {
			for {
				n := writeNext(t, db, i)
				say("acked %d %d\n", i, n)
			}
		})
	}
	all.Wait() // until the kill
}

// writeNext makes the next write of a writer. Some of the first one are too large for one
// entry, and for the rows of the log.
func writeNext(t *testing.T, db *Database, writer int) (n int) {
	at := fmt.Sprint("/w", writer)
	n, _ = strconv.Atoi(get(t, db, at))
	n++
	body := fmt.Sprintf(`{"w%d":%d}`, writer, n)
	if writer == 0 && n%8 == 5 {
		var b strings.Builder
		fmt.Fprintf(&b, `{"w0":%d`, n)
		for k := range 9000 {
			fmt.Fprintf(&b, `,"large/%d/%d":"%0500d"`, k%100, k, n)
		}
		body = b.String() + "}"
	}
	if _, err := db.Write(context.Background(), updateOf(t, "/", body)); err != nil {
		t.Error(err)
	}
	return n
}

// readTail says what it reads of the log.
func readTail(t *testing.T, tail *logged.Tail, say func(string, ...any), waits bool) {
	var a entry.Assembler
	safe := uint64(0)
	for {
		e, ok, err := tail.Ready()
		if err == nil && !ok && waits {
			e, err = tail.Next(t.Context())
		}
		if err != nil {
			t.Error(err)
			return
		}
		if !ok && !waits {
			return
		}
		commit, whole, err := a.Add(e)
		if err != nil {
			t.Errorf("revision %d: %v", e.Revision, err)
			return
		}
		if !whole {
			continue
		}
		if !a.Open() {
			safe = e.Revision
		}
		var words []string
		for _, op := range commit {
			if w, ok := op.(*entry.Write); ok {
				for _, r := range w.Writes {
					if writer, ok := strings.CutPrefix(r.Path.Clean(), "w"); ok {
						words = append(words, writer, r.Node.Text())
					}
				}
			}
		}
		say("read %d %d %s\n", e.Revision, safe, strings.Join(words, " "))
	}
}

// TestTailIsTrimmed: a reader that is slower than the log is long is told that it has missed
// something, and so is one that asks for what is gone; one that keeps up gets everything.
func TestTailIsTrimmed(t *testing.T) {
	dir := t.TempDir()
	log, err := logged.OpenLog(store.LogDir(dir), logged.LogOptions{SegmentBytes: 64 << 10, HoldBytes: 512 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	db := openTest(t, Options{File: filepath.Join(dir, "db"), Store: store.Options{Log: log, FreezeBytes: 16 << 10, NoSync: true}})
	set(t, db, "/n", "0")
	var tails [2]*logged.Tail
	for i := range tails {
		if tails[i], err = db.store.Tail(0); err != nil {
			t.Fatal(err)
		}
		defer tails[i].Close()
	}
	slow, quick := tails[0], tails[1]
	var revisions []uint64
	for i := range 200 {
		set(t, db, "/n", fmt.Sprintf(`"%d %020000d"`, i, i))
		for {
			e, ok, err := quick.Ready()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			revisions = append(revisions, e.Revision)
		}
		if i == 5 { // held: they are within the bound
			if e, ok, err := slow.Ready(); !ok || err != nil || e.Revision != 1 {
				t.Error(e.Revision, ok, err)
			}
		}
	}
	if !slices.IsSorted(revisions) || len(revisions) != 201 {
		t.Errorf("the quick reader got %d revisions", len(revisions))
	}
	for err = nil; err == nil; {
		_, err = slow.Next(t.Context())
	}
	if !errors.Is(err, store.ErrTrimmed) {
		t.Error("the slow reader:", err)
	}
	late, err := db.store.Tail(2) // the log may have released them by now, or go on to
	if err == nil {
		defer late.Close()
		_, err = late.Next(t.Context())
	}
	if !errors.Is(err, store.ErrTrimmed) {
		t.Error("a late reader:", err)
	}
}
