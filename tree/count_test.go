package tree

import "testing"

func TestHasMoreValues(t *testing.T) {
	for _, test := range []struct {
		src  string
		want bool // more than 2 values
	}{
		{``, false},
		{`1`, false},
		{`[1,2]`, false},
		{`[1,2,3]`, true},
		{`{"a":1,"b":{"c":2,"d":3}}`, true},
		{`{"a":{"b":{"c":{"d":1}}},"e":2}`, false},
		{`{"a,b,c,d":"e,f,g,h"}`, false},
		{`["\\\",,,,",",,,"]`, false},
		{`["\\\\",1,2]`, true},
		{`"no end,,,,,`, false},
		{`"no end,,,,,\`, false},
	} {
		if got := HasMoreValues(test.src, 2); got != test.want {
			t.Errorf("HasMoreValues(%s, 2) = %t", test.src, got)
		}
	}
}

// FuzzHasMoreValues compares the count with the leaves that the parser finds.
func FuzzHasMoreValues(f *testing.F) {
	for _, src := range []string{`[1,2,3]`, `{"a":1,"b":{"c":2,"d":"x,\"y"}}`, `[[],[{}],","]`, `{"a":"\\\\","b":1}`} {
		f.Add(src, 2)
	}
	f.Fuzz(func(t *testing.T, src string, most int) {
		most = 1 + most&0xff
		got := HasMoreValues(src, most)
		d, err := Parse(src, 0, Strict)
		if err != nil {
			return
		}
		n, ok := d.Node()
		if !ok || got {
			return // values that come to nothing are counted, too
		}
		if leaves := countLeaves(n); leaves > most {
			t.Errorf("%q has %d leaves, HasMoreValues(%d) is false", src, leaves, most)
		}
	})
}

func countLeaves(n Node) (leaves int) {
	if n.IsLeaf() {
		return 1
	}
	for _, child := range n.Children() {
		leaves += countLeaves(child)
	}
	return leaves
}
