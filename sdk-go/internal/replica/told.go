package replica

import (
	"errors"

	"github.com/dogwooddb/dogwood/tree"
)

// Listened is the server's answer to a listen. The data of the source has arrived before
// it.
func (r *Replica) Listened(s *Source) {
	if s.gone {
		return
	}
	s.unforce()
	s.complete, s.current, s.hasAll = true, true, false
	r.prune()
	if s.isWhole() {
		r.absorb(s)
	}
	r.showAll(s.views)
}

// Refused is the answer that the server does not, or no longer, follow a source.
// Its own views are closed. Those that it only covered get sources of their own.
func (r *Replica) Refused(s *Source, err error) {
	if s.gone {
		return
	}
	r.forget(s)
	views := s.views
	s.views = nil
	var failed, others []*View
	for _, v := range views {
		if !s.isWhole() || v.Path == s.Path && v.Query.IsAll() {
			failed = append(failed, v)
		} else {
			others = append(others, v)
		}
	}
	for _, v := range failed {
		r.views.remove(v.Path, v)
		v.source = nil
	}
	for _, v := range wholeFirst(others) {
		r.supply(v, s)
	}
	r.prune()
	r.showAll(r.views.overlapping(s.Path))
	for _, v := range failed {
		v.fail(err)
	}
}

// ErrUnknownTag is returned for news of a window that is followed no longer.
var ErrUnknownTag = errors.New("unknown tag")

// A Change is a value that the server has for a place.
type Change struct {
	tree.Target
	Node tree.Node
}

// Told takes in what the server says: values for places at and below p, all at
// once. The tag names the window that they are about, 0 for whole places.
func (r *Replica) Told(p tree.Path, tag int64, changes []Change) error {
	if tag != 0 {
		s := r.tagged(p, tag)
		if s == nil {
			return ErrUnknownTag
		}
		s.unforce()
		s.take(changes, overlay)
		r.showAll(s.views)
		return nil
	}
	for _, s := range r.sources.overlapping(p) {
		if s.isWhole() {
			s.unforce()
			s.take(changes, overlay)
		}
	}
	r.show(p)
	return nil
}

func (r *Replica) tagged(p tree.Path, tag int64) *Source {
	for _, s := range r.sources.above(p) {
		if s.Tag == tag {
			return s
		}
	}
	return nil
}

// At takes in the position of the server's log up to which it has told everything.
func (r *Replica) At(position string) {
	for _, s := range r.sources.all() {
		if s.current {
			s.position = position
		}
	}
}

// Forced takes in what the server will have done, though it could not tell: the
// connection is lost.
func (r *Replica) Forced(writes []tree.ResolvedWrite) {
	for _, w := range writes {
		for _, s := range r.sources.overlapping(w.Path) {
			if s.complete && s.Query.Filter == nil {
				if !s.forced {
					s.before, s.forced = s.known(), true
				}
				s.resumes = false // on the connection that is lost
				over := overlay
				if !s.isWhole() {
					over = overlayPart // the server would tell all of a child that comes into the window
				}
				s.take([]Change{{w.Target, w.Node}}, over)
			}
		}
		r.show(w.Path)
	}
}
