package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/tree"
)

// countedReader counts how often a place is read.
type countedReader struct {
	stored
	peeks map[string]int
}

func (r countedReader) Peek(p tree.Path) (tree.Node, bool, error) {
	r.peeks[p.String()]++
	return r.stored.Peek(p)
}

// manyWrites returns an update that sets n posts to v.
func manyWrites(n int, v tree.Node) (list []tree.ResolvedWrite) {
	for i := range n {
		p := tree.MustParsePath(fmt.Sprintf("posts/p%d", i))
		list = append(list, tree.ResolvedWrite{Target: tree.Target{Path: p}, Node: v})
	}
	return list
}

func TestBudget(t *testing.T) {
	const mib = 1 << 20
	long := func(n int) tree.Node { return tree.String(strings.Repeat("x", n)) }
	data := tree.Empty.With(tree.MustParsePath("big/a"), long(9*mib)).
		With(tree.MustParsePath("big/b"), long(9*mib)).
		With(tree.MustParsePath("mid"), long(300)).
		With(tree.MustParsePath("small"), long(snapshot.FreeText-3))
	for _, c := range []struct {
		name   string
		kind   string
		rule   string
		writes []tree.ResolvedWrite
		allow  bool
		peeks  int // of big/a, at most
	}{
		{"null needs no reading", ".write", `root.child('big').child('a').val() != null`, manyWrites(500, tree.Bool(true)), true, 0},
		{"one long string is read once", ".write", `root.child('big/a').isString()`, manyWrites(500, tree.Bool(true)), true, 1},
		{"two in turn are not", ".write", `root.child('big/a').isString() && root.child('big/b').isString()`, manyWrites(3, tree.Bool(true)), true, 3},
		{"two in turn too often", ".write", `root.child('big/a').isString() && root.child('big/b').isString()`, manyWrites(500, tree.Bool(true)), false, 4},
		{"what is refused is no null", ".write", `root.child('big/a').isString() && root.child('big/b').val() != 1 || true`, manyWrites(500, tree.Bool(true)), false, 4},
		{"length", ".write", `root.child('big/a').val().length > 1`, manyWrites(500, tree.Bool(true)), false, 1},
		{"contains", ".write", `root.child('big/a').val().contains('x')`, manyWrites(500, tree.Bool(true)), false, 1},
		{"order", ".write", `root.child('big/a').val() <= root.child('big/a').val()`, manyWrites(500, tree.Bool(true)), false, 1},
		{"equality", ".write", `root.child('big/a').val() == root.child('big/a').val()`, manyWrites(500, tree.Bool(true)), false, 1},
		{"equality of other lengths", ".write", `root.child('big/a').val() != 'x'`, manyWrites(500, tree.Bool(true)), true, 1},
		{"middling text", ".write", `root.child('mid').val().contains('x')`, manyWrites(5000, tree.Bool(true)), true, 0},
		{"middling text matched", ".write", `root.child('mid').val().matches(/^x+$/)`, manyWrites(10_000, tree.Bool(true)), false, 0},
		{"short text matched", ".write", `root.child('small').val().matches(/^x+$/)`, manyWrites(10_000, tree.Bool(true)), true, 0},
		{"sums", ".write", `(root.child('mid').val() + root.child('mid').val() + root.child('mid').val()).length > 1`, manyWrites(40_000, tree.Bool(true)), false, 0},
		{"made text", ".write", `root.child('small').val().replace('x', $p + $p + $p + $p + $p + $p + $p + $p) != ''`, manyWrites(10_000, tree.Bool(true)), false, 0},
		{"written text matched", ".validate", `newData.val().matches(/^.+@.+[.].+$/)`, manyWrites(3, long(mib)), false, 0},
		{"a little of it", ".validate", `newData.val().matches(/x/)`, manyWrites(1, long(mib)), true, 0},
		{"written text at its place", ".validate", `newData.isString() && newData.isString()`, manyWrites(100, long(mib)), true, 0},
		{"written text from elsewhere", ".validate", `newData.parent().child('p0').isString() && newData.parent().child('p1').isString()`, manyWrites(100, long(mib)), false, 0},
		{"one written text from elsewhere", ".validate", `newData.parent().child('p0').isString()`, manyWrites(100, long(mib)), true, 0},
	} {
		write := ""
		if c.kind == ".validate" {
			write = `".write":true,`
		}
		r := mustRules(t, fmt.Sprintf(`{"rules":{"posts":{"$p":{%s%q:%q}}}}`, write, c.kind, c.rule))
		reader := countedReader{stored{data}, make(map[string]int)}
		q := &Request{Op: OpWrite, Data: reader, Writes: c.writes}
		if d := check(t, r, q); d.Allow != c.allow {
			t.Errorf("%s: allow = %t", c.name, d.Allow)
		}
		if n := reader.peeks["/big/a"]; n > c.peeks {
			t.Errorf("%s: the string was read %d times", c.name, n)
		}
		x, err := r.Explain(t.Context(), q)
		if err != nil || x.Allow != c.allow {
			t.Errorf("%s: Explain = %+v, %v", c.name, x.Decision, err)
		}
		if !c.allow && len(x.Steps) < maxSteps {
			why := ""
			for _, s := range x.Steps {
				if s.Outcome == Failed {
					why = s.Why
				}
			}
			if !strings.HasPrefix(why, "the rules read more than 64 MiB") {
				t.Errorf("%s: fails because %q", c.name, why)
			}
		}
	}
}

