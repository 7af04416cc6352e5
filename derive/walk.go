package derive

import "github.com/dogwooddb/dogwood/tree"

// A Keyed is a tree whose keys can be walked from any of them on. A walk reads keys and no values.
// It may go on in another transaction, and nodes may come and go in between.
type Keyed interface {
	Has(p tree.Path) (bool, error)
	// KeysAfter returns some of the keys of the node at p that come behind a key, in key order;
	// "": from the first on. None means that there are no more.
	KeysAfter(p tree.Path, key string) ([]string, error)
}

// A Place is where a walk is: the paths in front of it and below it were visited. The zero
// Place is the beginning. It may lie above the nodes that the walk looks for, and need not exist any
// more. A server stores it, so that a walk goes on after a restart.
type Place struct {
	Begun bool
	Path  tree.Path
}

// Passed reports whether a walk that is at a place has visited p.
func (l Place) Passed(p tree.Path) bool {
	return l.Begun && (l.Path.Contains(p) || tree.ComparePaths(p, l.Path) < 0)
}

// A walk visits the stored nodes that a pattern leads to, in the order of paths.
type walk struct {
	tree  Keyed
	f     func(p tree.Path)
	steps int // that may be made
	at    Place
	err   error
}

// WalkSources calls f for the source nodes of a definition behind a place, in the order of
// paths. Of lists and of containers that are counted whole, these are the containers. It ends
// after a number of steps, which are keys that it reads. That must be more than a path has keys:
// with fewer, it would end before it is at a node, again and again at the same place.
// It returns where it ended, and whether there is more.
func (d *Definition) WalkSources(t Keyed, from Place, steps int, f func(p tree.Path)) (at Place, more bool, err error) {
	source := d.source
	if d.Kind == Keep || d.whole {
		source = source[:len(source)-1]
	}
	return walkPattern(source, t, from, steps, f)
}

// WalkPlaces is WalkSources for what is at the target. A definition without a target has none.
func (d *Definition) WalkPlaces(t Keyed, from Place, steps int, f func(p tree.Path)) (at Place, more bool, err error) {
	if d.target == nil {
		return from, false, nil
	}
	return walkPattern(d.target, t, from, steps, f)
}

func walkPattern(pt pattern, t Keyed, from Place, steps int, f func(p tree.Path)) (Place, bool, error) {
	w := walk{tree: t, f: f, steps: steps, at: from}
	var rest *tree.Path
	if from.Begun {
		rest = &from.Path
	}
	more := w.visit(pt, tree.Root, rest)
	return w.at, more, w.err
}

// visit visits what is below p. rest is the way from p to where the walk began again, nil if
// that is not below p. It reports whether the walk ended before its end.
func (w *walk) visit(pt pattern, p tree.Path, rest *tree.Path) (more bool) {
	if rest != nil && rest.IsRoot() {
		return false // p was visited
	}
	if len(pt) == 0 {
		return w.arrive(p)
	}
	after, below := "", tree.Root
	if rest != nil {
		after, below, _ = rest.Cut()
	}
	if key := pt[0].key; key != "" {
		switch c := tree.CompareKeys(key, after); {
		case rest == nil || c > 0:
			return w.visit(pt[1:], p.Child(key), nil)
		case c == 0:
			return w.visit(pt[1:], p.Child(key), &below)
		}
		return false
	}
	if rest != nil && w.visit(pt[1:], p.Child(after), &below) {
		return true
	}
	for {
		keys, err := w.tree.KeysAfter(p, after)
		if err != nil {
			w.err = err
			return true
		}
		if len(keys) == 0 {
			return false
		}
		for _, key := range keys {
			if w.steps--; w.steps < 0 || w.visit(pt[1:], p.Child(key), nil) {
				return true
			}
			w.at = Place{true, p.Child(key)}
		}
		after = keys[len(keys)-1]
	}
}

// arrive visits p if it exists.
func (w *walk) arrive(p tree.Path) (more bool) {
	has, err := w.tree.Has(p)
	if err != nil {
		w.err = err
		return true
	}
	if has {
		w.f(p)
	}
	w.at = Place{true, p}
	return false
}

// MayMeet reports whether a write at p may touch the definition or say something about its
// target. It is Document.Meets for one definition, and also answers for an index.
func (d *Definition) MayMeet(p tree.Path) bool {
	return d.source.mayMeet(p) || d.exclusive() && d.target.mayMeet(p)
}

func (pt pattern) mayMeet(p tree.Path) bool {
	for _, s := range pt {
		key, rest, ok := p.Cut()
		if !ok {
			return true
		}
		if s.key != "" && s.key != key {
			return false
		}
		p = rest
	}
	return true
}
