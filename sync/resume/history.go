package resume

import (
	"maps"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store/entry"
)

// Bounds of a History. A client that missed more is sent the whole view: to find out what it
// missed must cost little next to that.
const (
	MaxCommits = 4096     // that a client may have missed
	maxBytes   = 1 << 20  // that the paths of the commits take
	maxScan    = 16 << 20 // of entries that are read at once
	MaxTouched = 1000     // paths in a view that a client may have missed
	maxMeets   = 1 << 18  // comparisons of what was written with what a permission rests on

	slack     = 256              // commits in front of the one that is asked for
	keptAlive = 30 * time.Second // after the last question
)

// A Tail reads the entries of a log, one after the other, without waiting.
type Tail interface {
	// Ready returns the next entry; ok is false if there is none yet.
	Ready() (e entry.Entry, ok bool, err error)
	// Close gives up what the reader holds back. It can still be read, as far as the log has
	// the entries.
	Close()
}

// A History is which paths were written by the newest commits of a database. It is read from
// the log when it is asked for, once for all clients, and forgotten after a time without
// questions. Nothing of it runs in the committer, and it holds no segment of the log back.
//
// All clients come back at the same time after a restart. So each question only reads the
// commits that no earlier one has read.
type History struct {
	open   func(from uint64) (Tail, error)
	run    uint32                   // of the database now
	opened uint64                   // the revision with which the run began
	start  atomic.Pointer[Position] // the place behind that; nil: not looked for yet

	mu      sync.Mutex
	tail    Tail // nil: nothing is known
	parts   entry.Assembler
	unclear bool   // the commit that is read has operations that are not known
	first   uint64 // revision of the first of commits
	commits []commit
	bytes   int
	lost    uint64 // of the positions up to this revision it is known that they are too old
	forget  *time.Timer
}

// A commit is what one commit has written.
type commit struct {
	run     uint32
	unclear bool // more was written than the targets say, or the rules were changed
	targets []target
	ends    []uint32 // of each write in targets
}

// A target is what one write was about.
type target struct {
	tree.Target
	removed bool
}

// NewHistory returns the history of a database that was opened at a revision for a run with
// the given id. open returns its entries from a revision on.
func NewHistory(opened, run uint64, open func(from uint64) (Tail, error)) *History {
	return &History{open: open, run: RunOf(run), opened: opened}
}

// Position returns the place behind the commit of a revision, or nowhere if the log does not
// have it.
func (h *History) Position(revision uint64) Position {
	run := h.run
	if revision <= h.opened {
		h.mu.Lock()
		defer h.mu.Unlock()
		if revision == 0 || !h.reach(revision, revision) {
			return Position{}
		}
		run = h.commits[revision-h.first].run
		if revision == h.opened {
			h.start.Store(&Position{Revision: revision, Run: run})
		}
	}
	return Position{Revision: revision, Run: run}
}

// Known is Position for callers that must not wait. It is nowhere, too, if the log has to be
// read first, which Position does: for the revision that the database was opened with.
func (h *History) Known(revision uint64) Position {
	if revision > h.opened {
		return Position{Revision: revision, Run: h.run}
	}
	if p := h.start.Load(); p != nil && p.Revision == revision {
		return *p
	}
	return Position{}
}

// Written returns the place behind so many writes of a commit of this run.
func (h *History) Written(revision uint64, writes uint32) Position {
	return Position{Revision: revision, Writes: writes, Run: h.run}
}

// Reach reads what a Question needs that goes up to a revision or a later one. It may take
// long, and is for callers that hold nothing yet.
func (h *History) Reach(from Position, to uint64) { h.between(from, to) }

// A Question is what a client asks that comes back.
type Question struct {
	From Position
	To   uint64    // revision of the state that it is to see
	Path tree.Path // of its view

	// Rests are the paths that its permission rests on. If one of them was written, it may not
	// have had the permission all the time, and must not be told what was written meanwhile.
	Rests []tree.Path

	Priorities bool // they may be seen
}

// A Touched is a path, relative to that of a view, at or below which its value may have changed.
type Touched struct {
	Path    tree.Path
	Removed bool // something there was removed; so a node above it may have been gone in between
}

// Since returns where the value of a view may have changed, in the order of the paths; none is
// inside of another. ok is false if that is not known.
func (h *History) Since(q Question) (touched []Touched, ok bool) {
	commits, ok := h.between(q.From, q.To)
	if !ok {
		return nil, false
	}
	found := finder{Question: q, seen: make(map[tree.Path]bool)}
	for i := range commits {
		c := &commits[i]
		targets := c.targets
		if i == 0 {
			w := int(q.From.Writes)
			switch {
			case w == 0:
				continue
			case w > len(c.ends):
				return nil, false
			}
			targets = targets[c.ends[w-1]:]
		}
		if c.unclear || !found.add(targets) {
			return nil, false
		}
	}
	return found.list(), true
}

