package server

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

// withParams puts parameters into a URL: name, value, name, value.
func withParams(path string, list ...string) string {
	v := url.Values{}
	for i := 0; i < len(list); i += 2 {
		v.Set(list[i], list[i+1])
	}
	return path + "?" + v.Encode()
}

func TestWhere(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	ts.admin("PUT", "/.json", `{"rooms":{"a":{"n":1,"type":"x"},"b":{"n":2,"type":"y"},"c":{"n":3,"type":"x"}},"secret":{"a":1},"few":{"a":1,"b":2}}`)
	ts.admin("PUT", "/.settings/rules.json", `{"rules":{"rooms":{".read":true,".indexOn":"type"},"few":{".read":"query.limitToFirst <= 2"}}}`)
	for _, c := range []struct{ target, want string }{
		{withParams("/rooms.json", "where", "data.child('n').val() > 1", "shallow", "false"), `{"b":{"n":2,"type":"y"},"c":{"n":3,"type":"x"}}`},
		{withParams("/rooms.json", "where", "data.child('n').val() > 1", "orderBy", `"type"`, "equalTo", `"x"`), `{"c":{"n":3,"type":"x"}}`},
		{withParams("/rooms.json", "where", "data.child('n').val() < 3", "orderBy", `"$key"`, "limitToLast", "1"), `{"b":{"n":2,"type":"y"}}`},
		{withParams("/rooms.json", "where", "data.child('type').val() == 'x'", "count", "true"), `2`},
		{withParams("/rooms.json", "where", "key == 'b'", "children", "true"), `"count":3,"children":[{"k":"b","t":"o","n":2}],"more":false}`},
		{withParams("/rooms.json", "where", "key == 'b'", "explain", "true"), `"where":"key == 'b'"`},
		{withParams("/rooms.json", "where", "false"), `null`},
		{withParams("/rooms/a/n.json", "where", "true"), `null`},
		{withParams("/rooms.json", "where", "data.val()"), `where: 1: Expression must evaluate to a boolean.`},
		{withParams("/rooms.json", "where", "root.exists()"), `where: 1: root is for rules only`},
		{withParams("/rooms.json", "where", "true", "maxVisited", "100001"), `maxVisited must be an integer from 1 to 100000`},
		{withParams("/rooms.json", "maxVisited", "5"), `maxVisited goes with where`},
		{withParams("/rooms.json", "where", "true", "limitToFirst", "1"), `orderBy must be defined`},
		{withParams("/rooms.json", "where", "true", "shallow", "true"), `Mixing 'shallow' and querying parameters`},
		{withParams("/rooms.json", "where", "true", "orderBy", `"n"`), `Index not defined`},
		{withParams("/secret.json", "where", "true"), `Permission denied`},
		{withParams("/few.json", "orderBy", `"$key"`, "limitToFirst", "2"), `{"a":1,"b":2}`},
		{withParams("/few.json", "orderBy", `"$key"`, "limitToFirst", "2", "where", "true"), `Permission denied`},
	} {
		if got := ts.do(call{"GET", c.target, nil, ""}); !strings.Contains(strings.ReplaceAll(got.body, `\"`, `"`), strings.ReplaceAll(c.want, `\"`, `"`)) {
			t.Errorf("%s: %d %s, want %s", c.target, got.StatusCode, got.body, c.want)
		}
	}
	got := ts.do(call{"POST", "/.batch.json", nil, `{"get":[{"path":"/rooms","where":"key > 'a'","orderBy":"$key","limitToFirst":1},{"path":"/rooms","where":"key > 'b'","maxVisited":5}]}`})
	if !strings.Contains(got.body, `"value":{"b":{"n":2,"type":"y"}}`) || !strings.Contains(got.body, `"value":{"c":{"n":3,"type":"x"}}`) {
		t.Errorf("batch: %d %s", got.StatusCode, got.body)
	}
	if got := ts.do(call{"POST", "/.batch.json", nil, `{"get":[{"path":"/rooms","where":7}]}`}); !strings.Contains(got.body, "get[0]: where must be a string") {
		t.Errorf("batch: %d %s", got.StatusCode, got.body)
	}
}

