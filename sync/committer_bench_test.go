package sync

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/versions"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
	"github.com/dogwooddb/dogwood/tree/store/logged"
)

// stopCommitter ends the committer of a database, so that a test can do what it
// does by itself.
func stopCommitter(t testing.TB, db *Database) {
	db.queue.Close(fault.ErrClosed)
	<-db.done
}

// smallPuts returns tasks that put small objects at distinct paths, as 16
// clients with many writes in flight do. A task is made anew in place.
func smallPuts(t testing.TB, n int) (tasks []task, renew func(round int)) {
	object := fmt.Sprintf(`{"n":1,"done":false,"text":%q}`, strings.Repeat("the quick brown fox ", 8))
	value := putOf(t, "/x", object).Update[0].Value
	tasks = make([]task, n)
	renew = func(round int) {
		for i := range tasks {
			p := tree.Root.Child("set").Child(fmt.Sprint("c", i%16)).Child(fmt.Sprintf("k%010d", round*n/16+i/16))
			target := tree.Target{Path: p}
			w := Write{Caller: Caller{}, Update: tree.Update{{Target: target, Value: value}}, Base: p}
			tasks[i] = &asyncWrite{writeTask: writeTask{write: w}, done: func(error) {}}
		}
	}
	return tasks, renew
}

// BenchmarkCommitBatch is what the committer does for small writes that came
// together, without the sync.
func BenchmarkCommitBatch(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("writes=", n), func(b *testing.B) {
			db := openTest(b, Options{File: filepath.Join(b.TempDir(), "db"), Store: store.Options{NoSync: true}})
			benchCommits(b, db, n)
		})
		b.Run(fmt.Sprint("log/writes=", n), func(b *testing.B) {
			benchCommits(b, openLogged(b), n)
		})
		b.Run(fmt.Sprint("log and a map/writes=", n), func(b *testing.B) {
			db := openLogged(b)
			deploy(b, db, `"bySet": {"map": "/set/$c/$k", "to": "/by/$k/$c"}`)
			benchCommits(b, db, n)
		})
		b.Run(fmt.Sprint("log without changes/writes=", n), func(b *testing.B) {
			db := openLogged(b)
			db.notes.wanted = false
			benchCommits(b, db, n)
		})
	}
}

