package invariant

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
	"github.com/dogwooddb/dogwood/tree/store"
)

// stored returns a transaction on a store in memory that holds a value.
func stored(t *testing.T, json string) *store.Tx {
	t.Helper()
	s, err := store.Open("", store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tx.Rollback()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := tx.Put(tree.Root, tree.MustParseNode(json)); err != nil {
		t.Fatal(err)
	}
	return tx
}

func parse(t *testing.T, text string) *Invariant {
	t.Helper()
	v, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// check returns what is reported, as "path: problem".
func check(t *testing.T, v *Invariant, r tree.Reader) []string {
	t.Helper()
	var list []string
	err := v.Check(t.Context(), r, func(b Violation) {
		if b.ID != v.ID {
			t.Errorf("violation of %s reported by %s", b.ID, v.ID)
		}
		list = append(list, b.Path.String()+": "+b.Problem)
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, def, data string
		want            []string
	}{
		{"inverse", `"kind": "inverse", "a": "users/$u/rooms/$r", "b": "members/$r/$u"`,
			`{"users": {"a": {"rooms": {"r": true}}, "b": {"rooms": {"s": true}}}, "members": {"r": {"a": {"x": 1}, "c": true}}}`,
			[]string{"/users/b/rooms/s: /users/b/rooms/s exists and /members/s/b does not", "/members/r/c: /members/r/c exists and /users/c/rooms/r does not"}},
		{"inverse of a tree that has neither", `"kind": "inverse", "a": "x/$u", "b": "y/$u"`, `{"z": 1}`, nil},
		{"a leaf where children are expected", `"kind": "inverse", "a": "x/$u/$v", "b": "y/$v/$u"`, `{"x": {"a": 1}, "y": 2}`, nil},
		{"ref", `"kind": "ref", "from": "members/$r/*", "to": "rooms/$r"`,
			`{"members": {"r": {"a": 1}, "s": {"b": 1}}, "rooms": {"r": 1}}`,
			[]string{"/members/s/b: /members/s/b exists and /rooms/s does not"}},
		{"ref without variables", `"kind": "ref", "from": "a", "to": "b/c"`, `{"a": 1, "b": {"d": 1}}`,
			[]string{"/a: /a exists and /b/c does not"}},
		{"a variable that is there twice", `"kind": "ref", "from": "a/$x/$x", "to": "b/$x"`, `{"a": {"k": {"k": 1, "l": 1}}}`,
			[]string{"/a/k/k: /a/k/k exists and /b/k does not"}},
		{"refValue", `"kind": "refValue", "from": "users/$u/login", "to": "logins/{}", "lower": true`,
			`{"users": {"a": {"login": "Ann"}, "b": {"login": "Bo"}, "c": {"login": "x/y"}, "d": {"login": 1}, "e": {"login": {"x": 1}}}, "logins": {"ann": "a", "1": "d"}}`,
			[]string{
				`/users/b/login: /users/b/login is "Bo" and there is no /logins/bo`,
				`/users/c/login: /users/c/login is "x/y" and there is no /logins/{}`,
				`/users/e/login: /users/e/login is an object and there is no /logins/{}`,
			}},
		{"refValue in the case it has", `"kind": "refValue", "from": "l/$u", "to": "u/{}"`, `{"l": {"a": "Ann"}, "u": {"ann": 1}}`,
			[]string{`/l/a: /l/a is "Ann" and there is no /u/Ann`}},
		{"equal", `"kind": "equal", "a": "home/$u/$s", "b": "posts/$s/at"`,
			`{"home": {"a": {"s1": 1, "s2": 2, "s3": 3, "s4": {".priority": 9, ".value": 4}}}, "posts": {"s1": {"at": 1}, "s2": {"at": 3}, "s4": {"at": 4}}}`,
			[]string{"/home/a/s2: /home/a/s2 is 2 and /posts/s2/at is 3", "/home/a/s3: /home/a/s3 is 3 and /posts/s3/at is null"}},
		{"equal, if it exists", `"kind": "equal", "a": "home/$s", "b": "posts/$s", "ifExists": true`,
			`{"home": {"s1": 1, "s2": 2}, "posts": {"s2": 3}}`, []string{"/home/s2: /home/s2 is 2 and /posts/s2 is 3"}},
		{"equal objects", `"kind": "equal", "a": "a/$k", "b": "b/$k"`,
			`{"a": {"1": {"x": {"y": 1}, "z": 2}, "2": {"x": 1}, "3": {"x": 1}, "4": {"y": 1}, "5": {"x": {"y": 1}}},
			  "b": {"1": {"x": {"y": 1}, "z": 2}, "2": {"x": 1, "y": 2}, "3": 1, "4": {"x": 1, "y": 1}, "5": {"x": {"y": 2}}}}`,
			[]string{"/a/2/y: /a/2/y is null and /b/2/y is 2", "/a/3: /a/3 is an object and /b/3 is 1", "/a/4/x: /a/4/x is null and /b/4/x is 1", "/a/5/x/y: /a/5/x/y is 1 and /b/5/x/y is 2"}},
		{"excludes", `"kind": "excludes", "a": "live/$k", "b": "dead/$k"`, `{"live": {"a": 1, "b": 1}, "dead": {"b": 1, "c": 1}}`,
			[]string{"/live/b: /live/b and /dead/b both exist"}},
		{"copy", `"kind": "copy", "each": "posts/$p", "field": "by/name", "of": "users/{uid}/name"`,
			`{"users": {"a": {"name": "Ann"}, "b": {"name": "Bo"}}, "posts": {"1": {"uid": "a", "by": {"name": "Ann"}}, "2": {"uid": "b", "by": {"name": "Ann"}}, "3": {"uid": "c", "by": {"name": "Cy"}}, "4": {"by": {"name": "Di"}}, "5": {"uid": "a"}}}`,
			[]string{`/posts/2/by/name: /posts/2/by/name is "Ann" and /users/b/name is "Bo"`, `/posts/3/by/name: /posts/3/by/name is "Cy" and /users/c/name is null`, `/posts/4/by/name: /posts/4/by/name is "Di" and /users/{uid}/name is null`}},
		{"count", `"kind": "count", "counter": "users/$u/posts", "over": "profile/$u/*"`,
			`{"users": {"a": {"posts": 2}, "b": {"posts": 1}, "c": {"posts": 0}, "d": {"posts": "0"}, "e": {"posts": {".priority": 1, ".value": 1}}}, "profile": {"a": {"1": 1, "2": 1}, "b": {"3": 1, "4": 1}, "e": {"5": 1}}}`,
			[]string{"/users/b/posts: /users/b/posts is 1 and there are 2 of /profile/b/*", `/users/d/posts: /users/d/posts is "0" and there are 0 of /profile/d/*`}},
		{"count of all", `"kind": "count", "counter": "total", "over": "posts/*/$x"`, `{"total": 2, "posts": {"a": {"1": 1, "2": 1}, "b": {"1": 1}}}`,
			[]string{"/total: /total is 2 and there are 3 of /posts/*/$x"}},
		{"count together", `"kind": "count", "counter": "users/$u/posts", "over": "posts/*", "where": {"child": "meta/by", "equalsVar": "$u"}`,
			`{"users": {"a": {"posts": 2}, "b": {"posts": 1}, "c": {"posts": 1}}, "posts": {"1": {"meta": {"by": "a"}}, "2": {"meta": {"by": "a"}}, "3": {"meta": {"by": "c"}}, "4": {"meta": {"by": 5}}, "5": 1}}`,
			[]string{`/users/b/posts: /users/b/posts is 1 and there are 0 of /posts/* whose meta/by is "b"`}},
		{"count each, with where", `"kind": "count", "counter": "n/$r/$u", "over": "posts/$r/*", "where": {"child": "by", "equalsVar": "$u"}`,
			`{"n": {"r": {"a": 1, "b": 1}}, "posts": {"r": {"1": {"by": "a"}}, "s": {"1": {"by": "b"}}}}`,
			[]string{`/n/r/b: /n/r/b is 1 and there are 0 of /posts/r/* whose by is "b"`}},
		{"atLeast", `"kind": "atLeast", "counter": "last", "each": "posts/$p/id"`, `{"last": 2, "posts": {"p": {"id": 1}, "q": {"id": 3}, "r": {"id": {"x": 1}}}}`,
			[]string{"/posts/q/id: /last is 2 and /posts/q/id is 3", "/posts/r/id: /last is 2 and /posts/r/id is an object"}},
		{"atLeast of other types", `"kind": "atLeast", "counter": "last/$k", "each": "ids/$k/*"`, `{"last": {"a": "2", "b": "2014-02", "c": 2}, "ids": {"a": {"x": 1}, "b": {"x": "2014-01", "y": "2014-03"}, "c": {"x": "1"}}}`,
			[]string{`/ids/a/x: /last/a is "2" and /ids/a/x is 1`, `/ids/b/y: /last/b is "2014-02" and /ids/b/y is "2014-03"`, `/ids/c/x: /last/c is 2 and /ids/c/x is "1"`}},
		{"atLeast of several", `"kind": "atLeast", "counter": "last/$k", "each": "ids/$k/*"`, `{"last": {"a": 2}, "ids": {"a": {"x": 2}, "b": {"x": 1}}}`,
			[]string{"/ids/b/x: /last/b is null and /ids/b/x is 1"}},
		{"max", `"kind": "max", "over": "home/$u", "limit": 1`, `{"home": {"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": 5}}`,
			[]string{"/home/b: /home/b has 2 children, 1 are allowed"}},
		{"required", `"kind": "required", "each": "rooms/$r", "fields": ["name", "owner/id"]`,
			`{"rooms": {"r": {"name": "x", "owner": {"id": 1}}, "s": {"name": "y"}, "t": true}}`,
			[]string{"/rooms/s: /rooms/s has no owner/id", "/rooms/t: /rooms/t has no name", "/rooms/t: /rooms/t has no owner/id"}},
		{"fan", `"kind": "fan", "each": "groups/$g", "to": ["members/$g/{owner}", "names/{name}"]`,
			`{"groups": {"g": {"owner": "a", "name": "x"}, "h": {"owner": "b"}}, "members": {"g": {"a": true}}, "names": {"x": 1}}`,
			[]string{"/groups/h: /groups/h exists and /members/h/b does not", "/groups/h: /groups/h exists and /names/{name} does not"}},
		{"varEquals", `"kind": "varEquals", "from": "sent/$o/$k", "path": "msgs/$k/sender", "var": "$o"`,
			`{"sent": {"a": {"m1": 1, "m2": 1, "m3": 1}}, "msgs": {"m1": {"sender": "a"}, "m2": {"sender": "b"}}}`,
			[]string{`/sent/a/m2: /sent/a/m2 exists and /msgs/m2/sender is "b", not "a"`, `/sent/a/m3: /sent/a/m3 exists and /msgs/m3/sender is null, not "a"`}},
		{"varEquals of some", `"kind": "varEquals", "from": "members/$g/$u", "path": "groups/$g/owner", "var": "$u", "where": {"child": "role", "equals": "owner"}`,
			`{"members": {"g": {"a": {"role": "owner"}, "b": {"role": "member"}, "c": {"role": {".priority": 3, ".value": "owner"}}, "d": {"role": {"owner": 1}}, "e": 1}}, "groups": {"g": {"owner": "a"}}}`,
			[]string{`/members/g/c: /members/g/c/role is "owner" and /groups/g/owner is "a", not "c"`}},
		{"valueEquals", `"kind": "valueEquals", "from": "groups/$g", "path": "members/$g/{owner}/role", "value": "owner"`,
			`{"groups": {"g": {"owner": "a"}, "h": {"owner": "b"}, "i": {}, "j": {"name": "x"}}, "members": {"g": {"a": {"role": "owner"}}, "h": {"b": {"role": "member"}}}}`,
			[]string{
				`/groups/h: /groups/h exists and /members/h/b/role is "member", not "owner"`,
				`/groups/j: /groups/j exists and /members/j/{owner}/role is null, not "owner"`,
			}},
		{"valueEquals of others", `"kind": "valueEquals", "from": "x/*", "path": "{is}", "value": true`,
			`{"x": {"1": {"is": "a"}, "2": {"is": "b"}, "3": {"is": "c"}}, "a": true, "b": 1, "c": {"d": true}}`,
			[]string{"/x/2: /x/2 exists and /b is 1, not true", "/x/3: /x/3 exists and /c is an object, not true"}},
		{"inverseValue", `"kind": "inverseValue", "a": "users/$u/login", "b": "logins/$l", "lower": true`,
			`{"users": {"a": {"login": "Ann"}, "b": {"login": "Bo"}, "c": {"login": "ANN"}, "d": {"login": "x/y"}, "E": {"login": "ed"}}, "logins": {"ann": "a", "bob": "b", "z": {"x": 1}, "ed": "E", "7": 7}}`,
			[]string{
				`/users/b/login: /users/b/login is "Bo" and /logins/bo is null`,
				`/users/c/login: /users/c/login is "ANN" and /logins/ann is "a"`,
				`/users/d/login: /users/d/login is "x/y" and /logins/$l is null`,
				`/logins/7: /logins/7 is 7 and /users/7/login is null`,
				`/logins/bob: /logins/bob is "b" and /users/b/login is "Bo"`,
				`/logins/z: /logins/z is an object and /users/$u/login is null`,
			}},
		{"inverseValue in the case it has, of numbers", `"kind": "inverseValue", "a": "a/$x", "b": "b/$y"`, `{"a": {"k": 7, "l": "M"}, "b": {"7": "k", "m": "l"}}`,
			[]string{`/a/l: /a/l is "M" and /b/M is null`, `/b/m: /b/m is "l" and /a/l is "M"`}},
		{"inverseValue with a variable that both have", `"kind": "inverseValue", "a": "sent/$from/$r", "b": "got/$to/$r/from"`,
			`{"sent": {"a": {"1": "b", "2": "c"}}, "got": {"b": {"1": {"from": "a"}}, "c": {"2": {"from": "b"}}}}`,
			[]string{`/sent/a/2: /sent/a/2 is "c" and /got/c/2/from is "b"`, `/got/c/2/from: /got/c/2/from is "b" and /sent/b/2 is null`}},
		{"key", `"kind": "key", "each": "talks/*", "is": "p{a}-{b}", "replace": ["u", ""], "where": {"child": "kind", "equals": "two"}`,
			`{"talks": {"p1-2": {"kind": "two", "a": "u1", "b": 2}, "p1-3": {"kind": "two", "a": "u1", "b": "u4"}, "p1-": {"kind": "two", "a": "u1"}, "p1-23": {"kind": "two", "a": "u1", "b": "u2"}, "g": {"kind": "all"}}}`,
			[]string{
				`/talks/p1-: /talks/p1- is not named p{a}-{b}: /talks/p1-/a is "u1", /talks/p1-/b is null`,
				`/talks/p1-23: /talks/p1-23 is not named p{a}-{b}: /talks/p1-23/a is "u1", /talks/p1-23/b is "u2"`,
				`/talks/p1-3: /talks/p1-3 is not named p{a}-{b}: /talks/p1-3/a is "u1", /talks/p1-3/b is "u4"`,
			}},
		{"key that is the value", `"kind": "key", "each": "x/$k/$l", "is": "{}"`, `{"x": {"a": {"b": "b", "c": "b", "d": {"e": 1}, "5": 5}}}`,
			[]string{`/x/a/c: /x/a/c is not named {}: /x/a/c is "b"`, `/x/a/d: /x/a/d is not named {}: /x/a/d is an object`}},
		{"a long value", `"kind": "refValue", "from": "a", "to": "b/{}"`, `{"a": "` + strings.Repeat("é", 2000) + `"}`,
			[]string{`/a: /a is "` + strings.Repeat("é", 49) + `… (4002 bytes) and there is no /b/{}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := check(t, parse(t, `{"id": "1", `+c.def+`}`), stored(t, c.data))
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// A count of many counters is taken in several walks.
func TestCountInParts(t *testing.T) {
	r := &narrow{Reader: stored(t, `{
		"users": {"a": 1, "b": 2, "c": 0, "d": 1, "e": 3},
		"posts": {"1": {"by": "a"}, "2": {"by": "b"}, "3": {"by": "b"}, "4": {"by": "e"}, "5": {"by": "d"}}}`)}
	v := parse(t, `{"id": "1", "kind": "count", "counter": "users/$u", "over": "posts/*", "where": {"child": "by", "equalsVar": "$u"}}`)
	for tally, walks := range map[int]int{1: 5, 2: 3, 4: 2, 5: 1, 6: 1} {
		r.looks = 0
		var got []string
		if err := v.check(t.Context(), r, tally, func(b Violation) { got = append(got, b.Problem) }); err != nil {
			t.Fatal(err)
		}
		if want := `/users/e is 3 and there are 1 of /posts/* whose by is "e"`; !slices.Equal(got, []string{want}) {
			t.Errorf("%d at a time: got %q, want %q", tally, got, want)
		}
		if want := 5 + 5*walks; r.looks != want { // each counter once, each post once in a walk
			t.Errorf("%d at a time: %d looks, want %d", tally, r.looks, want)
		}
	}
}

// A narrow is a reader of which no object is read, and that counts its looks.
type narrow struct {
	tree.Reader
	looks int
}

func (n *narrow) Get(tree.Path) (tree.Node, error) { panic("a whole node is read") }

func (n *narrow) Has(p tree.Path) (bool, error) {
	n.looks++
	return n.Reader.Has(p)
}

func (n *narrow) Peek(p tree.Path) (tree.Node, bool, error) {
	n.looks++
	return n.Reader.Peek(p)
}

// The work is a walk of what matches, with a few looks at each node.
func TestCheckIsOneWalk(t *testing.T) {
	const users = 500
	var list, posts strings.Builder
	for i := range users {
		fmt.Fprintf(&list, `,"u%d":{"posts":1,"at":5}`, i)
		fmt.Fprintf(&posts, `,"p%d":{"by":"u%d","at":5}`, i, i)
	}
	r := stored(t, `{"users":{`+list.String()[1:]+`},"posts":{`+posts.String()[1:]+`}}`)
	for _, def := range []string{
		`"kind": "count", "counter": "users/$u/posts", "over": "posts/*", "where": {"child": "by", "equalsVar": "$u"}`,
		`"kind": "refValue", "from": "posts/*/by", "to": "users/{}"`,
		`"kind": "equal", "a": "users/$u", "b": "users/$u"`,
		`"kind": "required", "each": "users/$u", "fields": ["posts", "at"]`,
		`"kind": "inverse", "a": "users/$u", "b": "users/$u"`,
	} {
		n := &narrow{Reader: r}
		if got := check(t, parse(t, `{"id": "1", `+def+`}`), n); len(got) > 0 {
			t.Errorf("%s: %q", def, got)
		}
		if n.looks > 8*users {
			t.Errorf("%s: %d looks at %d users", def, n.looks, users)
		}
	}
}

var errBroken = errors.New("unreadable")

// A failing reader fails at one of its looks.
type failing struct {
	tree.Reader
	after int
}

func (f *failing) fail() error {
	if f.after--; f.after < 0 {
		return errBroken
	}
	return nil
}

func (f *failing) Has(p tree.Path) (bool, error) {
	if err := f.fail(); err != nil {
		return false, err
	}
	return f.Reader.Has(p)
}

func (f *failing) Peek(p tree.Path) (tree.Node, bool, error) {
	if err := f.fail(); err != nil {
		return tree.Empty, false, err
	}
	return f.Reader.Peek(p)
}

func (f *failing) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key, err := range f.Reader.Keys(p) {
			if err == nil {
				err = f.fail()
			}
			if !yield(key, err) || err != nil {
				return
			}
		}
	}
}

// Whatever cannot be read is an error and never a violation, nor passes.
func TestUnreadable(t *testing.T) {
	r := stored(t, `{"a": {"x": "x", "y": "y"}, "b": {"x": "x", "y": "y"}, "n": {"x": 1, "y": 1}, "p": {"1": {"by": "x"}, "2": {"by": "y"}}, "o": {"1": {"q": {"r": 1}}}, "o2": {"1": {"q": {"r": 1}}}}`)
	for _, def := range []string{
		`"kind": "inverse", "a": "a/$x", "b": "b/$x"`,
		`"kind": "ref", "from": "a/$x", "to": "b/$x"`,
		`"kind": "refValue", "from": "a/*", "to": "b/{}"`,
		`"kind": "equal", "a": "a/$x", "b": "b/$x"`,
		`"kind": "equal", "a": "o/$x", "b": "o2/$x"`,
		`"kind": "copy", "each": "p/*", "field": "by", "of": "a/{by}"`,
		`"kind": "excludes", "a": "a/$x", "b": "none/$x"`,
		`"kind": "count", "counter": "n/$x", "over": "b/$x"`,
		`"kind": "count", "counter": "n/$x", "over": "p/*", "where": {"child": "by", "equalsVar": "$x"}`,
		`"kind": "atLeast", "counter": "n/$x", "each": "n/$x"`,
		`"kind": "max", "over": "p/*", "limit": 1`,
		`"kind": "required", "each": "p/*", "fields": ["by"]`,
		`"kind": "fan", "each": "p/*", "to": ["a/{by}"]`,
		`"kind": "varEquals", "from": "a/$x", "path": "b/$x", "var": "$x"`,
		`"kind": "varEquals", "from": "p/$x", "path": "p/1/by", "var": "$x", "where": {"child": "by", "equals": "z"}`,
		`"kind": "valueEquals", "from": "p/1", "path": "a/{by}", "value": "x"`,
		`"kind": "inverseValue", "a": "a/$x", "b": "b/$y"`,
		`"kind": "key", "each": "a/*", "is": "{}"`,
	} {
		v := parse(t, `{"id": "1", `+def+`}`)
		for after := 0; ; after++ {
			f := &failing{&narrow{Reader: r}, after}
			var got []Violation
			err := v.Check(t.Context(), f, func(b Violation) { got = append(got, b) })
			if len(got) > 0 || err != nil && !errors.Is(err, errBroken) {
				t.Fatalf("%s, unreadable after %d looks: %v, %q", def, after, err, got)
			}
			if (err == nil) != (f.after >= 0) {
				t.Fatalf("%s, unreadable after %d looks: error %v", def, after, err)
			}
			if err == nil {
				break
			}
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	v := parse(t, `{"id": "1", "kind": "required", "each": "a/$x", "fields": ["f"]}`)
	n := 0
	err := v.Check(ctx, stored(t, `{"a": {"x": 1, "y": 1, "z": 1}}`), func(Violation) { n++; cancel() })
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d violations, error %v; want one, and that it was cancelled", n, err)
	}
}
