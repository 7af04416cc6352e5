package lang_test

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules/lang"
)

var writeScope = lang.Scope{Captures: []string{"$a", "$b"}, NewData: true}

// TestTypes looks at the types that CheckAny finds.
func TestTypes(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"null", "null"},
		{"true", "boolean"},
		{"1", "number"},
		{"'a'", "string"},
		{"$a", "string"},
		{"now", "number"},
		{"auth", "any"},
		{"auth.a['b'].length", "any"},
		{"auth.a[$b]", "any"},
		{"auth[0]", "any"},
		{"auth[auth.uid]", "any"},
		{"data", "snapshot"},
		{"newData.parent().child('a')", "snapshot"},
		{"query", "query"},
		{"query.orderByKey", "boolean"},
		{"query.orderByChild", "null or string"},
		{"query.equalTo", "null, boolean, number or string"},
		{"query.limitToLast", "null or number"},
		{"data.val()", "null, boolean, number, string or object"},
		{"data.val().length", "number"},
		{"data.val().replace('a', $a)", "string"},
		{"data.getPriority()", "null, number or string"},
		{"data.exists", "method"},
		{"auth.uid.contains", "any"},
		{"/a/", "regular expression"},
		{"1 + 1", "number"},
		{"1 + 'a'", "string"},
		{"1 + data.val()", "number or string"},
		{"'a' + data.val()", "string"},
		{"now + query.limitToFirst", "number"},
		{"data.val() - auth.x", "number"},
		{"-data.val()", "number"},
		{"true ? data : 1", "number or snapshot"},
		{"true ? 'a' : auth", "any"},
		{"true ? 'a' : 1", "number or string"},
		{"data.hasChildren(['a'])", "boolean"},
	} {
		x := mustParse(t, c.src, lang.Firebase)
		if err := lang.CheckAny(x, writeScope); err != nil || x.Type().String() != c.want {
			t.Errorf("%s: %s (%v), want %s", c.src, x.Type(), err, c.want)
		}
	}
}

// TestCheckAnnotatesAll wants a type in every node of a checked tree.
func TestCheckAnnotatesAll(t *testing.T) {
	x := mustParse(t, "data.hasChildren(['a', $a]) && (auth[$a].b ? 1 : -2) == 'a'.length || 'a'.matches(/a/)", lang.Firebase)
	if err := lang.Check(x, writeScope); err == nil || err.Msg != "condition of ? must be boolean." {
		t.Fatal(err)
	}
	x = mustParse(t, "data.hasChildren(['a', $a]) && (auth[$a].b == null ? 1 : -2) == 'a'.length || 'a'.matches(/a/)", lang.Firebase)
	if err := lang.Check(x, writeScope); err != nil {
		t.Fatal(err)
	}
	lang.Walk(x, func(x lang.Expr) bool {
		if x.Type() == 0 {
			t.Errorf("%s has no type", x)
		}
		return true
	})
}

