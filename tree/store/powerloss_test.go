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
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// The tests in this file cut the power. They have a record of all that was
// written to a file, in order: what came before a sync is on the disk; of what
// came after the last one, any sectors may be and others not.

// sectorBytes is what a disk writes as a whole or not at all.
const sectorBytes = 512

// A diskEvent is one step in the record of a file.
type diskEvent struct {
	do   diskStep
	at   int64
	data []byte
	n    int // of an acknowledgement
}

type diskStep int

const (
	diskWrite    diskStep = iota // data at an offset
	diskTruncate                 // to a size
	diskSync
	diskAck // somebody was told that commit n is durable
)

// A disk is what is left of a file when the power fails.
type disk struct {
	synced  image
	pending []diskEvent
	acked   int
}

func (d *disk) run(e diskEvent) {
	switch e.do {
	case diskSync:
		for _, p := range d.pending {
			d.synced.apply(p, nil)
		}
		d.pending = nil
	case diskAck:
		d.acked = e.n
	default:
		d.pending = append(d.pending, e)
	}
}

// crash returns an image of the file after a power failure now: of what is
// pending, any sectors, and any of the changes of the size.
func (d *disk) crash(rnd *rand.Rand) image {
	left := image{bytes.Clone(d.synced.data), d.synced.size}
	part := rnd.IntN(4) // none, all, half, most
	lost := func() bool {
		switch part {
		case 0:
			return true
		case 1:
			return false
		case 2:
			return rnd.IntN(2) == 0
		}
		return rnd.IntN(16) == 0
	}
	for _, p := range d.pending {
		left.apply(p, lost)
	}
	return left
}

// An image is the content of a file: data, and then zeros up to its size.
type image struct {
	data []byte
	size int64
}

func (im image) write(file string) error {
	if err := os.WriteFile(file, im.data, 0o600); err != nil {
		return err
	}
	return os.Truncate(file, im.size)
}

// apply carries out an event, but for the sectors that are lost.
func (im *image) apply(e diskEvent, lost func() bool) {
	if e.do == diskTruncate {
		if lost == nil || !lost() {
			im.size = e.at
			im.data = im.data[:min(len(im.data), int(e.at))]
		}
		return
	}
	for from := 0; from < len(e.data); from += sectorBytes {
		if lost != nil && lost() {
			continue
		}
		sector := e.data[from:min(from+sectorBytes, len(e.data))]
		at := int(e.at) + from
		if missing := at + len(sector) - len(im.data); missing > 0 {
			im.data = append(im.data, make([]byte, missing)...)
		}
		copy(im.data[at:], sector)
	}
	im.size = max(im.size, int64(len(im.data)))
}