// between returns the commits from that of a position on, up to a revision.
func (h *History) between(from Position, to uint64) ([]commit, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from.Revision == 0 || from.Revision > to || to-from.Revision > MaxCommits || !h.reach(from.Revision, to) {
		return nil, false
	}
	list := h.commits[from.Revision-h.first : to+1-h.first]
	return slices.Clip(list), list[0].run == from.Run
}

// reach reads the log so that the commits between two revisions are known, if that is
// possible. mu is held.
func (h *History) reach(from, to uint64) bool {
	if from <= h.lost {
		return false
	}
	h.keep()
	if (h.tail == nil || from < h.first) && !h.begin(from) || !h.read(to) {
		h.lost = max(h.lost, from)
		h.drop()
		return false
	}
	if from < h.first { // more came than is kept
		h.lost = max(h.lost, from)
		return false
	}
	return true
}

// begin reads the commit of a revision. It begins somewhat in front of it if the log reaches
// that far, so that questions for a little more need not begin again.
func (h *History) begin(from uint64) bool {
	for _, at := range []uint64{from - min(from-1, slack), from} {
		h.drop()
		tail, err := h.open(at)
		if err != nil {
			continue
		}
		tail.Close()
		h.tail, h.first = tail, at
		if h.read(from) {
			return true
		}
	}
	return false
}

// read reads up to the commit of a revision.
func (h *History) read(to uint64) bool {
	for scanned := 0; h.first+uint64(len(h.commits)) <= to; {
		e, ok, err := h.tail.Ready()
		if scanned += len(e.Text); err != nil || !ok || scanned > maxScan {
			return false
		}
		h.add(e)
	}
	return true
}

// add takes the next entry.
func (h *History) add(e entry.Entry) {
	list, whole, err := h.parts.Add(e)
	if err != nil { // parts were in front of where reading began
		h.parts, h.unclear = entry.Assembler{}, true
		whole = !e.More
	}
	if !whole {
		return
	}
	c := commit{run: RunOf(e.Run), unclear: h.unclear}
	h.unclear = false
	for _, op := range list {
		c.take(op)
	}
	h.commits = append(h.commits, c)
	h.bytes += c.size()
	for len(h.commits) > MaxCommits+1 || h.bytes > maxBytes && len(h.commits) > 1 {
		h.bytes -= h.commits[0].size()
		h.commits, h.first = h.commits[1:], h.first+1
	}
}

// take notes what an operation writes.
func (c *commit) take(op entry.Operation) {
	switch op := op.(type) {
	case *entry.Write:
		c.note(op.Writes)
	case *entry.Link: // where the import is, is said by pieces that may be gone
		c.unclear = true
		c.note(op.Writes)
	case *entry.Rules:
		c.unclear = true
	}
}

// note notes the targets of one write. They do not keep the text of the entry.
func (c *commit) note(writes []tree.ResolvedWrite) {
	for _, w := range writes {
		c.targets = append(c.targets, target{tree.Target{Path: w.Path.Clone(), Priority: w.Priority}, w.Node.IsEmpty() && !w.Priority})
	}
	c.ends = append(c.ends, uint32(len(c.targets)))
}

// size returns about how much memory a commit takes.
func (c *commit) size() int {
	n := 80 + 4*len(c.ends)
	for _, t := range c.targets {
		n += 24 + len(t.Path.Clean())
	}
	return n
}

// keep has what is known forgotten later.
func (h *History) keep() {
	if h.forget == nil {
		h.forget = time.AfterFunc(keptAlive, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.drop()
		})
		return
	}
	h.forget.Reset(keptAlive)
}

// drop forgets what is known. mu is held.
func (h *History) drop() {
	h.tail, h.parts, h.unclear, h.first, h.commits, h.bytes = nil, entry.Assembler{}, false, 0, nil, 0
}

// A finder finds what writes have touched of a view.
type finder struct {
	Question
	seen  map[tree.Path]bool // relative paths, and whether something there was removed
	meets int
}

// add takes the targets of writes. It reports false if the answer is that it is not known.
func (f *finder) add(targets []target) bool {
	if f.meets += len(targets) * len(f.Rests); f.meets > maxMeets {
		return false
	}
	for _, t := range targets {
		for _, r := range f.Rests {
			if r.Contains(t.Path) || t.Path.Contains(r) {
				return false
			}
		}
		switch above := t.Path.Contains(f.Path); {
		case t.Priority && (!f.Priorities || above && t.Path != f.Path):
		case above:
			f.seen[tree.Root] = true
		case f.Path.Contains(t.Path):
			rel := f.Path.Rel(t.Path)
			f.seen[rel] = f.seen[rel] || t.removed
		}
	}
	return len(f.seen) <= MaxTouched
}

// list returns what was found, without what is inside of something else.
func (f *finder) list() (list []Touched) {
	paths := slices.Collect(maps.Keys(f.seen))
	sort.Slice(paths, func(i, j int) bool { return tree.ComparePaths(paths[i], paths[j]) < 0 })
	for _, p := range paths {
		if n := len(list); n > 0 && list[n-1].Path.Contains(p) {
			list[n-1].Removed = list[n-1].Removed || f.seen[p]
		} else {
			list = append(list, Touched{p, f.seen[p]})
		}
	}
	return list
}