// TestCheckErrors tests what no vector does, and where errors are.
func TestCheckErrors(t *testing.T) {
	for _, c := range []struct {
		src    string
		offset int
		msg    string
	}{
		{" now", 1, "Expression must evaluate to a boolean."},
		{"true && foo", 8, "Unknown variable 'foo'."},
		{"$ == 'a'", 0, "Unknown variable '$'."},
		{"newRoot.exists()", 0, "Unknown variable 'newRoot'."},
		{"data . foo", 7, "No such method/property 'foo'."},
		{"data['foo']", 5, "No such method/property 'foo'."},
		{"true || now.foo", 8, "Invalid property access: target is not an object."},
		{"query.startAt.length > 0 && query.endAt.contains('a') && query.equalTo.matches(/a/)", 0, ""},
		{"query['equalTo'].toLowerCase() == $a || query.equalTo.replace('a', 'b').beginsWith('b')", 0, ""},
		{"query.equalTo.foo == 1", 14, "No such method/property 'foo'."},
		{"query.equalTo.exists()", 14, "No such method/property 'exists'."},
		{"query.equalTo[$a] == 1", 14, "Invalid property access."},
		{"query.limitToFirst.length > 0", 0, "Invalid property access: target is not an object."},
		{"query.orderByKey.length > 0", 0, "Invalid property access: target is not an object."},
		{"query.orderByChild.contains('a')", 0, "Invalid property access: target is not an object."},
		{"query.orderByChild == 'a' || 'a' !== query['orderByChild'] || query.orderByChild == null", 0, ""},
		{"query.orderByChild == query.orderByChild", 0, ""},
		{"query.orderByChild == 'members/' + auth.uid", 22, "Invalid == expression: right operand must be an ordering or string literal when comparing against an ordering."},
		{"query.orderByChild !== $a", 23, "Invalid != expression: right operand must be an ordering or string literal when comparing against an ordering."},
		{"$a === query.orderByChild", 0, "Invalid == expression: left operand must be an ordering or string literal when comparing against an ordering."},
		{"query.orderByChild == 1", 22, "Invalid == expression: right operand must be an ordering or string literal when comparing against an ordering."},
		{"query.orderByChild == query.orderByKey", 22, "Invalid == expression: right operand must be an ordering or string literal when comparing against an ordering."},
		{"query.orderByChild == (true ? 'a' : 'b')", 23, "Invalid == expression: right operand must be an ordering or string literal when comparing against an ordering."},
		{"(true ? query.orderByChild : 'a') == auth.uid", 37, "Invalid == expression: right operand must be an ordering or string literal when comparing against an ordering."},
		{"query.orderByChild == data", 22, "Invalid == expression: right operand is not a number, boolean, string, or null."},
		{"(true ? query.orderByChild : 'a').length > 0", 44, ""},
		{"(true ? query.orderByChild : null).length > 0", 1, "Invalid property access: target is not an object."},
		{"(true ? data : 'a').length > 0", 1, "Invalid property access: target is not an object."},
		{"(true ? data : auth).uid == 1", 1, "Invalid property access: target is not an object."},
		{"(true ? data : auth)[$a] == 1", 21, "Invalid property access."},
		{"(true ? data : root).exists()", 0, ""},
		{"data[$a]()", 5, "Invalid property access."},
		{"auth[true] == 1", 5, "Invalid property access."},
		{"auth[null] == 1", 5, "Invalid property access."},
		{"auth[['a']] == 1", 5, "Unexpected array literal."},
		{"auth.a.b()", 7, "Type error: Function call on target that is not a function."},
		{"auth[$a]()", 0, "Type error: Function call on target that is not a function."},
		{"query.orderByKey()", 6, "Type error: Function call on target that is not a function."},
		{"'a'.length()", 4, "Type error: Function call on target that is not a function."},
		{"(true ? data.exists : data.exists)()", 1, "Type error: Function call on target that is not a function."},
		{"data.exists()()", 0, "Type error: Function call on target that is not a function."},
		{"foo()", 0, "Unknown variable 'foo'."},
		{"data.child( )", 5, "child() expects 1 argument."},
		{"data.child('a', 1)", 5, "child() expects 1 argument."},
		{"data.hasChild( 1)", 15, "hasChild() expects a string argument."},
		{"$a.contains(null)", 12, "contains() expects a string argument."},
		{"$a.replace(1, 2)", 11, "Argument 1 of replace() must be a string."},
		{"$a.replace('', 2)", 15, "Argument 2 of replace() must be a string."},
		{"$a.replace(1, ['a'])", 14, "Unexpected array literal."},
		{"$a.matches(true ? /a/ : /b/)", 11, "matches() expects a regular expression literal argument."},
		{"$a.matches((/a/))", 0, ""},
		{"$a.toLowerCase($b)", 3, "toLowerCase() expects no arguments."},
		{"data.hasChildren((['a']))", 0, ""},
		{"data.hasChildren('a')", 17, "hasChildren() expects an array of child names."},
		{"data.hasChildren(foo)", 17, "Unknown variable 'foo'."},
		{"data.hasChildren(true ? ['a'] : ['b'])", 24, "Unexpected array literal."},
		{"data.hasChildren(['a', 1, null])", 23, "hasChildren() expects an array of strings."},
		{"data.hasChildren([1, foo])", 21, "Unknown variable 'foo'."},
		{"data == ['a']", 8, "Unexpected array literal."},
		{"data == foo", 8, "Unknown variable 'foo'."},
		{"1 && 2", 0, "Left operand of && must be boolean."},
		{"true && true && 2", 16, "Right operand of && must be boolean."},
		{"(true || 1) && true", 9, "Right operand of || must be boolean."},
		{"!( 'a' )", 3, "! only operates on booleans."},
		{"1 + -null", 5, "- only operates on numbers."},
		{"1 ? true : false", 0, "condition of ? must be boolean."},
		{"1 !== data", 6, "Invalid != expression: right operand is not a number, boolean, string, or null."},
		{"/a/ != 1", 0, "Invalid != expression: left operand is not a number, boolean, string, or null."},
		{"1 === /a/", 6, "Invalid == expression: right operand is not a number, boolean, string, or null."},
		{"now % null == 0", 6, "Invalid % expression: right operand is not a number."},
	} {
		x := mustParse(t, c.src, lang.Firebase)
		err := lang.Check(x, writeScope)
		switch {
		case c.msg == "" && err != nil:
			t.Errorf("%s: %v", c.src, err)
		case c.msg != "" && (err == nil || err.Offset != c.offset || err.Msg != c.msg):
			t.Errorf("%s: %+v, want %d: %s", c.src, err, c.offset, c.msg)
		}
	}
}

