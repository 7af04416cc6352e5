package rules

import (
	"fmt"
	"iter"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// crowded has a node with any number of children, which have none.
type crowded struct {
	tree.Reader // none: what is not below is not read
	asked       *int
}

func (c crowded) Has(p tree.Path) (bool, error) {
	*c.asked++
	return p.Len() < 3, nil
}

func (c crowded) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := 0; yield(fmt.Sprintf("k%d", i), nil); i++ {
		}
	}
}

// TestVisits: a write of a priority looks at a bounded number of stored nodes, also if no rule is
// asked about them, and is refused by a rule that it did not come to.
func TestVisits(t *testing.T) {
	r := mustRules(t, `{"rules":{".write":true,"list":{"$k":{"note":{".validate":"newData.isString()"}}}}}`)
	asked := 0
	priority := tree.Target{Path: tree.MustParsePath("list"), Priority: true}
	d := check(t, r, &Request{Op: OpWrite, Data: crowded{asked: &asked}, Writes: []tree.ResolvedWrite{{Target: priority, Node: tree.Number(1)}}})
	if d.Allow || d.Rule != "/list/$k/note/.validate" || asked > 250_000 {
		t.Errorf("%+v after %d nodes", d, asked)
	}
	for _, c := range []struct {
		at     string
		value  bool
		visits bool
	}{
		{at: "list", visits: true}, {at: "", visits: true}, {at: "list/k1"}, {at: "list/k1/note"}, {at: "other"}, {at: "list", value: true},
	} {
		u := tree.Update{{Target: tree.Target{Path: tree.MustParsePath(c.at), Priority: !c.value}}}
		if got := r.Visits(u); got != c.visits {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestEmptiedNode: a node that a removal empties is gone for the rules, also once the budget is
// spent.
func TestEmptiedNode(t *testing.T) {
	r := mustRules(t, `{"rules":{"notes":{"$n":{
		".write":"newData.child('body').val().matches(/^[a-z ]*$/)",
		"tags":{".write":"newData.exists()"}}}}}`)
	for _, size := range []int{100, 3 << 20} {
		data := tree.MustParseNode(fmt.Sprintf(`{"notes":{"n":{"body":"%0*d","tags":{"a":true}}}}`, size, 1))
		w := tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath("notes/n/tags/a")}}
		if d := check(t, r, &Request{Op: OpWrite, Data: stored{data}, Writes: []tree.ResolvedWrite{w}}); d.Allow {
			t.Errorf("a body of %d bytes: allowed by %s", size, d.Rule)
		}
	}
}

// TestNumChildrenIsCountedOnce: the children of a node that is written are counted once for all rules.
func TestNumChildrenIsCountedOnce(t *testing.T) {
	r, err := ParseWith(`{"rules":{"list":{".write":true,"$k":{".validate":"newData.parent().numChildren() <= 1000"}}}}`, ParseOptions{Extensions: allExtensions})
	if err != nil {
		t.Fatal(err)
	}
	var list tree.Builder
	for i := range 1000 {
		list.Child(fmt.Sprintf("k%03d", i), tree.String(fmt.Sprintf("%0100d", i)))
	}
	w := tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath("list")}, Node: list.Node()}
	if d := check(t, r, &Request{Op: OpWrite, Data: stored{tree.Empty}, Writes: []tree.ResolvedWrite{w}}); !d.Allow {
		t.Errorf("refused by %s", d.Rule)
	}
}
