package replica

import (
	"slices"
)

// supply gives a view its source: one that covers it, else a new one. from is a
// source that served it until now, nil for none: what is known is not given up
// for a source that is still to come.
func (r *Replica) supply(v *View, from *Source) {
	s := r.covering(v)
	if s == nil || !s.complete && from != nil && from.complete {
		s = r.follow(v, from)
	}
	if from != nil {
		r.awaitInstead(s, from)
	}
	v.source = s
	s.views = append(s.views, v)
}

// covering returns the source that has, or will have, what the view shows. A view with a
// filter has a source of its own: the server decides what the filter matches.
func (r *Replica) covering(v *View) (best *Source) {
	if v.Query.Filter != nil {
		return nil
	}
	for _, s := range r.sources.above(v.Path) {
		if s.isWhole() && (best == nil || s.complete && !best.complete) {
			best = s
		}
	}
	return best
}

// follow makes a source of a view's own. Data that another source has is copied, so that
// the server need not send it again.
func (r *Replica) follow(v *View, from *Source) *Source {
	s := &Source{Path: v.Path, large: r.large}
	if !v.Query.IsAll() {
		s.Query, s.Tag = v.Query, r.NewTag()
	}
	if from != nil {
		r.inherit(s, from)
	}
	r.sources.add(s.Path, s)
	r.net.Listen(s)
	return s
}

// inherit gives a source what one that it takes the place of knew.
func (r *Replica) inherit(s, from *Source) {
	if all, whole := from.at(s.Path); whole {
		s.node, s.complete = s.Query.Apply(all), true
		s.all, s.hasAll = all, !s.isWhole()
	}
}

// awaitInstead makes acknowledged writes that wait for a source wait for the one
// that takes its place, too.
func (r *Replica) awaitInstead(s, from *Source) {
	for _, w := range r.writes {
		if !s.current && slices.Contains(w.after, from) && !slices.Contains(w.after, s) {
			w.after = append(w.after, s)
		}
	}
}

// split ends a source and gives the views that it covers sources of their own,
// before the server is told, so that it does not stop following between.
func (r *Replica) split(s *Source) {
	r.forget(s)
	views := s.views
	s.views = nil
	for _, v := range wholeFirst(views) {
		r.supply(v, s)
	}
	r.showAll(r.views.overlapping(s.Path)) // other sources may have known more
	r.net.Unlisten(s)
}

// wholeFirst sorts views so that those that cover others come before them.
func wholeFirst(views []*View) []*View {
	rank := func(v *View) int {
		if v.Query.IsAll() {
			return 2 * v.Path.Len()
		}
		return 2*v.Path.Len() + 1
	}
	slices.SortStableFunc(views, func(a, b *View) int { return rank(a) - rank(b) })
	return views
}

func (r *Replica) forget(s *Source) {
	s.gone = true
	r.sources.remove(s.Path, s)
}

// absorb ends the sources that another one covers now.
func (r *Replica) absorb(s *Source) {
	for _, other := range append(r.sources.below(s.Path), r.sources.at(s.Path)...) {
		if other == s || other.Query.Filter != nil {
			continue
		}
		r.forget(other)
		for _, v := range other.views {
			v.source = s
		}
		s.views = append(s.views, other.views...)
		other.views = nil
		r.net.Unlisten(other)
	}
}
