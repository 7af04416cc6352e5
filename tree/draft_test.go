package tree

import (
	"errors"
	"testing"
)

func TestDraftResolve(t *testing.T) {
	const now = 1700000000123
	existing := MustParseNode(`{"n":5,"s":"5","o":{"x":1},"p":{".value":7,".priority":2},"q":{".priority":3,"x":1},"wide":9007199254740993}`)
	tests := []struct{ name, draft, want string }{
		{"no server value", `{"a":1}`, `{"a":1}`},
		{"null", `null`, `null`},
		{"timestamp", `{".sv":"timestamp"}`, `1700000000123`},
		{"the same time everywhere", `{"a":{".sv":"timestamp"},"b":[{".sv":"timestamp"}]}`, `{"a":1700000000123,"b":{"0":1700000000123}}`},
		{"increment of nothing", `{"x":{".sv":{"increment":2}}}`, `{"x":2}`},
		{"increment", `{"n":{".sv":{"increment":-7.5}}}`, `{"n":-2.5}`},
		{"increment of a string", `{"s":{".sv":{"increment":1}}}`, `{"s":1}`},
		{"increment of an object", `{"o":{".sv":{"increment":1}}}`, `{"o":1}`},
		{"increment below an object", `{"o":{"x":{".sv":{"increment":1}},"y":{".sv":{"increment":1}}}}`, `{"o":{"x":2,"y":1}}`},
		{"increment drops a priority", `{"p":{".sv":{"increment":1}}}`, `{"p":8}`},
		{"increment with a priority", `{"p":{".value":{".sv":{"increment":1}},".priority":"x"}}`, `{"p":{".priority":"x",".value":8}}`},
		{"increment of a priority", `{"p":{".value":1,".priority":{".sv":{"increment":1}}}}`, `{"p":{".priority":3,".value":1}}`},
		{"increment of an object's priority", `{"q":{"x":1,".priority":{".sv":{"increment":1}}}}`, `{"q":{".priority":4,"x":1}}`},
		{"increment of a missing priority", `{"n":{".value":1,".priority":{".sv":{"increment":1}}}}`, `{"n":{".priority":1,".value":1}}`},
		{"beyond 2^53 as a double", `{"wide":{".sv":{"increment":0}}}`, `{"wide":9007199254740992}`},
		{"to zero", `{"n":{".sv":{"increment":-5}}}`, `{"n":0}`},
		{"keys that look like it", `{"sv":"timestamp","s":"{\".sv\":\"timestamp\"}","t":{".sv":"timestamp"}}`, `{"s":"{\".sv\":\"timestamp\"}","sv":"timestamp","t":1700000000123}`},
		{"quoted keys", `{"a\"":{".sv":"timestamp"}}`, `{"a\"":1700000000123}`},
	}
	for _, test := range tests {
		d, err := Parse(test.draft, 0, Strict)
		if err != nil {
			t.Fatal(err)
		}
		n, err := d.Resolve(now, func(p Path) (Node, error) { return existing.Get(p), nil })
		if err != nil || n.JSON() != test.want {
			t.Errorf("%s: resolve %s = %s, %v, want %s", test.name, test.draft, n.JSON(), err, test.want)
		}
		mustBeCanonical(t, n)
	}
}

func TestDraftResolveErrors(t *testing.T) {
	d, err := Parse(`{"a":{"b":{".sv":{"increment":1e308}}}}`, 0, Strict)
	if err != nil {
		t.Fatal(err)
	}
	most, broken := Number(1.7e308), errors.New("broken")
	n, err := d.Resolve(0, func(Path) (Node, error) { return most, nil })
	if nearest := `{"a":{"b":1.7976931348623157e+308}}`; err != ErrIncrement || n.JSON() != nearest {
		t.Errorf("1.7e308 + 1e308: %s, %v, want %s, %v", n.JSON(), err, nearest, ErrIncrement)
	}
	asked := Root
	_, err = d.Resolve(0, func(p Path) (Node, error) { asked = p; return Empty, broken })
	if err != broken || asked != MustParsePath("a/b") {
		t.Errorf("asked for %s, got %v, want %v", asked, err, broken)
	}
}

func TestDraftOf(t *testing.T) {
	n := MustParseNode(`{"a":1}`)
	if got, ok := DraftOf(n).Node(); got != n || !ok {
		t.Errorf("DraftOf(%s).Node() = %s, %t", n.JSON(), got.JSON(), ok)
	}
	if d := DraftOf(Empty); !d.IsEmpty() || d != (Draft{}) {
		t.Errorf("DraftOf(null) = %q", d.Text())
	}
}

func TestDraftOrPriority(t *testing.T) {
	for _, test := range []struct{ draft, priority, want string }{
		{`1`, `"p"`, `{".priority":"p",".value":1}`},
		{`{"a":1}`, `2`, `{".priority":2,"a":1}`},
		{`1`, `null`, `1`},
		{`null`, `2`, `null`},
		{`{".value":1,".priority":"own"}`, `2`, `{".priority":"own",".value":1}`},
		{`{".sv":{"increment":1}}`, `2`, `{".priority":2,".value":8}`},
		{`{"a":{".sv":{"increment":1}}}`, `2`, `{".priority":2,"a":8}`},
		{`{"a":1,".priority":{".sv":"timestamp"}}`, `2`, `{".priority":1700000000123,"a":1}`},
	} {
		d, err := Parse(test.draft, 0, Strict)
		if err != nil {
			t.Fatal(err)
		}
		d = d.OrPriority(MustParseNode(test.priority))
		n, err := d.Resolve(1700000000123, func(Path) (Node, error) { return Number(7), nil })
		if err != nil || n.JSON() != test.want {
			t.Errorf("%s or priority %s = %s, %v, want %s", test.draft, test.priority, n.JSON(), err, test.want)
		}
		if d != DraftFromText(d.Text()) {
			t.Errorf("%s or priority %s = %q, which does not say whether it has server values", test.draft, test.priority, d.Text())
		}
		mustBeCanonical(t, n)
	}
}
