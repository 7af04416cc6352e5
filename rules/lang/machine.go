package lang

import (
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Machine matches a regular expression and counts the steps. The time that package
// regexp needs for a character grows with the expression, up to a hundred microseconds
// for the largest that rules may have. The steps are that time.
//
// Package regexp matches in linear time, but does not say how long it took and cannot be
// stopped. A rule may run a large pattern over a long string for each of many writes, so
// a count that can be bounded is needed: package eval charges it to the budget of the
// operation. The result is that of package regexp; a fuzz test compares the two.
type Machine struct {
	prog     *syntax.Prog
	prefix   string // every match begins with it
	anchored bool   // a match begins at the beginning
}

// newMachine returns the machine of an expression in RE2's syntax, which is valid.
func newMachine(text string) (*Machine, error) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	prefix, _ := prog.Prefix()
	return &Machine{prog, prefix, prog.StartCond()&syntax.EmptyBeginText != 0}, nil
}

// Size returns about how much memory the machine takes.
func (m *Machine) Size() int {
	const inst, char = 40, 4
	size := inst * len(m.prog.Inst)
	seen := make(map[*rune]bool) // repeats share their characters
	for i := range m.prog.Inst {
		if r := m.prog.Inst[i].Rune; len(r) > 0 && !seen[&r[0]] {
			seen[&r[0]] = true
			size += char * len(r)
		}
	}
	return size
}

// skipBytes is how many bytes the search for a prefix passes in the time of a step.
const skipBytes = 32

// Match reports whether a part of s matches, and how many steps it took to find out.
// If that takes more than most steps it gives up: then steps is greater than most, and
// the rest means nothing.
func (m *Machine) Match(s string, most int) (matched bool, steps int) {
	r := runs.Get().(*run)
	defer runs.Put(r)
	r.begin(m.prog, most)
	return r.match(m, s), r.steps
}

// A run is one search. Its threads are the instructions at which a match that has begun
// may go on. Runs are reused, since their memory grows with the expression and each match
// needs one.
type run struct {
	prog      *syntax.Prog
	now, next threads
	stack     []uint32
	steps     int
	most      int
}

var runs = sync.Pool{New: func() any { return new(run) }}

func (r *run) begin(prog *syntax.Prog, most int) {
	r.prog, r.steps, r.most = prog, 0, most
	r.now.reset(len(prog.Inst))
	r.next.reset(len(prog.Inst))
}

func (r *run) match(m *Machine, s string) bool {
	before := rune(-1)
	for at := 0; r.steps <= r.most; {
		if len(r.now.list) == 0 {
			if m.anchored && at > 0 {
				return false
			}
			if m.prefix != "" {
				i := strings.Index(s[at:], m.prefix)
				if i < 0 {
					r.steps += (len(s) - at) / skipBytes
					return false
				}
				if r.steps += i / skipBytes; i > 0 {
					at += i
					before, _ = utf8.DecodeLastRuneInString(s[:at])
				}
			}
		}
		c, size := rune(-1), 0
		if at < len(s) {
			c, size = utf8.DecodeRuneInString(s[at:])
		}
		flags := syntax.EmptyOpContext(before, c)
		if (!m.anchored || at == 0) && r.add(&r.now, uint32(r.prog.Start), flags) {
			return true
		}
		if size == 0 {
			return false
		}
		at += size
		if r.step(c, s[at:]) {
			return true
		}
		before = c
	}
	return false
}

// step takes all threads past a character, with rest behind it.
func (r *run) step(c rune, rest string) (matched bool) {
	after := rune(-1)
	if rest != "" {
		after, _ = utf8.DecodeRuneInString(rest)
	}
	flags := syntax.EmptyOpContext(c, after)
	for _, pc := range r.now.list {
		r.steps++
		if in := &r.prog.Inst[pc]; in.MatchRune(c) && r.add(&r.next, in.Out, flags) {
			return true
		}
	}
	r.now, r.next = r.next, r.now
	r.next.clear()
	return false
}

// add adds the instructions that a thread at pc reaches without a character, and
// reports whether a match is among them.
func (r *run) add(to *threads, pc uint32, flags syntax.EmptyOp) (matched bool) {
	r.stack = append(r.stack[:0], pc)
	for len(r.stack) > 0 {
		pc := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		if to.seen(pc) {
			continue
		}
		r.steps++
		switch in := &r.prog.Inst[pc]; in.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			to.mark(pc)
			r.stack = append(r.stack, in.Arg, in.Out)
		case syntax.InstCapture, syntax.InstNop:
			to.mark(pc)
			r.stack = append(r.stack, in.Out)
		case syntax.InstEmptyWidth:
			to.mark(pc)
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				r.stack = append(r.stack, in.Out)
			}
		case syntax.InstFail:
		default:
			to.mark(pc)
			to.list = append(to.list, pc)
		}
	}
	return false
}

// Threads are a set of instructions. marks has for each instruction the round
// in which it was added, so that clear is one increment.
type threads struct {
	list  []uint32 // those that take a character
	marks []uint64 // by instruction: the round in which it was added
	round uint64
}

func (t *threads) reset(n int) {
	if len(t.marks) < n {
		t.marks = make([]uint64, n)
		t.round = 0
	}
	t.clear()
}

func (t *threads) clear() {
	t.list = t.list[:0]
	t.round++
}

func (t *threads) seen(pc uint32) bool { return t.marks[pc] == t.round }
func (t *threads) mark(pc uint32)      { t.marks[pc] = t.round }
