package tree

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/dogwooddb/dogwood/tree/piecewise"
)

// A scout reads the second half of a long text while the parser reads the first.
// Where a member of an object begins is only known to who reads from the start, so
// it guesses. If the parser comes by that place, it takes over what the scout has
// read there, up to the end of the object. If not, or if there was anything unusual
// on the way, it reads on as if there were no scout.
type scout struct {
	parser parser
	object objectReader // of which it reads the members from start on
	start  int          // of the first of them
	err    error        // why it stopped before the end of the object
	done   chan struct{}
}

// minScouted is the length in bytes from which two read a text.
const minScouted = 1 << 20

var errRecalled = errors.New("nobody waits for the scout")

// sendScout starts a scout if the text is long and has a place to start at.
func (p *parser) sendScout() {
	if len(p.src) < minScouted || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	if start, ok := guessMember(p.src, len(p.src)/2, len(p.src)/64); ok {
		p.scoutFrom(start)
	}
}

func (p *parser) scoutFrom(start int) {
	s := &scout{start: start, done: make(chan struct{})}
	s.parser = parser{src: p.src, pos: start, dialect: p.dialect, recalled: new(atomic.Bool)}
	s.parser.out = append(make([]byte, 0, len(p.src)-start+1), '{')
	s.object = objectReader{parser: &s.parser, sorted: true, absent: true}
	p.scout = s
	go s.read()
}

func (s *scout) read() {
	defer close(s.done)
	defer func() {
		if r := recover(); r != nil {
			s.err = fmt.Errorf("%v", r)
		}
	}()
	s.object.members(0, 0)
}

// recall ends a scout that was not needed.
func (p *parser) recall() {
	if p.scout == nil {
		return
	}
	p.scout.parser.recalled.Store(true)
	<-p.scout.done
	p.scout = nil
}

// heed ends the work of a scout that was recalled.
func (p *parser) heed() {
	if p.recalled != nil && p.recalled.Load() {
		panic(errRecalled)
	}
}

// takeOver moves what the scout has read to the object that is being read, if it
// belongs there and nothing in it depends on what came before. It reports whether
// it did; the members of the object are complete then.
func (o *objectReader) takeOver(depth, nest int) bool {
	s := o.scout
	if s.start != o.pos {
		o.recall()
		return false
	}
	<-s.done
	o.scout = nil
	deepest := s.parser.deepest
	if s.err != nil || s.object.reserved || depth+deepest > MaxDepth || nest+deepest > maxNesting {
		return false
	}
	o.append(&s.object)
	o.pos = s.parser.pos
	o.deferred = o.deferred || s.parser.deferred
	return true
}

// append adds the members of the other reader, which has none but children.
func (o *objectReader) append(other *objectReader) {
	spans := other.spans
	if n := len(o.spans); !other.sorted || n > o.base && len(spans) > 0 && CompareKeys(o.spans[n-1].key, spans[0].key) >= 0 {
		o.sorted = false
	}
	text := other.out[1:]
	if len(text) > 0 && len(o.out) > o.start+1 {
		o.out = append(o.out, ',')
	}
	shift := len(o.out) - 1
	o.out = piecewise.Append(o.out, text)
	for _, s := range spans {
		if s.from < s.to || !o.sorted {
			o.spans = piecewise.Add(o.spans, span{s.key, s.from + shift, s.to + shift})
		}
	}
}

// guessMember returns where, at or after from, a member of an object seems to begin
// that has more to come for at least share bytes.
func guessMember(src string, from, share int) (at int, ok bool) {
	const tries = 8 // of share bytes each
	at, ok = nextMember(src, from)
	for i, depth := at, 0; ok && i-at < share; {
		switch src[i] {
		case '"':
			i += stringLength(src[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if i++; depth < 0 { // the end of the object: go on in the one around it
			at, ok = nextMember(src, i-1)
			i, depth = at, 0
		}
		if i >= len(src) || i-from > tries*share {
			return 0, false
		}
	}
	return at, ok
}

// nextMember returns where the next string begins that comes after an object and
// a comma.
func nextMember(src string, i int) (at int, ok bool) {
	for {
		n := strings.Index(src[i:], "},")
		if n < 0 {
			return 0, false
		}
		i += n + len("},")
		rest := strings.TrimLeft(src[i:], " \t\r\n")
		if strings.HasPrefix(rest, `"`) {
			return len(src) - len(rest), true
		}
	}
}

// stringLength returns the length of the string that s begins with, or that of s if
// it does not end.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
