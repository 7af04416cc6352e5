package tree

import (
	"slices"
	"strings"
	"testing"
)

func TestNodeKinds(t *testing.T) {
	tests := []struct {
		json                string
		empty, leaf, object bool
		priority, value     string
		children            int
	}{
		{"null", true, false, false, "null", "null", 0},
		{"true", false, true, false, "null", "true", 0},
		{"-1.5", false, true, false, "null", "-1.5", 0},
		{`"x"`, false, true, false, "null", `"x"`, 0},
		{`{".priority":3,".value":"x"}`, false, true, false, "3", `"x"`, 0},
		{`{"a":1,"b":2}`, false, false, true, "null", `{"a":1,"b":2}`, 2},
		{`{".priority":"p","a":1}`, false, false, true, `"p"`, `{"a":1}`, 1},
		{`{".priority":"}","a":{".priority":"{",".value":"\""},"b":"}"}`, false, false, true, `"}"`, `{"a":{".priority":"{",".value":"\""},"b":"}"}`, 2},
	}
	for _, test := range tests {
		n := MustParseNode(test.json)
		if n.JSON() != test.json {
			t.Errorf("%s became %s", test.json, n.JSON())
		}
		if n.IsEmpty() != test.empty || n.IsLeaf() != test.leaf || n.IsObject() != test.object {
			t.Errorf("%s: IsEmpty %t, IsLeaf %t, IsObject %t", n.JSON(), n.IsEmpty(), n.IsLeaf(), n.IsObject())
		}
		if got := n.Priority().JSON(); got != test.priority {
			t.Errorf("%s: Priority() = %s, want %s", n.JSON(), got, test.priority)
		}
		if got := n.Value().JSON(); got != test.value {
			t.Errorf("%s: Value() = %s, want %s", n.JSON(), got, test.value)
		}
		if got := n.NumChildren(); got != test.children {
			t.Errorf("%s: NumChildren() = %d, want %d", n.JSON(), got, test.children)
		}
		if got := n.Value().WithPriority(n.Priority()); got != n {
			t.Errorf("%s: Value and Priority give %s", n.JSON(), got.JSON())
		}
		if FromCanonical(n.JSON()) != n || FromCanonical(n.Text()) != n {
			t.Errorf("%s does not come back from its text", n.JSON())
		}
	}
}

func TestLeafValues(t *testing.T) {
	for _, n := range []Node{String("a\"b\n"), String("a\"b\n").WithPriority(Number(1))} {
		if s, ok := n.StringValue(); s != "a\"b\n" || !ok {
			t.Errorf("%s: StringValue() = %q, %t", n.JSON(), s, ok)
		}
	}
	if f, ok := Number(-1e21).WithPriority(String("")).NumberValue(); f != -1e21 || !ok {
		t.Errorf("NumberValue() = %v, %t", f, ok)
	}
	if b, ok := Bool(true).BoolValue(); !b || !ok {
		t.Errorf("BoolValue() = %t, %t", b, ok)
	}
	if b, ok := Bool(false).WithPriority(Number(1)).BoolValue(); b || !ok {
		t.Errorf("BoolValue() = %t, %t", b, ok)
	}
	for _, n := range []Node{Empty, MustParseNode(`{"a":1}`), String("true"), String("1")} {
		_, isBool := n.BoolValue()
		_, isNumber := n.NumberValue()
		_, isString := n.StringValue()
		if isBool || isNumber || isString != n.IsLeaf() {
			t.Errorf("%s: BoolValue %t, NumberValue %t, StringValue %t", n.JSON(), isBool, isNumber, isString)
		}
	}
}

