package wal

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// A history is what a user of a log knows about it.
type history struct {
	t        *testing.T
	rnd      *rand.Rand
	disk     *memDisk
	log      *Log
	sent     map[string]*entry // by text
	order    []*entry          // in the order in which they were sent
	released [databases + 1]uint64
	highest  uint64
}

const databases = 3

type entry struct {
	text     string
	database uint64
	number   uint64 // 0: not known
	state    state
}

// A state of a record: a crash may decide what is unsettled.
type state int

const (
	unsettled state = iota
	acknowledged
	refused
)

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), disk: newMemDisk(seed), sent: make(map[string]*entry)}
	h.open()
	return h
}

// open opens the log; after a crash in the middle of that, again.
func (h *history) open() {
	for {
		l, err := OpenOn(h.disk, Options{SegmentBytes: 4 << 10})
		if err == nil {
			h.log = l
			h.log.idle = time.Hour // steps write the mark
			break
		}
		if !h.disk.off {
			h.t.Fatalf("open: %v", err)
		}
		h.disk = h.disk.reboot()
	}
	for db := uint64(1); db <= databases; db++ {
		if err := h.log.Release(db, h.released[db]); err != nil && !h.disk.off {
			h.t.Fatal(err)
		}
	}
}

// add appends some records that are written by one call.
func (h *history) add() {
	l := h.log
	l.take()
	var group []*entry
	for range 1 + h.rnd.IntN(4) {
		e := &entry{text: fmt.Sprint(len(h.order), ":", string(bytes.Repeat([]byte{'x'}, h.rnd.IntN(700)))), database: 1 + h.rnd.Uint64N(databases)}
		h.sent[e.text] = e
		h.order = append(h.order, e)
		group = append(group, e)
		g := l.group
		g.heads = append(g.heads, len(g.records))
		half := len(e.text) / 2
		g.records = appendRecord(g.records, &Record{Database: e.database, Kind: FirstKind, Change: []byte(e.text[:half]), Rows: []byte(e.text[half:])})
	}
	g := l.group
	l.write(g)
	for i, e := range group {
		switch {
		case g.err == nil:
			e.state, e.number = acknowledged, g.first+uint64(i)
			if e.number <= h.highest {
				h.t.Fatalf("number %d was given again, after %d", e.number, h.highest)
			}
			h.highest = e.number
		case !errors.Is(g.err, ErrUnsettled):
			e.state = refused
		}
	}
}

// renew has the log take records again. All acknowledged records are durable elsewhere then.
func (h *history) renew() {
	if h.log.Failed() == nil || h.log.Renew() != nil {
		return
	}
	for _, e := range h.order {
		if e.state == unsettled {
			e.state = refused
		}
	}
}

// release says that some of what a database has acknowledged is durable.
func (h *history) release() {
	db := 1 + h.rnd.Uint64N(databases)
	for _, e := range h.order {
		if e.database == db && e.state == acknowledged && e.number > h.released[db] && h.rnd.IntN(3) > 0 {
			h.released[db] = e.number
		}
	}
	_ = h.log.Release(db, h.released[db]) // a segment stays for longer
}

// records returns the records of a database that are kept, and those in the segments.
func (h *history) records(db uint64) (list []Record) {
	h.t.Helper()
	k, kept, _, err := h.log.Kept().Find(h.log.Owner(), db)
	if err != nil {
		h.t.Fatalf("kept of database %d: %v", db, err)
	}
	for _, r := range kept {
		if r.Number > h.released[db] {
			list = append(list, r)
		}
	}
	for r, err := range h.log.Records(db, max(h.released[db], k.Last)) {
		if err != nil {
			h.t.Fatalf("database %d: %v", db, err)
		}
		list = append(list, r)
	}
	return list
}

// check compares what the log has with what is known. Everything that was unsettled is
// settled by it.
func (h *history) check() {
	h.t.Helper()
	found := make(map[string]bool)
	for db := uint64(1); db <= databases; db++ {
		last := uint64(0)
		for _, r := range h.records(db) {
			text := string(r.Change) + string(r.Rows)
			e := h.sent[text]
			switch {
			case e == nil || e.database != db || found[text]:
				h.t.Fatalf("database %d: record %d was never appended", db, r.Number)
			case e.state == refused:
				h.t.Fatalf("database %d: record %d was refused", db, r.Number)
			case e.state == acknowledged && r.Number != e.number || r.Number <= last:
				h.t.Fatalf("database %d: record %d came as %d, after %d", db, e.number, r.Number, last)
			}
			found[text], last = true, r.Number
			h.highest = max(h.highest, r.Number)
			e.state, e.number = acknowledged, r.Number
		}
	}
	for _, e := range h.order {
		if e.state == acknowledged && e.number > h.released[e.database] && !found[e.text] {
			h.t.Fatalf("record %d of database %d was acknowledged and is lost", e.number, e.database)
		}
		if e.state == unsettled {
			e.state = refused
		}
	}
}

func (h *history) step() {
	switch h.rnd.IntN(14) {
	case 0:
		h.release()
	case 3:
		_ = h.log.Keep(1 + h.rnd.Uint64N(databases)) // the segments stay for longer
	case 1:
		h.log.writeMark()
	case 2:
		h.renew()
	default:
		h.add()
	}
	h.log.pool.wait() // so that a seed always takes the same course
}

// TestPowerFailures has the power go off in the middle of any step, several times in a row.
func TestPowerFailures(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for seed := range tier.Pick[uint64](40, 80, 20_000) {
		h := newHistory(t, seed)
		for range 4 {
			h.disk.cutAt = h.disk.steps + 1 + h.rnd.IntN(60)
			for i := 0; i < 80 && !h.disk.off; i++ {
				h.step()
			}
			if h.rnd.IntN(4) == 0 {
				_ = h.log.Close()
			}
			h.disk = h.disk.reboot()
			if h.rnd.IntN(3) == 0 { // also while it is opened
				h.disk.cutAt = 1 + h.rnd.IntN(5)
			}
			h.open()
			h.disk.cutAt = 0
			h.check()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestFailingDisk has steps of the disk fail, and the power go off later: in half of the runs after
// the process was killed, and another one has read what the system shows.
func TestFailingDisk(t *testing.T) {
	tier.RacedFrom(t, tier.Full)
	for seed := range tier.Pick[uint64](40, 80, 20_000) {
		h := newHistory(t, seed)
		often := 3 + h.rnd.IntN(40)
		h.disk.fails = func(int) bool { return h.disk.rnd.IntN(often) == 0 }
		for range 60 {
			h.step()
		}
		if seed%2 == 0 {
			h.disk.fails = nil
			h.open()
			h.check()
			h.add()
		}
		h.disk = h.disk.reboot()
		h.open()
		h.check()
		h.add()
		h.check()
	}
}
