package tree

import (
	"errors"
	"strings"
	"testing"
)

// show writes an update as "/path=value" pairs.
func show(u Update) string {
	var parts []string
	for _, w := range u {
		value := w.Value.Text()
		if value == "" {
			value = "null"
		}
		parts = append(parts, w.Target.String()+"="+value)
	}
	return strings.Join(parts, " ")
}

func TestParseUpdate(t *testing.T) {
	tests := []struct{ name, base, in, want string }{
		{"children", "r", `{"a":1,"b":{"c":2}}`, `/r/a=1 /r/b={"c":2}`},
		{"at the root", "", `{"b":1,"a":2}`, `/b=1 /a=2`},
		{"deep paths", "r", `{"a/b":1,"a/c/d":[1]}`, `/r/a/b=1 /r/a/c/d={"0":1}`},
		{"slashes at the ends", "r", `{"/a":1,"b/":2,"//c//d":3}`, `/r/a=1 /r/b=2 /r/c/d=3`},
		{"null removes", "r", `{"a":null,"b":{},"c":[null]}`, `/r/a=null /r/b=null /r/c=null`},
		{"nothing", "r", ` { } `, ``},
		{"priorities", "r", `{"a/.priority":3,".priority":"p","b/.priority":null}`, `/r/a/.priority=3 /r/.priority="p" /r/b/.priority=null`},
		{"a priority and a child", "r", `{"a/.priority":3,"a/b":1}`, `/r/a/.priority=3 /r/a/b=1`},
		{"server values", "r", `{"t":{".sv":"timestamp"},"t2/.priority":{".sv":"timestamp"}}`, `/r/t={".sv":"timestamp"} /r/t2/.priority={".sv":"timestamp"}`},
		{"the last of equal keys", "r", `{"a":1,"b":2,"a":3}`, `/r/a=3 /r/b=2`},
		{"the last of equal paths", "r", `{"a":1,"/a":null}`, `/r/a=null`},
		{"escapes", "r", `{"a\/b":1,"\u0063":2}`, `/r/a/b=1 /r/c=2`},
		{"siblings with a common beginning", "", `{"a":1,"ab":2,"a b":3}`, `/a=1 /ab=2 /a b=3`},
	}
	for _, test := range tests {
		for _, dialect := range []Dialect{Strict, Lenient} {
			u, err := ParseUpdate(MustParsePath(test.base), test.in, dialect)
			if err != nil || show(u) != test.want {
				t.Errorf("%s: ParseUpdate(%s) = %s, %v, want %s", test.name, test.in, show(u), err, test.want)
			}
			if err := u.Check(); err != nil {
				t.Errorf("%s: Check: %v", test.name, err)
			}
		}
	}
}

func TestParseUpdateErrors(t *testing.T) {
	tests := []struct {
		in   string
		kind ParseKind
		want string
	}{
		{`null`, BadObject, "1:1: expected an object"},
		{`[1]`, BadObject, "1:1: expected an object"},
		{` "x"`, BadObject, "1:1: expected an object"},
		{``, BadJSON, "1:1: expected a value, found the end of the text"},
		{`5 6`, BadJSON, "1:3: unexpected text after the value"},
		{`{"a":1} x`, BadJSON, "1:9: unexpected text after the value"},
		{`{"a":1,}`, BadJSON, "1:8: expected a key, found '}' after a comma"},
		{`{"a":1`, BadJSON, `1:7: expected ',' or '}', found the end of the text`},
		{`{"a" 1}`, BadJSON, `1:6: expected ':', found '1'`},
		{`{"":1}`, BadKey, `1:2: invalid key ""`},
		{`{"/":1}`, BadKey, `1:2: invalid key "/"`},
		{"{\"a\":1,\n \"b/$c\":1}", BadKey, `2:2: invalid key "b/$c"`},
		{`{"a/.value":1}`, BadKey, `1:2: invalid key "a/.value"`},
		{`{".priority/a":1}`, BadKey, `1:2: invalid key ".priority/a"`},
		{`{"a":{"b/c":1}}`, BadKey, `1:7: invalid key "b/c"`},
		{`{"a":1,"a/b":2}`, BadUpdatePath, "1:1: path /r/a is an ancestor of /r/a/b"},
		{`{"a/b/c/d":1,"b":1,"a/b":null}`, BadUpdatePath, "1:1: path /r/a/b is an ancestor of /r/a/b/c/d"},
		{`{"a":1,"a/.priority":2}`, BadUpdatePath, "1:1: path /r/a is an ancestor of /r/a/.priority"},
		{`{"a/b/.priority":1,"a":2}`, BadUpdatePath, "1:1: path /r/a is an ancestor of /r/a/b/.priority"},
		{`{"a/.priority":true}`, BadPriority, "1:2: a priority must be a string, a number or null"},
		{`{"a/.priority":{"x":1}}`, BadPriority, "1:2: a priority must be a string, a number or null"},
		{`{"` + strings.Repeat("k/", MaxDepth) + `":1}`, TooDeep, "1:2: more than 32 levels"},
		{`{"` + strings.Repeat("k/", MaxDepth-1) + `":{"a":1}}`, TooDeep, "1:68: more than 32 levels"},
	}
	for _, test := range tests {
		u, err := ParseUpdate(MustParsePath("r"), test.in, Strict)
		var e *ParseError
		if !errors.As(err, &e) || e.Kind != test.kind || e.Error() != test.want || u != nil {
			t.Errorf("ParseUpdate(%s) = %s, %v, want %q", abbreviate(test.in), show(u), err, test.want)
		}
	}
}