func TestChildren(t *testing.T) {
	n := MustParseNode(`{".priority":1,"b":{"c":2},"10":"x","9":false,"q\"":3,"back\\slash":4,"é":5}`)
	var got []string
	for key, child := range n.Children() {
		if n.Child(key) != child {
			t.Errorf("Child(%q) = %s, want %s", key, n.Child(key).JSON(), child.JSON())
		}
		got = append(got, key)
	}
	if want := []string{"9", "10", `b`, `back\slash`, `q"`, "é"}; !slices.Equal(got, want) {
		t.Errorf("Children() = %q, want %q", got, want)
	}
	for range n.Children() {
		break // the iterator must cope
	}
	for _, key := range []string{"", "c", "B", ".priority", ".value", "q", "1", "e", "99"} {
		if child := n.Child(key); !child.IsEmpty() {
			t.Errorf("Child(%q) = %s, want none", key, child.JSON())
		}
	}
	leaf := MustParseNode(`{".value":1,".priority":2}`)
	if !leaf.Child(".value").IsEmpty() || !leaf.Child("a").IsEmpty() {
		t.Error("a leaf has a child")
	}
	if got := n.Get(MustParsePath("b/c")); got != Number(2) {
		t.Errorf("Get(b/c) = %s", got.JSON())
	}
	if got := n.Get(MustParsePath("b/c/d/e")); !got.IsEmpty() {
		t.Errorf("Get(b/c/d/e) = %s", got.JSON())
	}
	if n.Get(Root) != n {
		t.Error("Get(/) is not the node")
	}
}

func TestWith(t *testing.T) {
	tests := []struct{ name, before, path, value, after string }{
		{"replace everything", `{"a":1}`, "", `{"b":2}`, `{"b":2}`},
		{"first child of nothing", `null`, "a", `1`, `{"a":1}`},
		{"deep in nothing", `null`, "a/b/c", `1`, `{"a":{"b":{"c":1}}}`},
		{"insert first", `{"b":1}`, "a", `0`, `{"a":0,"b":1}`},
		{"insert between", `{"a":1,"c":3}`, "b", `{"x":1}`, `{"a":1,"b":{"x":1},"c":3}`},
		{"insert last", `{"a":1}`, "b", `2`, `{"a":1,"b":2}`},
		{"integers first", `{"a":1,"10":1}`, "9", `2`, `{"9":2,"10":1,"a":1}`},
		{"replace", `{"a":1,"b":2,"c":3}`, "b", `"x"`, `{"a":1,"b":"x","c":3}`},
		{"replace the last", `{"a":1,"b":2}`, "b", `"x"`, `{"a":1,"b":"x"}`},
		{"delete first", `{"a":1,"b":2}`, "a", `null`, `{"b":2}`},
		{"delete between", `{"a":1,"b":2,"c":3}`, "b", `null`, `{"a":1,"c":3}`},
		{"delete last", `{"a":1,"b":2}`, "b", `null`, `{"a":1}`},
		{"delete what is not there", `{"a":1,"c":2}`, "b", `null`, `{"a":1,"c":2}`},
		{"delete below what is not there", `{"a":1}`, "b/c/d", `null`, `{"a":1}`},
		{"delete in nothing", `null`, "a/b", `null`, `null`},
		{"prune", `{"a":{"b":{"c":1}},"d":1}`, "a/b/c", `null`, `{"d":1}`},
		{"prune everything", `{"a":{"b":{"c":1}}}`, "a/b/c", `null`, `null`},
		{"pruning takes the priority along", `{".priority":1,"a":{".priority":2,"b":1}}`, "a/b", `null`, `null`},
		{"keep the priority of an object", `{".priority":1,"a":1}`, "b", `2`, `{".priority":1,"a":1,"b":2}`},
		{"insert first behind the priority", `{".priority":1,"b":1}`, "a", `2`, `{".priority":1,"a":2,"b":1}`},
		{"delete first behind the priority", `{".priority":1,"a":2,"b":1}`, "a", `null`, `{".priority":1,"b":1}`},
		{"a leaf becomes an object", `5`, "a", `1`, `{"a":1}`},
		{"a leaf becomes an object and keeps its priority", `{".value":5,".priority":"p"}`, "a/b", `1`, `{".priority":"p","a":{"b":1}}`},
		{"the same below", `{"l":{".value":5,".priority":"p"}}`, "l/b", `1`, `{"l":{".priority":"p","b":1}}`},
		{"null below a leaf", `{"l":{".value":5,".priority":"p"}}`, "l/b/c", `null`, `{"l":{".priority":"p",".value":5}}`},
		{"set replaces the priority", `{"l":{".value":5,".priority":"p"}}`, "l", `6`, `{"l":6}`},
		{"quotes in keys", `{"a\"":1,"a\\":2}`, `a"/b`, `1`, `{"a\"":{"b":1},"a\\":2}`},
	}
	for _, test := range tests {
		n := MustParseNode(test.before).With(MustParsePath(test.path), MustParseNode(test.value))
		if n.JSON() != test.after {
			t.Errorf("%s: got %s, want %s", test.name, n.JSON(), test.after)
		}
		mustBeCanonical(t, n)
	}
}