// crashWork writes to a store in a way that is the same every time: small
// changes, deletions, large loads, and the work in the background. It calls
// committed after each commit of a new state.
func crashWork(s *Store, commits int, committed func(n int) error) error {
	for n := 1; n <= commits; n++ {
		if err := crashCommit(s, n); err != nil {
			return fmt.Errorf("commit %d: %w", n, err)
		}
		if err := committed(n); err != nil {
			return err
		}
		if n%3 == 0 {
			if _, err := s.Reclaim(40); err != nil {
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
		return errors.Join(err, tx.Journal(uint64(n), []byte("a record")))
	}
	if n%10 != 5 {
		return s.Update(change)
	}
	l, err := s.NewLoad(tree.MustParsePath("large"), LoadOptions{SliceBytes: 8 << 10})
	if err != nil {
		return err
	}
	if err := l.Read(context.Background(), &rowsText{n: 60 + n}); err != nil {
		return err
	}
	return s.Update(func(tx *Tx) error {
		_, err := tx.Link(l)
		return errors.Join(err, change(tx))
	})
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

// crashStates returns the tree after each commit, as JSON.
func crashStates(t *testing.T, commits int) []string {
	s := open(t, "")
	defer s.Close()
	states := []string{exported(t, s, tree.Root)}
	err := crashWork(s, commits, func(int) error {
		states = append(states, exported(t, s, tree.Root))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// cutPower replays a record and cuts the power everywhere in it, times times at
// each event.
func cutPower(t *testing.T, events []diskEvent, commits, times int) {
	states := crashStates(t, commits)
	rnd := rand.New(rand.NewPCG(1, 1))
	file := filepath.Join(t.TempDir(), "crashed.db")
	var d disk
	begun, crashes := false, 0
	for _, e := range events {
		d.run(e)
		begun = begun || e.do == diskAck // a file that never was complete is no database
		for range times {
			if !begun || t.Failed() {
				break
			}
			crashes++
			if err := d.crash(rnd).write(file); err != nil {
				t.Fatal(err)
			}
			wantState(t, file, states, d.acked)
		}
	}
	if d.acked != commits {
		t.Errorf("the record ends with commit %d, want %d", d.acked, commits)
	}
	t.Logf("%d power failures in %d events", crashes, len(events))
}

// wantState opens a file after a power failure. Nothing that was acknowledged
// may be missing, and nothing may be there in part.
func wantState(t *testing.T, file string, states []string, acked int) {
	t.Helper()
	s, err := Open(file, Options{NoSync: true})
	if err != nil {
		t.Errorf("after commit %d: %v", acked, err)
		return
	}
	defer s.Close()
	got := exported(t, s, tree.Root)
	if at := slices.Index(states, got); at != acked && at != acked+1 {
		t.Errorf("after commit %d the file has state %d, %.300s", acked, at, got)
	}
	check(t, s)
}

// TestPowerLoss takes an image of the file after each commit. What differs
// between two is what the commit has written: all but the two meta pages before
// a sync, one of these after it, and then a sync again. That is the order of
// bbolt; TestPowerLossTraced does without knowing it.
func TestPowerLoss(t *testing.T) {
	const commits = 60
	file := filepath.Join(t.TempDir(), "data.db")
	s := open(t, file)
	r := &imageRecorder{kv: s.kv, file: file}
	r.record()
	s.kv = r
	r.events = append(r.events, diskEvent{do: diskAck})
	err := crashWork(s, commits, func(n int) error {
		r.events = append(r.events, diskEvent{do: diskAck, n: n})
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	cutPower(t, r.events, commits, 2*modelSteps()/800)
}

// An imageRecorder makes a record of what commits do to a file.
type imageRecorder struct {
	kv
	file   string
	last   []byte
	events []diskEvent
}

func (r *imageRecorder) begin(writable bool) (kvTx, error) {
	tx, err := r.kv.begin(writable)
	if err != nil || !writable {
		return tx, err
	}
	return recordedTx{tx.(*boltTx), r}, nil
}

type recordedTx struct {
	*boltTx
	to *imageRecorder
}

func (t recordedTx) commit() error {
	size := t.tx.DB().Info().PageSize
	err := t.boltTx.commit()
	if err == nil {
		t.to.recordPages(size)
	}
	return err
}

func (r *imageRecorder) record() { r.recordPages(os.Getpagesize()) }

func (r *imageRecorder) recordPages(size int) {
	now, err := os.ReadFile(r.file)
	if err != nil {
		panic(err)
	}
	if more := len(now) - len(r.last); more > 0 {
		r.events = append(r.events, diskEvent{do: diskTruncate, at: int64(len(now))}, diskEvent{do: diskSync})
		r.last = append(r.last, make([]byte, more)...)
	}
	var meta []diskEvent
	for at := 0; at < len(now); at += size {
		page := now[at : at+size]
		if bytes.Equal(page, r.last[at:at+size]) {
			continue
		}
		e := diskEvent{do: diskWrite, at: int64(at), data: bytes.Clone(page)}
		if at < 2*size {
			meta = append(meta, e)
		} else {
			r.events = append(r.events, e)
		}
	}
	r.events = append(append(append(r.events, diskEvent{do: diskSync}), meta...), diskEvent{do: diskSync})
	r.last = now
}