func TestParseWrite(t *testing.T) {
	tests := []struct {
		target, in, want string // want "": ErrPriority
	}{
		{"/a/b", `{"c":null,"d":1}`, `/a/b={"d":1}`},
		{"/a/b", `null`, `/a/b=null`},
		{"/a/.priority", `7`, `/a/.priority=7`},
		{"/a/.priority", `"p"`, `/a/.priority="p"`},
		{"/a/.priority", `null`, `/a/.priority=null`},
		{"/a/.priority", `{".sv":{"increment":1}}`, `/a/.priority={".sv":{"increment":1}}`},
		{"/a/.priority", `true`, ``},
		{"/a/.priority", `{"a":1}`, ``},
		{"/a/.priority", `{".value":1,".priority":2}`, ``},
	}
	for _, test := range tests {
		target, err := ParseTarget(test.target)
		if err != nil {
			t.Fatal(err)
		}
		w, err := ParseWrite(target, test.in, Strict)
		if errors.Is(err, ErrPriority) != (test.want == "") || err == nil && show(Update{w}) != test.want {
			t.Errorf("ParseWrite(%s, %s) = %s, %v, want %s", test.target, test.in, show(Update{w}), err, test.want)
		}
	}
	deepest := MustParsePath(strings.Repeat("k/", MaxDepth))
	for _, test := range []struct {
		path Path
		in   string
		ok   bool
	}{
		{deepest, `1`, true},
		{deepest, `{".value":"x",".priority":1}`, true},
		{deepest, `{"a":1}`, false},
		{deepest.Child("k"), `1`, false},
		{deepest.Child("k"), `"x"`, false},
		{deepest.Child("k"), `null`, false},
		{deepest.Child("k"), `{".sv":"timestamp"}`, false},
	} {
		for _, priority := range []bool{false, true} {
			if priority && strings.HasPrefix(test.in, "{") {
				continue
			}
			_, err := ParseWrite(Target{test.path, priority}, test.in, Strict)
			e := (*ParseError)(nil)
			if (err == nil) != test.ok || err != nil && (!errors.As(err, &e) || e.Kind != TooDeep) {
				t.Errorf("ParseWrite of %s at %d keys, priority %t: %v, want ok %t", test.in, test.path.Len(), priority, err, test.ok)
			}
		}
	}
}

func TestUpdateCheck(t *testing.T) {
	a, ab := Target{Path: MustParsePath("a")}, Target{Path: MustParsePath("a/b")}
	priority := Target{Path: a.Path, Priority: true}
	for _, test := range []struct {
		u    Update
		want string
	}{
		{Update{}, ""},
		{Update{{Target: ab}, {Target: priority}}, ""},
		{Update{{Target: a}, {Target: a}}, "path /a is written twice"},
		{Update{{Target: ab}, {Target: a}}, "path /a is an ancestor of /a/b"},
		{Update{{Target: a}, {Target: priority}}, "path /a is an ancestor of /a/.priority"},
		{Update{{Target: Target{}}, {Target: ab}}, "path / is an ancestor of /a/b"},
	} {
		got := ""
		if err := test.u.Check(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("Check(%s) = %q, want %q", show(test.u), got, test.want)
		}
	}
}

// FuzzParseUpdate: an update that was read is disjoint, and its values are
// values.
func FuzzParseUpdate(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1,"b/c":{"d":null}}`, `{"/a/":1,"a/b":2}`, `{"a/.priority":1,"a/b":{".sv":"timestamp"}}`,
		`{"a":1,"a":null,"/a":2}`, `{"a":[1,{"b":{}}],".priority":"p"}`, `null`, `{"a":1}x`, "{\"\\ud83d\":1}",
	} {
		f.Add(seed, "r/s")
	}
	f.Fuzz(func(t *testing.T, src, base string) {
		p, err := ParsePath(base)
		if err != nil {
			return
		}
		for _, dialect := range []Dialect{Strict, Lenient} {
			u, err := ParseUpdate(p, src, dialect)
			if err != nil {
				if e := new(ParseError); !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
					t.Fatalf("ParseUpdate(%q) fails with %#v", src, err)
				}
				continue
			}
			if err := u.Check(); err != nil {
				t.Fatalf("ParseUpdate(%q): %v", src, err)
			}
			for _, w := range u {
				if !p.Contains(w.Path) || w.Path.Len() > MaxDepth {
					t.Fatalf("ParseUpdate(%q) at %s writes to %s", src, p, w.Target)
				}
				if again, err := ParseWrite(w.Target, show(Update{w})[len(w.Target.String())+1:], Strict); again != w || err != nil {
					t.Fatalf("ParseUpdate(%q): %s is read as %s, %v", src, show(Update{w}), show(Update{again}), err)
				}
			}
		}
	})
}

// What comes after too many paths is not read. A path that comes again is one.
func TestParseUpdateUpTo(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind ParseKind
		ok   bool
	}{
		{`{"a":1,"b":2}`, 0, true},
		{`{"a":1,"b":2,"/a":3}`, 0, true},
		{`{"a":1,"b":2,"c":3}`, TooManyPaths, false},
		{`{"a":1,"b":2,"c":3,` + "\x00", TooManyPaths, false},
		{`{"a":1,"b":2,"c":`, BadJSON, false},
	} {
		_, err := ParseUpdateUpTo(Root, c.in, Strict, 2)
		e := (*ParseError)(nil)
		if errors.As(err, &e); c.ok != (err == nil) || e != nil && e.Kind != c.kind {
			t.Errorf("%s: %v", c.in, err)
		}
	}
}