func TestNewRoot(t *testing.T) {
	for _, c := range []struct {
		newData, newRoot bool
		want             string
	}{
		{true, true, ""},
		{true, false, "Unknown variable 'newRoot'."},
		{false, true, "Unknown variable 'newRoot'."},
	} {
		s := lang.Scope{NewData: c.newData, Extensions: lang.Extensions{NewRoot: c.newRoot}}
		if got := compile("newRoot.child('a').exists()", s); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

// TestWilddog wants the tree of each Wilddog spelling to be Firebase's.
func TestWilddog(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"data.val().startsWith('a')", "data.val().beginsWith('a')"},
		{"auth.uid.startsWith('a')", "auth.uid.beginsWith('a')"},
		{"auth.uid['startsWith']('a')", "auth.uid['beginsWith']('a')"},
		{"data.val().beginsWith('a')", "data.val().beginsWith('a')"},
		{"auth.startsWith == 1", "auth.startsWith == 1"},
		{"data.val().length() > 1", "data.val().length > 1"},
		{"auth.uid.length() > 1", "auth.uid.length > 1"},
		{"$a['length']() > 1", "$a['length'] > 1"},
		{"$a.matches('^a')", "$a.matches(/^a/)"},
		{"$a.matches('^\\\\d')", `$a.matches(/^\d/)`},
		{"$a.matches(/^a/i)", "$a.matches(/^a/i)"},
		{"$a.matches('a/b')", "$a.matches('a/b')"},
		{"$a.matches('[/]')", "$a.matches(/[/]/)"},
		{`$a.matches('a\nb')`, `$a.matches('a\nb')`},
		{"$a.matches('*')", "$a.matches('*')"},
	} {
		s := writeScope
		s.Dialect = lang.Wilddog
		x := mustParse(t, c.src, lang.Wilddog)
		raw := x.String()
		if err := lang.Check(x, s); err != nil {
			t.Errorf("%s: %v", c.src, err)
		}
		if got := x.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.src, got, c.want)
		}
		if again := mustParse(t, c.want, lang.Wilddog); !lang.Equal(x, again) {
			t.Errorf("%s: %s parses differently", c.src, c.want)
		}
		if again := mustParse(t, raw, lang.Wilddog); again.String() != raw {
			t.Errorf("%s: %s before Check, and then %s", c.src, raw, again)
		}
	}
}

func TestWilddogErrors(t *testing.T) {
	for _, c := range []struct{ src, firebase, wilddog string }{
		{"$a.startsWith(1)", "No such method/property 'startsWith'.", "startsWith() expects a string argument."},
		{"$a.startsWith()", "No such method/property 'startsWith'.", "startsWith() expects 1 argument."},
		{"data.startsWith('a')", "No such method/property 'startsWith'.", "No such method/property 'startsWith'."},
		{"auth.startsWith('a')", "Type error: Function call on target that is not a function.", ""},
		{"now.length() > 1", "Invalid property access: target is not an object.", "Invalid property access: target is not an object."},
		{"data.length() > 1", "No such method/property 'length'.", "No such method/property 'length'."},
		{"$a.length(1) > 1", "Type error: Function call on target that is not a function.", "Type error: Function call on target that is not a function."},
		{"$a.length()() > 1", "Type error: Function call on target that is not a function.", "Type error: Function call on target that is not a function."},
		{"$a.matches('a')", "matches() expects a regular expression literal argument.", ""},
		{"$a.matches($b)", "matches() expects a regular expression literal argument.", "matches() expects a regular expression literal argument."},
		{"$a.matches('(')", "matches() expects a regular expression literal argument.", "Invalid regular expression: empty alternative."},
		{"$a.matches('')", "matches() expects a regular expression literal argument.", "Invalid regular expression: empty alternative."},
	} {
		for _, d := range []lang.Dialect{lang.Firebase, lang.Wilddog} {
			s, want := writeScope, c.firebase
			if s.Dialect = d; d == lang.Wilddog {
				want = c.wilddog
			}
			if got := compile(c.src, s); got != want {
				t.Errorf("%s (dialect %d): %q, want %q", c.src, d, got, want)
			}
		}
	}
}

// TestLongChains checks trees that are as deep as they may be.
func TestLongChains(t *testing.T) {
	for _, src := range []string{
		"true" + strings.Repeat(" && true", 2499),
		"data" + strings.Repeat(".parent()", 2498) + ".exists()",
		"auth" + strings.Repeat(".a", 4997) + " == 1",
		strings.Repeat("!", 199) + "true",
	} {
		if msg := compile(src, writeScope); msg != "" {
			t.Errorf("%.40s…: %s", src, msg)
		}
	}
}
