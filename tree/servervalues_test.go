package tree

import (
	"fmt"
	"strings"
	"testing"
)

func TestServerValues(t *testing.T) {
	for src, want := range map[string]string{
		`null`:                    "",
		`{"a":1,"b":{"c":"x"}}`:   "",
		`{".sv":"timestamp"}`:     "/",
		`{".sv":{"increment":2}}`: "/+",
		`{".sv":{"max":2}}`:       "/+",
		`{".sv":{"min":-2}}`:      "/+",
		`{"a":{".sv":"timestamp"},"b":{"c":{".sv":{"increment":1}},"d":"{\".sv\":\"timestamp\"}"}}`: "/a /b/c+",
		`{".priority":{".sv":"timestamp"},"x":1}`:                                                   "/.priority",
		`{"n":{".value":{".sv":{"increment":1}},".priority":{".sv":{"increment":1}}}}`:              "/n/.priority+ /n+",
		`[{".sv":"timestamp"},[{".sv":{"increment":1}}]]`:                                           "/0 /1/0+",
	} {
		d, err := Parse(src, 0, Strict)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		var got []string
		for v := range d.ServerValues() {
			text := v.At.String()
			if v.Increment {
				text += "+"
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %q", src, got, want)
		}
	}
}

// Each server value is where resolving puts a number, and a loop may end early.
func TestServerValuesAreResolved(t *testing.T) {
	d, err := Parse(`{"a":{".sv":"timestamp"},"b":{"c":{".sv":{"increment":1}},".priority":{".sv":{"increment":3}}},"d":7}`, 0, Strict)
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.Resolve(5, func(Path) (Node, error) { return Empty, nil })
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for v := range d.ServerValues() {
		at := n.Get(v.At.Path)
		if v.At.Priority {
			at = at.Priority()
		}
		got = append(got, at.Value().JSON())
	}
	if fmt.Sprint(got) != "[5 3 1]" {
		t.Errorf("the values are %v", got)
	}
	var in []string
	for v, at := range d.ServerValuesIn(n) {
		in = append(in, v.At.String()+"="+at.JSON())
	}
	if fmt.Sprint(in) != "[/a=5 /b/.priority=3 /b/c=1]" {
		t.Errorf("the values are %v", in)
	}
	for range d.ServerValues() {
		break
	}
	for range d.ServerValuesIn(n) {
		break
	}
}

// Hidden increments are left out, and so are objects that have nothing else.
func TestWithoutIncrements(t *testing.T) {
	const one, two = `{".sv":{"increment":1}}`, `{".sv":{"increment":2}}` // two is hidden
	for src, want := range map[string]string{
		`null`:                    `null`,
		`{"a":1}`:                 `{"a":1}`,
		`{".sv":"timestamp"}`:     `5`,
		one:                       `1`,
		two:                       `null, not whole`,
		`{"a":` + two + `,"b":1}`: `{"b":1}, not whole`,
		`{"a":` + two + `,"b":{".priority":1,"c":` + two + `}}`:                                          `null, not whole`,
		`{"a":` + one + `,"b":{"c":` + two + `,"d":` + one + `}}`:                                        `{"a":1,"b":{"d":1}}, not whole`,
		`{"a":{".value":` + two + `,".priority":3},"b":{".sv":"timestamp"}}`:                             `{"b":5}, not whole`,
		`{"a":{".value":3,".priority":` + two + `}}`:                                                     `{"a":{".priority":2,".value":3}}, not whole`,
		`{"a":{".priority":` + two + `,"x":{"y":` + one + `},"z":{".sv":"timestamp"}}}`:                  `{"a":{".priority":2,"x":{"y":1},"z":5}}, not whole`,
		`{"a":{".priority":{".sv":"timestamp"},"\u00e9\"":` + two + `,"z":"{\".sv\":"},"b":` + one + `}`: `{"a":{".priority":5,"z":"{\".sv\":"},"b":1}, not whole`,
		`[` + two + `,` + one + `]`:                                                                      `{"1":1}, not whole`,
	} {
		d, err := Parse(src, 0, Strict)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		n, err := d.Resolve(5, func(Path) (Node, error) { return Empty, nil })
		if err != nil {
			t.Fatal(err)
		}
		hidden := make(map[Path]bool)
		for v := range d.ServerValues() {
			at := n.Get(v.At.Path)
			if v.At.Priority {
				at = at.Priority()
			}
			hidden[v.At.Path] = hidden[v.At.Path] || at.Value().JSON() == "2"
		}
		shown, whole := d.WithoutIncrements(n, func(p Path) bool { return hidden[p] })
		got := shown.JSON()
		if !whole {
			got += ", not whole"
		}
		if got != want {
			t.Errorf("%s shows %s, want %s", src, got, want)
		}
	}
}

// The operations are those of numbers; what is no number counts as if it were not there.
func TestOperations(t *testing.T) {
	for _, c := range []struct{ draft, old, want string }{
		{`{".sv":{"max":3}}`, `null`, `3`},
		{`{".sv":{"max":3}}`, `2`, `3`},
		{`{".sv":{"max":3}}`, `4.5`, `4.5`},
		{`{".sv":{"max":-3}}`, `"text"`, `-3`},
		{`{".sv":{"max":-3}}`, `{"a":9}`, `-3`},
		{`{".sv":{"min":3}}`, `null`, `3`},
		{`{".sv":{"min":3}}`, `2`, `2`},
		{`{".sv":{"min":3}}`, `4`, `3`},
		{`{".sv":{"min":0}}`, `true`, `0`},
		{`{".sv":{"increment":3}}`, `4`, `7`},
		{`{".value":1,".priority":{".sv":{"max":3}}}`, `{".value":7,".priority":5}`, `{".priority":5,".value":1}`},
	} {
		d, err := Parse(c.draft, 0, Strict)
		if err != nil {
			t.Fatalf("%s: %v", c.draft, err)
		}
		n, err := d.Resolve(0, func(Path) (Node, error) { return MustParseNode(c.old), nil })
		if err != nil || n.JSON() != c.want {
			t.Errorf("%s over %s = %s, %v, want %s", c.draft, c.old, n.JSON(), err, c.want)
		}
		if again, _ := d.Resolve(0, func(Path) (Node, error) { return n, nil }); !strings.Contains(c.draft, "increment") && again != n {
			t.Errorf("%s carried out twice: %s, then %s", c.draft, n.JSON(), again.JSON())
		}
	}
	for _, bad := range []string{`{".sv":{"max":"3"}}`, `{".sv":{"max":1,"min":2}}`, `{".sv":{"mean":3}}`, `{".sv":{}}`, `{".sv":3}`, `{".sv":{"max":{".value":1,".priority":2}}}`} {
		if _, err := Parse(bad, 0, Strict); err == nil {
			t.Errorf("%s is a server value", bad)
		}
	}
}