func TestWithTarget(t *testing.T) {
	tests := []struct{ name, before, target, value, after string }{
		{"leaf", `{"a":1}`, "a/.priority", `3`, `{"a":{".priority":3,".value":1}}`},
		{"object", `{"a":{"b":1}}`, "a/.priority", `"p"`, `{"a":{".priority":"p","b":1}}`},
		{"replace", `{"a":{".priority":"p","b":1}}`, "a/.priority", `2`, `{"a":{".priority":2,"b":1}}`},
		{"remove from an object", `{"a":{".priority":"p","b":1}}`, "a/.priority", `null`, `{"a":{"b":1}}`},
		{"remove from a leaf", `{"a":{".priority":"p",".value":1}}`, "a/.priority", `null`, `{"a":1}`},
		{"absent node", `{"a":1}`, "b/.priority", `2`, `{"a":1}`},
		{"below a leaf", `{"a":1}`, "a/b/.priority", `2`, `{"a":1}`},
		{"root", `{"a":1}`, ".priority", `2`, `{".priority":2,"a":1}`},
		{"value", `{"a":1}`, "a", `{".value":2,".priority":3}`, `{"a":{".priority":3,".value":2}}`},
	}
	for _, test := range tests {
		target, err := ParseTarget(test.target)
		if err != nil {
			t.Fatal(err)
		}
		n := MustParseNode(test.before).WithTarget(target, MustParseNode(test.value))
		if n.JSON() != test.after {
			t.Errorf("%s: got %s, want %s", test.name, n.JSON(), test.after)
		}
	}
	if n := Empty.WithPriority(Number(1)); !n.IsEmpty() {
		t.Errorf("the absent node took a priority: %s", n.JSON())
	}
}

func TestBuilder(t *testing.T) {
	var b Builder
	if n := b.Node(); !n.IsEmpty() {
		t.Errorf("an empty Builder makes %s", n.JSON())
	}
	b.Priority(Number(1))
	b.Child("gone", Empty)
	if n := b.Node(); !n.IsEmpty() {
		t.Errorf("a Builder without children makes %s", n.JSON())
	}
	b.Child(`a"`, String("x"))
	b.Child("b", MustParseNode(`{"c":1}`))
	if n, want := b.Node(), `{".priority":1,"a\"":"x","b":{"c":1}}`; n.JSON() != want {
		t.Errorf("Builder makes %s, want %s", n.JSON(), want)
	}
}

func TestZip(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{`null`, `null`, ""},
		{`{"b":1}`, `null`, "b:1,null"},
		{`null`, `{"b":1,"c":2}`, "b:null,1 c:null,2"},
		{`{"b":1,"d":4}`, `{"a":0,"b":2,"c":3,"e":5}`, "a:null,0 b:1,2 c:null,3 d:4,null e:null,5"},
		{`5`, `{"9":0,"10":1}`, "9:null,0 10:null,1"},
	} {
		var got []string
		for key, pair := range zip(MustParseNode(test.a), MustParseNode(test.b)) {
			got = append(got, key+":"+pair[0].JSON()+","+pair[1].JSON())
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("zip(%s, %s) = %s, want %s", test.a, test.b, got, test.want)
		}
	}
	for range zip(MustParseNode(`{"a":1}`), MustParseNode(`{"b":1}`)) {
		break // the iterator must cope
	}
}

// A hot path: views look up children for every commit.
func TestChildDoesNotAllocate(t *testing.T) {
	n := wide(20)
	if got := testing.AllocsPerRun(100, func() { n.Child("-N000019") }); got > 0 {
		t.Errorf("Child allocates %v times, want 0", got)
	}
	p := MustParsePath("-N000019/text")
	if got := testing.AllocsPerRun(100, func() { n.Get(p) }); got > 0 {
		t.Errorf("Get allocates %v times, want 0", got)
	}
}

// One for the new text at each level, one for the quoted key.
func TestWithAllocations(t *testing.T) {
	n, v := wide(20), String("x")
	p := MustParsePath("-N000019/text")
	if got := testing.AllocsPerRun(100, func() { n.With(p, v) }); got > 4 {
		t.Errorf("With allocates %v times, want at most 4", got)
	}
}
