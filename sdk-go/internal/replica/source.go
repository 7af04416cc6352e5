package replica

import "github.com/dogwooddb/dogwood/tree"

// maxLater bounds the changes that a source keeps until it is read.
const maxLater = 4096

// A Source is something the server is asked to follow: the whole of a place, or
// a query's window over it.
type Source struct {
	Path  tree.Path
	Query tree.Query // the zero Query for the whole place
	Tag   int64      // names a window to the server; 0 for a whole place

	node     tree.Node // as the server told, inside of the window, but for later
	later    []change  // what it told since, if node is large
	size     int       // bytes in later
	large    int       // what node is large from
	complete bool      // node is all of it, though it may be of an earlier connection
	current  bool      // the server has answered on this connection
	gone     bool      // it is followed no longer

	// Position is that of the server's log up to which node has everything; "" if it is not
	// known. The server need not send what was before it.
	position string
	resumes  bool      // it was asked for from there on this connection
	forced   bool      // node has what Forced has taken in, which the server may not have done
	before   tree.Node // node without that

	// Of a window that took the place of a source of everything: what that one
	// knew, until the server has told about the window itself.
	all    tree.Node
	hasAll bool

	views []*View
}

// Hash returns the hash of what is known, for which the server need not send
// what it has. It is "" if nothing is.
func (s *Source) Hash() string {
	if !s.complete {
		return ""
	}
	if s.resumes && s.forced {
		return s.before.Hash()
	}
	return s.known().Hash()
}

// Resume returns the position from which on the server is asked to follow the source, on a new
// connection; "" if it is asked for all. may says whether the server has positions. The Hash is
// to be asked for after it.
func (s *Source) Resume(may bool) string {
	s.resumes = may && s.complete && s.position != ""
	if !s.resumes {
		s.position, s.forced = "", false
	}
	return s.position
}

// unforce leaves out what was taken in by Forced if the server says what has changed since the
// time before.
func (s *Source) unforce() {
	if s.resumes && s.forced {
		s.node, s.later, s.size = s.before, nil, 0
	}
	s.forced, s.before = false, tree.Empty
}

// isWhole reports whether the source serves everything at and below its path.
func (s *Source) isWhole() bool { return s.Tag == 0 }

// knows returns what the source says of the place p, at or below its own.
// ok is false if it does not know the whole of it.
func (s *Source) knows(p tree.Path) (n tree.Node, ok bool) {
	rel := s.Path.Rel(p)
	switch {
	case !s.complete:
		return tree.Empty, false
	case s.isWhole():
		return s.known().Get(rel), true
	}
	// Of a window only the children that are in it are known.
	key, rest, below := rel.Cut()
	if !below {
		return tree.Empty, false
	}
	child := s.node.Child(key)
	return child.Get(rest), !child.IsEmpty()
}

// take takes in values for places that may overlap with the source's, all at
// once: a place that only one of them empties is not empty. over lays them over a node.
func (s *Source) take(told []Change, over func(tree.Node, []change) tree.Node) {
	changes := make([]change, 0, len(told))
	for _, c := range told {
		switch {
		case s.Path.Contains(c.Path):
			changes = append(changes, change{tree.Target{Path: s.Path.Rel(c.Path), Priority: c.Priority}, c.Node})
		case c.Path.Contains(s.Path) && !c.Priority:
			changes = append(changes, change{node: c.Node.Get(c.Path.Rel(s.Path))})
		}
	}
	byRank(changes)
	s.hasAll = false
	if s.isWhole() && len(s.node.Text()) >= s.large {
		s.postpone(changes)
		return
	}
	s.node = s.Query.Apply(over(s.known(), changes))
}

// postpone keeps changes until the source is read: to make a large node again costs
// the same for many of them as for one.
func (s *Source) postpone(changes []change) {
	s.later = append(s.later, changes...)
	for _, c := range changes {
		s.size += len(c.node.Text())
	}
	if len(s.later) >= maxLater || s.size > len(s.node.Text()) {
		s.known()
	}
}

// known returns what the server has told.
func (s *Source) known() tree.Node {
	if len(s.later) > 0 {
		s.node = overlay(s.node, s.later)
		s.later, s.size = nil, 0
	}
	return s.node
}

// at returns what the source knows of the place p, at or below its own. whole
// says that it is all of it, not only what is in a window.
func (s *Source) at(p tree.Path) (n tree.Node, whole bool) {
	switch {
	case !s.complete:
		return tree.Empty, false
	case s.hasAll:
		return s.all, true
	}
	return s.known().Get(s.Path.Rel(p)), s.isWhole()
}

// servesOwn reports whether one of the source's views is why it is there, and
// not just covered by it.
func (s *Source) servesOwn() bool {
	for _, v := range s.views {
		if !s.isWhole() || v.Path == s.Path && v.Query.IsAll() {
			return true
		}
	}
	return false
}