// A read with a filter never answers with a part of what it would find.
func TestWhereLooks(t *testing.T) {
	ts := serveTest(t, Options{Dev: true})
	var rows strings.Builder
	for i := range 300 {
		fmt.Fprintf(&rows, `,"k%03d":{"n":%d,"text":"%040d"}`, i, i, i)
	}
	ts.admin("PUT", "/rows.json", "{"+rows.String()[1:]+"}")
	for _, c := range []struct {
		most  string
		limit string
		want  string
	}{
		{"299", "", "the filter has looked at 299 children without an end"},
		{"300", "", `{"k299":`},
		{"299", "1", "the filter has looked at 299 children without an end"},
		{"300", "1", `{"k299":`},
	} {
		list := []string{"where", "data.child('n').val() == 299", "maxVisited", c.most, "orderBy", `"$key"`}
		if c.limit != "" {
			list = append(list, "limitToFirst", c.limit)
		}
		for _, count := range []bool{false, true} {
			want := c.want
			if count && c.limit != "" {
				continue
			}
			if count && strings.HasPrefix(want, "{") {
				want = "1"
			}
			if got := ts.admin("GET", withParams("/rows.json", append(list, "count", fmt.Sprint(count))...), ""); !strings.Contains(got.body, want) {
				t.Errorf("maxVisited %s, limit %q: %.200s, want %s", c.most, c.limit, got.body, want)
			}
		}
	}
	// From the other end it is the first that is looked at.
	if got := ts.admin("GET", withParams("/rows.json", "where", "data.child('n').val() == 299", "maxVisited", "1", "orderBy", `"$key"`, "limitToLast", "1"), ""); !strings.Contains(got.body, `{"k299":`) {
		t.Errorf("%s", got.body)
	}
}

// A stream with a filter is sent what matches, and nothing at all for any other write.
func TestWhereStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := serveTest(t, Options{Dev: true})
		ts.admin("PUT", "/rooms.json", `{"a":{"type":"x"},"b":{"type":"y"}}`)
		s := ts.follow(withParams("/rooms.json", "where", "data.child('type').val() == 'x'", "print", "silent"))
		defer s.Close()
		if b := s.next(); !strings.Contains(b.data, `{"path":"/","data":{"a":{"type":"x"}}}`) {
			t.Fatal(b)
		}
		put := func(path, value string) { ts.admin("PUT", path, value) }
		put("/rooms/b/n.json", "1")
		put("/rooms/c.json", `{"type":"z"}`)
		put("/rooms/b.json", "null")
		put("/rooms/c/type.json", `"x"`)
		if b := s.next(); b.name != "patch" || !strings.Contains(b.data, `{"path":"/","data":{"c":{"type":"x"}}}`) {
			t.Fatal(b)
		}
		put("/rooms/a/type.json", `"y"`)
		if b := s.next(); !strings.Contains(b.data, `"data":{"a":null}`) {
			t.Fatal(b)
		}
		put("/rooms/c.json", "null") // matched when it was deleted
		if b := s.next(); !strings.Contains(b.data, `"data":{"c":null}`) {
			t.Fatal(b)
		}
	})
}

// A stream of changes has no view first, and comes back with what it missed.
func TestChangesStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := serveTest(t, Options{Dev: true})
		ts.admin("PUT", "/rooms.json", `{"a":{"n":1},"b":{"n":2}}`)
		ts.want("GET", "/rooms.json?changes=true", "", 400, errorBody("changes goes with event streams"))
		for _, target := range []string{"/rooms.json?changes=true", withParams("/rooms.json", "changes", "true", "orderBy", `"$key"`, "limitToLast", "1"), withParams("/rooms.json", "changes", "true", "where", "data.child('n').val() >= 2")} {
			ts.admin("PUT", "/rooms/b/n.json", "2")
			s := ts.follow(target)
			if b := s.next(); b.String() != "keep-alive null" {
				t.Fatalf("%s begins with %s", target, b)
			}
			ts.admin("PUT", "/rooms/b/n.json", "3")
			if b := s.next(); b.String() != `put {"path":"/b/n","data":3}` {
				t.Fatalf("%s goes on with %s", target, b)
			}
			s.Close()
		}
	})
}
