package expression_test

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

var captures = map[string]int{"$u": 1}

func TestValue(t *testing.T) {
	before := tree.MustParseNode(`{"users":{"ann":{"name":"Ann","age":7}}}`)
	writes := []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("users/ann/name")}, Node: tree.String("Bo")}}
	var trees expression.Trees
	trees.Begin(rulestest.World{Root: before}, writes)
	defer trees.End()
	for _, c := range []struct{ src, before, after, fault string }{
		{"data.child('name').val()", `"Ann"`, `"Bo"`, ""},
		{"$u + '!'", `"ann!"`, `"ann!"`, ""},
		{"data.child('age').val() + 1", "8", "8", ""},
		{"data.child('none').val()", "null", "null", ""},
		{"data.val()", "null", "null", "the value is an object"},
		{"1 / (data.child('age').val() - 7)", "null", "null", "the number is not finite"},
		{"data.child('name').val().length > 2", "true", "false", ""},
	} {
		x, err := expression.Compile(c.src, captures)
		if err != nil {
			t.Errorf("%s: %s", c.src, err.Msg)
			continue
		}
		for after, want := range map[bool]string{false: c.before, true: c.after} {
			got, fault := trees.Value(x, tree.MustParsePath("users/ann"), after)
			if got.JSON() != want || fault != c.fault {
				t.Errorf("%s (after: %t) = %s, %q, want %s, %q", c.src, after, got.JSON(), fault, want, c.fault)
			}
		}
	}
}

// The budget begins anew with each expression, and what is remembered is free for none.
func TestBudget(t *testing.T) {
	root := tree.String(strings.Repeat("a", 1000))
	var trees expression.Trees
	trees.Begin(rulestest.World{Root: root}, nil)
	defer trees.End()
	x, err := expression.Compile("data.val().contains('b')", nil)
	if err != nil {
		t.Fatal(err)
	}
	trees.Value(x, tree.Root, false)
	once, _ := trees.Spent()
	trees.Value(x, tree.Root, false)
	if twice, _ := trees.Spent(); once == 0 || twice != 2*once {
		t.Errorf("spent %d bytes, then %d", once, twice)
	}
	if trees.Value(x, tree.Root, true); trees.Err() != nil {
		t.Error(trees.Err())
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		src, want string
		offset    int
	}{
		{"data.val() == auth.uid", "auth is for rules only", 14},
		{"now", "now is for rules only", 0},
		{"1 + root.child('a').val()", "root is for rules only", 4},
		{"query.limitToFirst", "query is for rules only", 0},
		{"newData.val()", "newData is for rules only", 0},
		{"data.parent().val()", "parent() is for rules only", 0},
		{"data['parent']().val()", "parent() is for rules only", 0},
		{"data.child('a')", "Add .val()", 0},
		{"$x", "Unknown variable '$x'.", 0},
		{"data.val(", "Unexpected end", 9},
	} {
		_, err := expression.Compile(c.src, captures)
		if err == nil || !strings.Contains(err.Msg, c.want) || err.Offset != c.offset {
			t.Errorf("%s: %v, want %s at %d", c.src, err, c.want, c.offset)
		}
	}
	if _, err := expression.CompileCondition("data.val()", captures); err == nil {
		t.Error("a condition that is no boolean compiles")
	}
}
