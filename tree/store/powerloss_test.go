package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/disktest"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/kv"
)

// powerCuts is how often the power fails at each event of a record.
func powerCuts() int {
	return max(1, tier.Count("DOGWOOD_KILLS", 100, 100, 1000)/100)
}

// A powerEvent is an event of the file, or somebody was told that a commit is
// durable.
type powerEvent struct {
	disktest.Event
	acked int // -1: an event of the file
}

func fileEvent(e disktest.Event) powerEvent { return powerEvent{e, -1} }

func ackEvent(n int) powerEvent { return powerEvent{acked: n} }

// crashWork writes to a store in a way that is the same every time: small
// changes, deletions, large loads, what sessions leave for their disconnect and
// its execution, and the work in the background. It calls committed after each
// commit of a new state.
func crashWork(s *Store, commits int, committed func(n int) error) error {
	for n := 1; n <= commits; n++ {
		if err := crashCommit(s, n); err != nil {
			return fmt.Errorf("commit %d: %w", n, err)
		}
		if err := committed(n); err != nil {
			return err
		}
		if n%3 == 0 {
			if _, err := s.Reclaim(40, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// crashCommit takes the store from state n-1 to state n.
func crashCommit(s *Store, n int) error {
	change := func(tx *Tx) error {
		for i := range 1 + n%5 {
			p := tree.MustParsePath(fmt.Sprintf("small/k%d", (n*7+i*13)%60))
			if _, err := tx.Put(p, crashValue(n, i)); err != nil {
				return err
			}
		}
		_, err := tx.Put(tree.MustParsePath("n"), tree.Number(float64(n)))
		tx.SetRevision(uint64(n))
		return errors.Join(err, crashPending(tx, n))
	}
	if n%10 != 5 {
		return s.Update(change)
	}
	l, err := s.NewLoad(tree.MustParsePath("large"), LoadOptions{SliceBytes: 8 << 10})
	if err != nil {
		return err
	}
	err = l.Read(context.Background(), &rowsText{n: 60 + n})
	if err == nil {
		err = s.Update(func(tx *Tx) error {
			_, err := l.Link(tx)
			return errors.Join(err, change(tx))
		})
	}
	if err != nil {
		_ = l.Abort() // if it fails, Reclaim tries again
	}
	return err
}

// crashPending has a session leave two operations, and carries out those of an
// earlier one in the transaction that removes them.
func crashPending(tx *Tx, n int) error {
	session := func(n int) string { return fmt.Sprint("session ", n) }
	for i := range uint64(2) {
		if err := tx.Disconnects().Put(Pending{Session: session(n), Number: i, Data: []byte("add one")}); err != nil {
			return err
		}
	}
	if n < 4 {
		return nil
	}
	_, err := tx.Put(tree.MustParsePath("left"), tree.Number(float64(2*(n-3))))
	return errors.Join(err, deleteAll(tx.Disconnects(), session(n-3)))
}

func crashValue(n, i int) tree.Node {
	switch (n + i) % 6 {
	case 0:
		return tree.Empty
	case 1:
		return tree.String(string(bytes.Repeat([]byte{'a' + byte(n%26)}, 3000+n)))
	}
	return tree.MustParseNode(fmt.Sprintf(`{"n":%d,"text":"%0*d"}`, n, 100+n, i))
}

// crashState returns everything that a commit changes: the tree and what waits for
// disconnects.
func crashState(t *testing.T, s *Store) string {
	var b strings.Builder
	b.WriteString(exported(t, s, tree.Root))
	err := s.View(func(tx *Tx) error {
		for p, err := range tx.Disconnects().All() {
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "\n%s %d %s", p.Session, p.Number, p.Data)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return b.String()
}

// crashStates returns the state after each commit.
func crashStates(t *testing.T, commits int) []string {
	s := open(t, "")
	defer s.Close()
	states := []string{crashState(t, s)}
	err := crashWork(s, commits, func(int) error {
		states = append(states, crashState(t, s))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// cutPower replays a record and cuts the power everywhere in it, times times at
// each event.
func cutPower(t *testing.T, events []powerEvent, commits, times int) {
	states := crashStates(t, commits)
	rnd := rand.New(rand.NewPCG(1, 1))
	file := filepath.Join(t.TempDir(), "crashed.db")
	var d disktest.Disk
	acked, crashes := -1, 0 // a file that never was complete is no database
	for _, e := range events {
		if e.acked >= 0 {
			acked = e.acked
		} else {
			d.Run(e.Event)
		}
		for range times {
			if acked < 0 || t.Failed() {
				break
			}
			crashes++
			if err := d.Crash(rnd).Write(file); err != nil {
				t.Fatal(err)
			}
			wantState(t, file, states, acked)
		}
	}
	if acked != commits {
		t.Errorf("the record ends with commit %d, want %d", acked, commits)
	}
	t.Logf("%d power failures in %d events", crashes, len(events))
}

// wantState opens a file after a power failure. Nothing that was acknowledged
// may be missing, and nothing may be there in part.
func wantState(t *testing.T, file string, states []string, acked int) {
	t.Helper()
	wantStateUpTo(t, file, states, acked, acked+1)
}

// wantStateUpTo is wantState for a file that may also have the state next.
func wantStateUpTo(t *testing.T, file string, states []string, acked, next int) {
	t.Helper()
	s, err := Open(file, Options{NoSync: true})
	if err != nil {
		t.Errorf("after commit %d: %v", acked, err)
		return
	}
	defer s.Close()
	got := crashState(t, s)
	if at := slices.Index(states, got); at != acked && at != next {
		t.Errorf("after commit %d the file has state %d, %.300s", acked, at, got)
	}
	check(t, s)
}

// TestPowerLoss takes an image of the file after each commit. What differs
// between two is what the commit has written: all but the two meta pages before
// a sync, one of these after it, and then a sync again. That is the order of
// bbolt; TestPowerLossTraced does without knowing it.
func TestPowerLoss(t *testing.T) {
	tier.Unraced(t)
	commits := tier.Pick(20, 25, 60)
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	r := &imageRecorder{Store: s.kv, file: file}
	r.record()
	s.kv = r
	r.events = append(r.events, ackEvent(0))
	err := crashWork(s, commits, func(n int) error {
		r.events = append(r.events, ackEvent(n))
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	cutPower(t, r.events, commits, powerCuts())
}

// An imageRecorder makes a record of what commits do to a file.
type imageRecorder struct {
	kv.Store
	file   string
	last   []byte
	events []powerEvent
}

func (r *imageRecorder) Begin(writable bool) (kv.Tx, error) {
	tx, err := r.Store.Begin(writable)
	if err != nil || !writable {
		return tx, err
	}
	return recordedTx{tx, r}, nil
}

type recordedTx struct {
	kv.Tx
	to *imageRecorder
}

func (t recordedTx) Commit() error {
	err := t.Tx.Commit()
	if err == nil {
		t.to.record()
	}
	return err
}

func (r *imageRecorder) add(e disktest.Event) { r.events = append(r.events, fileEvent(e)) }

func (r *imageRecorder) record() {
	size := os.Getpagesize()
	now, err := os.ReadFile(r.file)
	if err != nil {
		panic(err)
	}
	if more := len(now) - len(r.last); more > 0 {
		r.add(disktest.Event{Do: disktest.Truncate, At: int64(len(now))})
		r.add(disktest.Event{Do: disktest.Sync})
		r.last = append(r.last, make([]byte, more)...)
	}
	var meta []disktest.Event
	for at := 0; at < len(now); at += size {
		page := now[at : at+size]
		if bytes.Equal(page, r.last[at:at+size]) {
			continue
		}
		e := disktest.Event{Do: disktest.Write, At: int64(at), Data: bytes.Clone(page)}
		if at < 2*size {
			meta = append(meta, e)
		} else {
			r.add(e)
		}
	}
	r.add(disktest.Event{Do: disktest.Sync})
	for _, e := range meta {
		r.add(e)
	}
	r.add(disktest.Event{Do: disktest.Sync})
	r.last = now
}
