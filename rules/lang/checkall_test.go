package lang_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// Mistakes that do not follow from others are all found.
func TestCheckAll(t *testing.T) {
	scope := lang.Scope{Captures: []string{"$room"}, NewData: true}
	for src, want := range map[string][]string{
		"auth != null": nil,
		"1":            {"0: Expression must evaluate to a boolean."},
		"request.auth != null && data.startsWith('x') && foo == 1": {
			"0: Unknown variable 'request'. meant auth",
			"29: No such method/property 'startsWith'. meant val().beginsWith",
			"48: Unknown variable 'foo'.",
		},
		"foo.bar().baz == foo.bar": {"0: Unknown variable 'foo'.", "17: Unknown variable 'foo'."},
		"foo && 1":                 {"0: Unknown variable 'foo'.", "7: Right operand of && must be boolean."},
		"1 || !data.foo":           {"11: No such method/property 'foo'.", "0: Left operand of || must be boolean."},
		"foo ? bar : data.baz":     {"0: Unknown variable 'foo'.", "6: Unknown variable 'bar'.", "17: No such method/property 'baz'."},
		"data.hasChildren([foo, 1, bar])": {
			"18: Unknown variable 'foo'.", "26: Unknown variable 'bar'.",
		},
		"data.child(foo).hasChild(1, 2) || ['a'] == -'a'": {
			"11: Unknown variable 'foo'.", "34: Unexpected array literal.", "44: - only operates on numbers.",
		},
		"auth[foo] == $room[bar]": {"5: Unknown variable 'foo'.", "19: Unknown variable 'bar'."},
		"foo()":                   {"0: Unknown variable 'foo'."},
		strings.Repeat("foo == 1 || ", 20) + "true": {
			"0: Unknown variable 'foo'.", "12: Unknown variable 'foo'.", "24: Unknown variable 'foo'.", "36: Unknown variable 'foo'.",
		},
	} {
		x, err := lang.Parse(src, lang.Firebase)
		if err != nil {
			t.Fatal(src, err)
		}
		var got []string
		for _, e := range lang.CheckAll(x, scope, 4) {
			text := fmt.Sprintf("%d: %s", e.Offset, e.Msg)
			if e.Meant != "" {
				text += " meant " + e.Meant
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", src, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if first := lang.Check(x, scope); first != nil && fmt.Sprintf("%d: %s", first.Offset, first.Msg) != strings.Split(got[0], " meant ")[0] {
			t.Errorf("%s: Check finds %d: %s first", src, first.Offset, first.Msg)
		}
	}
}