// openLogged opens a database with a log.
func openLogged(t testing.TB) *Database {
	t.Helper()
	dir := t.TempDir()
	log, err := logged.OpenLog(store.LogDir(dir), logged.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	return openTest(t, Options{File: filepath.Join(dir, "db"), Store: store.Options{NoSync: true, Log: log}})
}

// deploy puts definitions in force.
func deploy(t testing.TB, db *Database, define string) {
	t.Helper()
	doc, err := derive.Parse(`{"format": "dogwood-data/1", "define": {` + define + `}}`)
	if err == nil {
		_, err = db.ChangeData(t.Context(), versions.DataChange{Document: doc})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// benchCommits commits batches of so many writes.
func benchCommits(b *testing.B, db *Database, n int) {
	stopCommitter(b, db)
	tasks, renew := smallPuts(b, n)
	b.ReportAllocs()
	round := 0
	for b.Loop() {
		b.StopTimer()
		renew(round)
		b.StartTimer()
		db.commit(tasks)
		round++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(round*n), "ns/write")
}

// posts returns tasks that each put three places, as a post to a chat does: the
// message, and where the last one is for the room and for the sender.
func posts(t testing.TB, n int) (tasks []task, renew func(round int)) {
	tasks = make([]task, n)
	renew = func(round int) {
		for i := range tasks {
			room, id := fmt.Sprint("r", i%20), fmt.Sprintf("m%08d", round*n+i)
			w := updateOf(t, "/", fmt.Sprintf(`{"messages/%[1]s/%[2]s":{"sender":"ana","message":"hello","sent":%[3]d},
				"rooms/%[1]s/last":%[2]q,"users/u%[4]d/posted/%[1]s":%[2]q}`, room, id, round, i))
			w.Caller = Caller{}
			tasks[i] = &asyncWrite{writeTask: writeTask{write: w}, done: func(error) {}}
		}
	}
	return tasks, renew
}

// BenchmarkPostBatch is what the committer does for posts of 20 rooms that came
// together, without the sync.
func BenchmarkPostBatch(b *testing.B) {
	const n = 20
	rules := parseRules(b, `{"rules":{".read":true,".write":true,"messages":{"$room":{".indexOn":["sent","sender"]}}}}`)
	db := openTest(b, Options{File: filepath.Join(b.TempDir(), "db"), Store: store.Options{NoSync: true}, Rules: rules})
	stopCommitter(b, db)
	tasks, renew := posts(b, n)
	b.ReportAllocs()
	round := 0
	for b.Loop() {
		b.StopTimer()
		renew(round)
		b.StartTimer()
		db.commit(tasks)
		round++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(round*n), "ns/post")
}

// TestBatchAllocations bounds what the committer allocates for one write of a
// batch, with its share of the commit.
func TestBatchAllocations(t *testing.T) {
	tier.Unraced(t)
	const n = 256
	for _, c := range []struct {
		name  string
		tasks func(testing.TB, int) ([]task, func(int))
		most  float64
	}{
		{"put", smallPuts, 8},
		{"update of three places", posts, 34},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := openTest(t, Options{File: filepath.Join(t.TempDir(), "db"), Store: store.Options{NoSync: true}})
			stopCommitter(t, db)
			tasks, renew := c.tasks(t, n)
			round := 0
			next := func() { renew(round); round++ }
			making := testing.AllocsPerRun(10, next)
			total := testing.AllocsPerRun(10, func() { next(); db.commit(tasks) })
			if got := (total - making) / n; got > c.most {
				t.Errorf("a write allocates %.1f times, want at most %.0f", got, c.most)
			}
		})
	}
}

// TestLongBatchesAreParted: what a batch has no time for is committed next, in
// order.
func TestLongBatchesAreParted(t *testing.T) {
	const n = 20
	db := openTest(t, Options{})
	stopCommitter(t, db)
	db.batchTime = 0
	var finished []int
	tasks := make([]task, n)
	for i := range tasks {
		w := putOf(t, "/last", strconv.Itoa(i))
		w.Caller = Caller{}
		tasks[i] = &asyncWrite{writeTask: writeTask{write: w}, done: func(err error) {
			if err != nil {
				t.Error(err)
			}
			finished = append(finished, i)
		}}
	}
	before := db.Stats()
	db.commit(tasks)
	if after := db.Stats(); after.Batches-before.Batches < 2 {
		t.Errorf("%d writes were one batch", n)
	}
	if len(finished) != n || !slices.IsSorted(finished) {
		t.Errorf("finished %v", finished)
	}
	want(t, db, "/last", strconv.Itoa(n-1))
}

// TestSmallWritesLeaveNoWork: only a write that unlinks something has the
// committer look for what is to be reclaimed.
func TestSmallWritesLeaveNoWork(t *testing.T) {
	db := openTest(t, Options{})
	stopCommitter(t, db)
	large := fmt.Sprintf(`{"a":%q,"b":1}`, strings.Repeat("x", 2*store.PackLimit))
	for _, c := range []struct {
		path, value string
		work        bool
	}{
		{"/a", "1", false},
		{"/a/b", `{"c":true}`, false},
		{"/a", "null", false},
		{"/large", large, false},
		{"/large/b", "2", false},
		{"/large", "3", true},
	} {
		for db.work = true; db.work; {
			db.background(workRows, nil)
		}
		db.store.TakeWork()
		db.commit([]task{&asyncWrite{writeTask: writeTask{write: putOf(t, c.path, c.value)}, done: func(err error) {
			if err != nil {
				t.Errorf("put %s: %v", c.path, err)
			}
		}}})
		if db.work != c.work {
			t.Errorf("after a put at %s there is work: %t, want %t", c.path, db.work, c.work)
		}
	}
}

// TestStalledWorkIsTriedAgain: background work that failed waits for the next
// write, whatever that is.
func TestStalledWorkIsTriedAgain(t *testing.T) {
	db := openTest(t, Options{})
	stopCommitter(t, db)
	db.work, db.stalled = false, true
	db.commit([]task{&asyncWrite{writeTask: writeTask{write: putOf(t, "/a", "1")}, done: func(error) {}}})
	if !db.work {
		t.Error("work that failed is not tried again after a write")
	}
	for db.work {
		db.background(workRows, nil)
	}
	if db.stalled {
		t.Error("work that was done counts as failed")
	}
}

// BenchmarkImport is an import of 20 MB, with a log and its pieces there, and without the pieces.
func BenchmarkImport(b *testing.B) {
	text := importText(1, 150_000)
	for _, logs := range []bool{true, false} {
		b.Run(fmt.Sprint("pieces=", logs), func(b *testing.B) {
			db := openLogged(b)
			db.logs = logs
			db.notes.wanted = logs
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				imports(b, db, "/x", text)
			}
		})
	}
}
