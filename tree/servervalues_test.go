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
	for range d.ServerValues() {
		break
	}
}
