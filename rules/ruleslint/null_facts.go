package ruleslint

import (
	"maps"
	"strings"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// facts are the keys (names.key) of what is not null. They don't change
// after they were made. They are few, so copying them is cheaper than to share and undo.
//
// nil is what implied returns after too many steps. It can be read, and stand on the right of
// or. On the left it works only with an empty set, which holds: steps never fall, so all that
// implied returns after that is nil, too.
type facts map[string]bool

// impossible is the key that facts have if they contradict each other: no request
// gets there. It is not the key of a value: those begin with auth, query, old or new.
const impossible = "impossible"

func (f facts) contradictory() bool { return f[impossible] }

func (f facts) has(key string) bool { return f[key] }

// or returns what one of the two says.
func (f facts) or(g facts) facts {
	if len(g) == 0 {
		return f
	}
	both := maps.Clone(f)
	maps.Copy(both, g)
	return both
}

// and returns what both say: what holds whichever of two alternatives is taken. One that is
// impossible is never taken, so the other decides alone.
func (f facts) and(g facts) facts {
	switch {
	case f.contradictory():
		return g
	case g.contradictory():
		return f
	}
	both := facts{}
	for key := range f {
		if g[key] {
			both[key] = true
		}
	}
	return both
}

// add notes that what has a key is not null, and so what it is part of: of "auth\x00token\x00a"
// also "auth\x00token" and "auth". A signed-in caller has a uid, a provider and a token.
func (f facts) add(key string) {
	if strings.HasPrefix(key, oldTree) || strings.HasPrefix(key, newTree) {
		f.addPath(key)
		return
	}
	for ; ; key = key[:strings.LastIndexByte(key, 0)] {
		f[key] = true
		if !strings.Contains(key, "\x00") {
			break
		}
	}
	if key == "auth" {
		for _, claim := range []string{"uid", "provider", "token"} {
			f["auth\x00"+claim] = true
		}
	}
}

// addPath notes that a node exists, and those above it. A node with a priority exists, so the
// mark of a priority is dropped; the reverse does not hold.
func (f facts) addPath(path string) {
	path = strings.TrimSuffix(path, priorityMark)
	for ; strings.Contains(path, "\x00"); path = path[:strings.LastIndexByte(path, 0)] {
		f[path] = true
	}
	f[path] = true
}

// implied returns what cannot be null if x is want, where given holds.
//
// It is the dual of visit: visit asks which comparisons have to hold, and
// implied which values cannot be null once a condition holds.
func (f *nullFinder) implied(x lang.Expr, want bool, given facts) facts {
	if f.steps++; f.steps > maxNullSteps {
		return nil
	}
	out := facts{}
	f.evaluated(x, out)
	switch x := x.(type) {
	case *lang.Literal:
		if x.Value != want {
			out[impossible] = true
		}
	case *lang.Unary:
		if x.Op == lang.Not {
			return f.implied(x.X, !want, given)
		}
	case *lang.Cond:
		yes, no := f.implied(x.Test, true, given), f.implied(x.Test, false, given)
		yes = yes.or(f.implied(x.Then, want, given.or(yes)))
		no = no.or(f.implied(x.Else, want, given.or(no)))
		return out.or(yes.and(no))
	case *lang.Binary:
		return out.or(f.impliedBinary(x, want, given))
	case *lang.Call:
		if want {
			f.asked(x, out)
		}
	}
	return out
}

func (f *nullFinder) impliedBinary(x *lang.Binary, want bool, given facts) facts {
	switch {
	case isLogical(x) && (x.Op == lang.And) == want:
		out := f.implied(x.X, want, given)
		return out.or(f.implied(x.Y, want, given.or(out)))
	case isLogical(x):
		not := f.implied(x.X, !want, given)
		return f.implied(x.X, want, given).and(not.or(f.implied(x.Y, want, given.or(not))))
	case x.Op != lang.Eq && x.Op != lang.Ne:
		return nil
	case x.X.Type() == lang.Boolean && x.Y.Type() == lang.Boolean:
		out := facts{impossible: true}
		for _, c := range booleanCases(x, want) {
			left := f.implied(x.X, c[0], given)
			out = out.and(left.or(f.implied(x.Y, c[1], given.or(left))))
		}
		return out
	}
	return f.impliedEqual(x, (x.Op == lang.Eq) == want, given)
}

// impliedEqual returns what cannot be null if both sides of x are equal, or not.
func (f *nullFinder) impliedEqual(x *lang.Binary, equal bool, given facts) facts {
	out := facts{}
	for _, sides := range [][2]lang.Expr{{x.X, x.Y}, {x.Y, x.X}} {
		if equal && f.notNull(sides[0], given) || !equal && isNull(sides[0]) {
			f.noteNotNull(sides[1], out)
		}
	}
	return out
}

func (f *nullFinder) noteNotNull(x lang.Expr, out facts) {
	if key, ok := f.key(x); ok {
		out.add(key)
	}
}

// asked notes what a question to a snapshot tells if the answer is yes. All questions that
// are boolean imply that the node exists: exists(), isString(), hasChildren() and so on.
// hasChild('a') and hasChildren(['a']) imply it of children, too.
func (f *nullFinder) asked(x *lang.Call, out facts) {
	fun := x.Fun.(*lang.Member)
	if fun.X.Type() != lang.Snapshot {
		return
	}
	p, ok := f.path(fun.X)
	if !ok {
		return
	}
	children := x.Args
	if len(children) == 1 {
		if list, ok := children[0].(*lang.Array); ok {
			children = list.Items
		}
	}
	if len(x.Args) == 0 {
		out.addPath(p.String())
	}
	for _, child := range children {
		out.addPath(f.child(p, child).String())
	}
}

// evaluated notes what cannot be null because x was evaluated without an error: an error makes
// the whole rule false (rules §5.4). So a.length > 3 tells that a is not null, whatever its
// result is. Of && and || only the left side counts, of a ternary only the test: the rest may
// not have been evaluated. A member of null claims or of query is null and no error.
func (f *nullFinder) evaluated(x lang.Expr, out facts) {
	f.steps++
	switch x := x.(type) {
	case *lang.Unary:
		f.evaluated(x.X, out)
		if x.Op == lang.Neg {
			f.noteNotNull(x.X, out)
		}
	case *lang.Binary:
		f.evaluated(x.X, out)
		if isLogical(x) {
			return
		}
		f.evaluated(x.Y, out)
		if x.Op != lang.Eq && x.Op != lang.Ne {
			f.noteNotNull(x.X, out)
			f.noteNotNull(x.Y, out)
		}
	case *lang.Cond:
		f.evaluated(x.Test, out)
	case *lang.Member:
		f.evaluated(x.X, out)
		if x.X.Type()&lang.Claims == 0 && x.X.Type() != lang.Query {
			f.noteNotNull(x.X, out)
		}
	case *lang.Index:
		f.evaluated(x.X, out)
		f.evaluated(x.Key, out)
		f.noteNotNull(x.Key, out)
	case *lang.Call:
		fun := x.Fun.(*lang.Member)
		f.evaluated(fun.X, out)
		f.noteNotNull(fun.X, out)
		f.evaluatedArgs(x.Args, out)
	}
}

// evaluatedArgs is evaluated for arguments, which are strings or lists of them.
func (f *nullFinder) evaluatedArgs(args []lang.Expr, out facts) {
	for _, arg := range args {
		if list, ok := arg.(*lang.Array); ok {
			f.evaluatedArgs(list.Items, out)
			continue
		}
		f.evaluated(arg, out)
		f.noteNotNull(arg, out)
	}
}