// A budget is that of one operation.
func TestBudgetBeginsAnew(t *testing.T) {
	r := mustRules(t, `{"rules":{"posts":{"$p":{".write":true,".validate":"newData.val().matches(/x/)"}}}}`)
	for i, c := range []struct {
		size  int
		allow bool
	}{{3 << 20, false}, {1 << 20, true}, {3 << 20, false}, {10, true}} {
		q := &Request{Op: OpWrite, Data: stored{}, Writes: manyWrites(1, tree.String(strings.Repeat("x", c.size)))}
		if d := check(t, r, q); d.Allow != c.allow {
			t.Errorf("%d: allow = %t", i, d.Allow)
		}
	}
}

// Explain asks nothing that comes after the target that is denied, and after as
// many steps as it notes no more than Check.
func TestExplainEnds(t *testing.T) {
	for _, c := range []struct {
		name, rules string
		rule        string
		steps       int
		asked       int // how often data is looked at, at most
	}{
		{"first denied", `{"posts":{"$p":{".write":"data.isNumber()",".validate":"data.isString()"}}}`, "/posts/$p/.write", 2, 4},
		{"late denied", `{"posts":{"$p":{".write":"$p != 'p29999'",".validate":"data.isString()"}}}`, "/posts/$p/.write", maxSteps, 0},
		{"none denied", `{"posts":{".write":true,"$p":{".write":"data.isString()",".validate":"newData.isBoolean()"}}}`, "", maxSteps, 0},
	} {
		r := mustRules(t, `{"rules":`+c.rules+`}`)
		reader := countedReader{stored{}, make(map[string]int)}
		q := &Request{Op: OpWrite, Data: reader, Writes: manyWrites(30_000, tree.Bool(true))}
		x, err := r.Explain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, n := range reader.peeks {
			asked += n
		}
		if asked > c.asked || len(x.Steps) != c.steps {
			t.Errorf("%s: %d steps, data was looked at %d times", c.name, len(x.Steps), asked)
		}
		if d := check(t, r, q); d != x.Decision || c.rule != "" && d.Rule != c.rule {
			t.Errorf("%s: Explain = %v, Check = %v", c.name, x.Decision, d)
		}
	}
}

// TestLargeExpressionOverShortTexts: what regular expressions take is bounded by their
// steps, so a large one over many short texts ends.
func TestLargeExpressionOverShortTexts(t *testing.T) {
	r := mustRules(t, `{"rules":{"posts":{"$p":{".write":true,".validate":"newData.val().matches(/([a-z]?){1000}1/) == false"}}}}`)
	short := tree.String(strings.Repeat("x", 200))
	for writes, allow := range map[int]bool{1: true, 2000: false} {
		q := &Request{Op: OpWrite, Data: stored{}, Writes: manyWrites(writes, short)}
		if d := check(t, r, q); d.Allow != allow {
			t.Errorf("%d writes: allow = %t", writes, d.Allow)
		}
	}
}

// Decisions with one Budget spend it together, and Explain decides as they do.
func TestSharedBudget(t *testing.T) {
	const mib = 1 << 20
	r := mustRules(t, `{"rules":{"$p":{".read":"root.child('big').val().contains('y')"}}}`)
	data := stored{tree.Empty.With(tree.MustParsePath("big"), tree.String(strings.Repeat("x", 9*mib)+"y"))}
	for shared, want := range map[bool]int{false: 10, true: snapshot.MaxSpent / (2 * 9 * mib)} { // read, and scanned
		var b Budget
		allowed := 0
		for i := range 10 {
			q := &Request{Op: OpRead, Data: data, Path: tree.MustParsePath(fmt.Sprint("p", i))}
			before := b
			if shared {
				q.Budget = &b
			}
			d := check(t, r, q)
			if d.Allow {
				allowed++
			}
			q.Budget = &before
			if x, err := r.Explain(t.Context(), q); err != nil || x.Allow != d.Allow {
				t.Errorf("shared %t: Explain of decision %d = %+v, %v, want allowed: %t", shared, i, x.Decision, err, d.Allow)
			}
		}
		if allowed != want {
			t.Errorf("shared %t: %d of 10 reads are allowed, want %d", shared, allowed, want)
		}
	}

	var b Budget
	b.budget.Count = snapshot.MaxEvaluations - 2
	for i, allow := range []bool{true, true, false} {
		q := &Request{Op: OpRead, Data: data, Path: tree.MustParsePath("a"), Budget: &b}
		if d := check(t, mustRules(t, `{"rules":{"a":{".read":"auth == null"}}}`), q); d.Allow != allow {
			t.Errorf("decision %d, of 2 expressions: allow = %t", i, d.Allow)
		}
	}
}
