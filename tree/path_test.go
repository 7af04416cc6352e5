package tree

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	deep := strings.Repeat("k/", MaxDepth)
	long := strings.Repeat("é", MaxKeyBytes/2)
	tests := []struct {
		in, want string
		err      error
	}{
		{"", "", nil},
		{"/", "", nil},
		{"///", "", nil},
		{"a", "a", nil},
		{"/a/b", "a/b", nil},
		{"a/b/", "a/b", nil},
		{"//a///b//", "a/b", nil},
		{"rooms/r 1/ключ/😀", "rooms/r 1/ключ/😀", nil},
		{deep, deep[:len(deep)-1], nil},
		{deep + "k", "", ErrTooDeep},
		{long, long, nil},
		{long + "x", "", ErrInvalidPath},
		{"a.b", "", ErrInvalidPath},
		{".info", "", ErrInvalidPath},
		{"a/.priority", "", ErrInvalidPath},
		{"a/$b", "", ErrInvalidPath},
		{"a#", "", ErrInvalidPath},
		{"a[0]", "", ErrInvalidPath},
		{"a\x00", "", ErrInvalidPath},
		{"a\x7f", "", ErrInvalidPath},
		{"a\xff", "", ErrInvalidPath},
	}
	for _, test := range tests {
		p, err := ParsePath(test.in)
		if p.Clean() != test.want || !errors.Is(err, test.err) {
			t.Errorf("ParsePath(%q) = %q, %v, want %q, %v", abbreviate(test.in), p.Clean(), err, test.want, test.err)
		}
		if p.String() != "/"+test.want {
			t.Errorf("ParsePath(%q).String() = %q", abbreviate(test.in), p)
		}
	}
}

func TestPathParts(t *testing.T) {
	p := MustParsePath("a/b/c")
	if got := slices.Collect(p.Keys()); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("Keys() = %q", got)
	}
	if p.Len() != 3 || Root.Len() != 0 || !Root.IsRoot() || p.IsRoot() {
		t.Error("Len or IsRoot is wrong")
	}
	parent, key := p.Parent()
	if parent.Clean() != "a/b" || key != "c" {
		t.Errorf("Parent() = %s, %q", parent, key)
	}
	if top, key := MustParsePath("a").Parent(); !top.IsRoot() || key != "a" {
		t.Errorf("Parent() = %s, %q", top, key)
	}
	if top, key := Root.Parent(); !top.IsRoot() || key != "" {
		t.Errorf("Root.Parent() = %s, %q", top, key)
	}
	if key, rest, ok := p.Cut(); key != "a" || rest.Clean() != "b/c" || !ok {
		t.Errorf("Cut() = %q, %s, %t", key, rest, ok)
	}
	if _, _, ok := Root.Cut(); ok {
		t.Error("Root.Cut() is ok")
	}
	for range p.Keys() {
		break // the iterator must cope
	}
}

func TestPathContains(t *testing.T) {
	tests := []struct {
		p, q string
		rel  string // "-": not contained
	}{
		{"", "", ""}, {"", "a/b", "a/b"}, {"a", "a", ""}, {"a", "a/b/c", "b/c"},
		{"a", "ab", "-"}, {"a/b", "a", "-"}, {"a/b", "a/c", "-"}, {"a", "", "-"},
	}
	for _, test := range tests {
		p, q := MustParsePath(test.p), MustParsePath(test.q)
		if got, want := p.Contains(q), test.rel != "-"; got != want {
			t.Errorf("%s.Contains(%s) = %t, want %t", p, q, got, want)
		} else if got {
			rel := p.Rel(q)
			if rel.Clean() != test.rel || p.Join(rel) != q {
				t.Errorf("%s.Rel(%s) = %s, want %s", p, q, rel, test.rel)
			}
		}
	}
	if got := MustParsePath("a").Child("b").Child("c"); got != MustParsePath("a/b/c") {
		t.Errorf("Child = %s", got)
	}
	if got := Root.Child("a"); got != MustParsePath("a") {
		t.Errorf("Root.Child = %s", got)
	}
}

func TestParseTarget(t *testing.T) {
	tests := []struct {
		in, want string // "": an error
	}{
		{"", "/"}, {"/a/b/", "/a/b"},
		{".priority", "/.priority"}, {"/.priority", "/.priority"}, {"/.priority/", "/.priority"},
		{"a/.priority", "/a/.priority"}, {"//a//b//.priority//", "/a/b/.priority"},
		{"a.priority", ""}, {"a/.priority/b", ""}, {".priority/.priority", ""}, {"a/.value", ""}, {".sv", ""}, {"a/x.priority", ""},
	}
	for _, test := range tests {
		target, err := ParseTarget(test.in)
		if (err == nil) != (test.want != "") || err == nil && target.String() != test.want {
			t.Errorf("ParseTarget(%q) = %s, %v, want %q", test.in, target, err, test.want)
		}
		if err == nil && target.Priority != strings.HasSuffix(test.want, ".priority") {
			t.Errorf("ParseTarget(%q).Priority = %t", test.in, target.Priority)
		}
	}
}

func TestComparePaths(t *testing.T) {
	inOrder := []string{"/", "/-1", "/2", "/2/b", "/10", "/10/1", "/10/a", "/10/a/0", "/a", "/a/a", "/a/ab/c", "/a/abc",
		"/a/b/2", "/a/b/10", "/a!", "/a!/a", "/a0", "/b", "/bc/d", "/bcd/c"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := ComparePaths(MustParsePath(a), MustParsePath(b)); got > 0 != (i > j) || got < 0 != (i < j) {
				t.Errorf("ComparePaths(%s, %s) = %d", a, b, got)
			}
		}
	}
}

func TestMustParsePathPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	MustParsePath("a.b")
}

// FuzzParsePath: a path that was read is clean, and reads as itself.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{"", "/", "a/b", "//a///b//", "a/.priority", ".priority", "😀/ключ", "a.b", "a\xff", "-0/00/007"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := ParseTarget(s)
		p, pathErr := ParsePath(s)
		if err != nil {
			if pathErr == nil {
				t.Fatalf("ParsePath(%q) = %s, but ParseTarget fails: %v", s, p, err)
			}
			return
		}
		if again, err := ParseTarget(target.String()); again != target || err != nil {
			t.Fatalf("ParseTarget(%q) = %s, %v", target, again, err)
		}
		if target.Priority != (pathErr != nil) || !target.Priority && target.Path != p {
			t.Fatalf("ParseTarget(%q) = %s, ParsePath: %s, %v", s, target, p, pathErr)
		}
		p = Root
		for key := range target.Path.Keys() {
			if !ValidKey(key) {
				t.Fatalf("ParseTarget(%q) has the key %q", s, key)
			}
			p = p.Child(key)
		}
		if p != target.Path || p.Len() > MaxDepth {
			t.Fatalf("ParseTarget(%q) = %s, its keys make %s", s, target.Path, p)
		}
	})
}
