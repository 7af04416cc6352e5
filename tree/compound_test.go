package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// RangeHashes returns the hashes of the ranges between posts.
func (n Node) RangeHashes(posts []string) ([]string, error) {
	h, err := n.hashRanges(posts)
	if err != nil {
		return nil, err
	}
	return h.hashes, nil
}

func TestRangeHashes(t *testing.T) {
	n := MustParseNode(`{"a":{"x":1,"y":2},"b":"s","c":{".priority":3,"!":true,"k":4}}`)
	hash := func(text string) string {
		if text == "" {
			return ""
		}
		sum := sha1.Sum([]byte(text))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	const one, two, three, four = "(number:3ff0000000000000)", "(number:4000000000000000)", "(number:4008000000000000)", "(number:4010000000000000)"
	const a, b = `"a":("x":` + one + `,"y":` + two + `)`, `"b":(string:"s")`
	const c = `"c":("!":(boolean:true),".priority":` + three + `,"k":` + four + `)`
	tests := []struct {
		posts string
		texts []string
	}{
		{"", []string{"(" + a + "," + b + "," + c + ")"}},
		{"/", []string{"", "(" + a + "," + b + "," + c + ")"}},
		{"b", []string{"(" + a + "," + b + ")", "(" + c + ")"}},
		{"a/x", []string{`("a":("x":` + one + `))`, `("a":("y":` + two + `),` + b + "," + c + ")"}},
		{"a b/x c/zz d", []string{"", "(" + a + "," + b + ")", "(" + c + ")", "", ""}},
		{"a/x/deep a/y", []string{`("a":("x":` + one + `))`, `("a":("y":` + two + `))`, "(" + b + "," + c + ")"}},
		{"c/! c/.priority", []string{"(" + a + "," + b + `,"c":("!":(boolean:true)))`, `("c":(".priority":` + three + `))`, `("c":("k":` + four + `))`}},
		{"c/.priority", []string{"(" + a + "," + b + `,"c":("!":(boolean:true),".priority":` + three + `))`, `("c":("k":` + four + `))`}},
	}
	for _, test := range tests {
		posts := strings.Fields(test.posts)
		got, err := n.RangeHashes(posts)
		if err != nil || len(got) != len(test.texts) {
			t.Errorf("RangeHashes(%q) = %q, %v", posts, got, err)
			continue
		}
		for i, text := range test.texts {
			if got[i] != hash(text) {
				t.Errorf("RangeHashes(%q)[%d] = %s, want %s", posts, i, got[i], hash(text))
			}
		}
	}
}

// wrong stands for the hash of a range that the client has in another state.
const wrong = "wrong"

func TestRangeDiff(t *testing.T) {
	const chat = `{"a":{"x":1,"y":2},"b":2,"c":{"z":{"z":3}}}`
	tests := []struct {
		name, node, posts string
		wrong             string // "1" for ranges that the client has otherwise
		want              string
	}{
		{"nothing cached", chat, "", "1", "- - " + chat},
		{"nothing cached, nothing there", "null", "", "0", ""},
		{"all equal", chat, "a/y c/z/z", "000", ""},
		{"first", chat, "a/y c/z/z", "100", `- a/y {"a":{"x":1,"y":2}}`},
		{"between", chat, "a/y c/z/z", "010", `a/y c/z/z {"b":2,"c":{"z":{"z":3}}}`},
		{"last", chat, "a/x b", "001", `b - {"c":{"z":{"z":3}}}`},
		{"a part of an object", chat, "a/x b", "010", `a/x b {"a":{"y":2},"b":2}`},
		{"neighbours go together", chat, "a/x a/y b", "0110", `a/x b {"a":{"y":2},"b":2}`},
		{"two merges", chat, "a/x a/y b", "1010", `- a/x {"a":{"x":1}} | a/y b {"b":2}`},
		{"everything", chat, "a/x a/y b", "1111", "- - " + chat},
		{"client has what is gone", chat, "a/x b0 b1", "0010", `b0 b1 null`},
		{"client has a leaf, there is nothing", "null", "/", "10", `- / null`},
		{"client has a leaf, there is another", "5", "/", "10", `- / 5`},
		{"client has an object, there is a leaf", "5", "a b", "110", `- b 5`},
		{"client has a leaf, there is an object", chat, "/", "11", `- - ` + chat},
		{"client has a leaf below", `{"a":{"b":1}}`, "a", "11", `- - {"a":{"b":1}}`},

		{"priority of the root, at the end", `{".priority":1,"0":0,"1":1}`, "0", "01", `0 - {".priority":1,"1":1}`},
		{"priority of the root, not in the range", `{".priority":1,"0":0,"1":1}`, "0", "10", `- 0 {"0":0}`},
		{"priority of the root, between", `{".priority":1,"!":0,"a":1,"b":2}`, "! a", "010", `! a {".priority":1,"a":1}`},
		{"priority inserted after children", `{".priority":1,"!":{"x":1},"!!":{"y":2},"a":1}`, "!/x a", "010", `!/x a {".priority":1,"!!":{"y":2},"a":1}`},
		{"priority of a leaf", `{"a":{".priority":1,".value":2},"b":3}`, "a", "10", `- a {"a":{".priority":1,".value":2}}`},
		{"after a leaf with a priority", `{"a":{".priority":1,".value":2},"b":3}`, "/a/", "01", `/a/.priority - {"b":3}`},
		{"post at a priority", `{".priority":1,"!":0,"a":1}`, "! .priority", "001", `! - {".priority":1,"a":1}`},

		// A client can't read a priority without a child, so more is sent.
		{"lonely priority between two posts", `{".priority":1,"!":0,"a":1}`, "! .priority", "010", `! - {".priority":1,"a":1}`},
		{"lonely priority before the children", `{"x":{".priority":1,"k":1},"y":2}`, "x/a y", "100", `- y {"x":{".priority":1,"k":1},"y":2}`},
		{"lonely priority after the children", `{"x":{".priority":1,"0":1},"y":2}`, "x/0 y", "010", `- y {"x":{".priority":1,"0":1},"y":2}`},
		{"lonely priorities in each other", `{"x":{".priority":1,"k":{".priority":2,"k":1}}}`, "x/a x/k/a z", "1000", `- z {"x":{".priority":1,"k":{".priority":2,"k":1}}}`},
		{"but not in the other direction", `{"x":{".priority":1,"0":1},"y":2}`, "x/0 y", "000", ``},
	}
	for _, test := range tests {
		n, posts := MustParseNode(test.node), strings.Fields(test.posts)
		hashes, err := n.RangeHashes(posts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range hashes {
			if test.wrong[i] == '1' {
				hashes[i] = wrong
			}
		}
		merges, err := n.RangeDiff(posts, hashes)
		if got := showMerges(merges); err != nil || got != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// showMerges writes each merge as "start end value".
func showMerges(merges []RangeMerge) string {
	bound := func(has bool, s string) string {
		if !has {
			return "-"
		}
		return s
	}
	var parts []string
	for _, m := range merges {
		parts = append(parts, bound(m.HasStart, m.Start)+" "+bound(m.HasEnd, m.End)+" "+m.Value.JSON())
	}
	return strings.Join(parts, " | ")
}

func TestRangeDiffErrors(t *testing.T) {
	n := MustParseNode(`{"a":1,"b":2}`)
	deep := strings.Repeat("k/", MaxDepth+1)
	many := make([]string, MaxPosts+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	tests := []struct {
		posts  []string
		hashes int
		want   string
	}{
		{nil, 0, "0 hashes for 0 posts"},
		{[]string{"a"}, 1, "1 hashes for 1 posts"},
		{[]string{"a"}, 3, "3 hashes for 1 posts"},
		{[]string{"b", "a"}, 3, `path "a" is not in order`},
		{[]string{"a", "a"}, 3, `path "a" is not in order`},
		{[]string{"a", "/a/"}, 3, `path "/a/" is not in order`},
		{[]string{"a/b", "a"}, 3, `path "a" is not in order`},
		{[]string{"a", "10"}, 3, `path "10" is not in order`},
		{[]string{"a", ".priority"}, 3, `path ".priority" is not in order`},
		{[]string{"a.b"}, 2, `path "a.b": keys have no . $ # [ ] / and no control characters`},
		{[]string{"a/.value"}, 2, `path "a/.value": keys have no . $ # [ ] / and no control characters`},
		{[]string{".priority/a"}, 2, `path ".priority/a": keys have no . $ # [ ] / and no control characters`},
		{[]string{deep}, 2, `path "` + deep[:64] + `…": path exceeds the maximum depth (32)`},
		{[]string{"000000000001"}, 2, `key "000000000001" sorts differently on some clients`},
		{many, len(many) + 1, "16385 posts exceed the maximum of 16384"},
	}
	for _, test := range tests {
		merges, err := n.RangeDiff(test.posts, make([]string, test.hashes))
		if !errors.Is(err, ErrCompoundHash) || err.Error() != "invalid compound hash: "+test.want || merges != nil {
			t.Errorf("RangeDiff(%q) = %v, %v, want %s", abbreviate(fmt.Sprint(test.posts)), merges, err, test.want)
		}
	}
	for _, key := range []string{"-0", "-00", "000000000042", "-00000000042"} {
		odd := MustParseNode(`{"a":{"` + key + `":{"b":1}}}`)
		if _, err := odd.RangeDiff([]string{"x"}, []string{"", ""}); !errors.Is(err, ErrCompoundHash) {
			t.Errorf("RangeDiff of %s: %v: clients disagree about the order of %s", odd.JSON(), err, key)
		}
	}
	for _, key := range []string{"0", "00", "007", "00000000042", "-0000000042", "-NjEtLV--012345678yz", "123456789012"} {
		if oddInteger(key) {
			t.Errorf("oddInteger(%q) = true", key)
		}
	}
	for _, m := range []RangeMerge{{Start: "a.b", HasStart: true}, {End: "$", HasEnd: true}} {
		if _, err := m.Apply(n); !errors.Is(err, ErrCompoundHash) {
			t.Errorf("Apply(%v): %v", m, err)
		}
	}
}

// Many posts over a wide node take one walk, not one for each.
func TestRangeDiffIsLinear(t *testing.T) {
	n := wide(20000)
	posts, hashes := make([]string, 0, MaxPosts), make([]string, 0, MaxPosts+1)
	for i := range MaxPosts {
		posts = append(posts, fmt.Sprintf("-N%06d/seq", i))
		hashes = append(hashes, wrong)
	}
	right, err := n.RangeHashes(posts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range hashes {
		if i%2 == 0 {
			hashes[i] = right[i]
		}
	}
	merges, err := n.RangeDiff(posts, append(hashes, ""))
	if err != nil || len(merges) != MaxPosts/2 {
		t.Errorf("%d merges, %v, want %d", len(merges), err, MaxPosts/2)
	}
}

// related draws two states of a node, the second some writes after the first.
func related(t *rapid.T) (client, server Node) {
	client, _ = drawNode(t, 3)
	if rapid.Bool().Draw(t, "large") {
		client = client.With(MustParsePath("k"), wide(rapid.IntRange(1, 40).Draw(t, "size")))
	}
	server = client
	for range rapid.IntRange(0, 3).Draw(t, "writes") {
		path := paths.Draw(t, "path")
		if rapid.Bool().Draw(t, "wide") {
			path = []string{"k", fmt.Sprintf("-N%06d", rapid.IntRange(0, 40).Draw(t, "i")), "text"}
		}
		priority := rapid.Bool().Draw(t, "priority")
		value, _ := drawNode(t, 2)
		if priority {
			value = nodeOf(t, priorities.Draw(t, "priority"))
		}
		server = server.WithTarget(Target{MustParsePath(strings.Join(path, "/")), priority}, value)
	}
	return client, server
}

// Whatever the client has and however it cuts it, the merges bring it to our
// state. Only priorities that compound hashes leave out may be old.
func TestRangeDiffModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client, server := related(t)
		if !hashable(client) || !hashable(server) {
			return
		}
		posts, hashes := client.CompoundHash()
		if rapid.Bool().Draw(t, "own posts") {
			posts = postsModel(t, client)
			var err error
			if hashes, err = client.RangeHashes(posts); err != nil {
				t.Fatal(err)
			}
		}
		merges, err := server.RangeDiff(posts, hashes)
		if err != nil {
			t.Fatalf("RangeDiff(%q): %v", posts, err)
		}
		ours, theirs := client, client
		for _, m := range merges {
			mustBeCanonical(t, m.Value)
			theirs = clientMerge{m}.update(t, nil, theirs, m.Value)
			if ours, err = m.Apply(ours); err != nil {
				t.Fatal(err)
			}
		}
		mustBeCanonical(t, ours)
		if want := covered(server); covered(ours) != want || covered(theirs) != want {
			t.Fatalf("client %s\nserver %s\nposts %q\nmerges %s\ngive %s\nin Java %s",
				client.JSON(), server.JSON(), posts, showMerges(merges), ours.JSON(), theirs.JSON())
		}
		if lost(client, server, ours) || lost(client, server, theirs) {
			t.Fatalf("client %s\nserver %s\nposts %q\nmerges %s\nlose a priority: %s\nin Java %s",
				client.JSON(), server.JSON(), posts, showMerges(merges), ours.JSON(), theirs.JSON())
		}
	})
}

func hashable(n Node) bool {
	_, err := n.RangeHashes(nil)
	return err == nil
}

// postsModel draws any leaves of a node as posts, and the last of them.
func postsModel(t *rapid.T, n Node) []string {
	var leaves [][]string
	var walk func(n Node, at []string)
	walk = func(n Node, at []string) {
		if n.IsLeaf() {
			leaves = append(leaves, at)
			return
		}
		before := true
		for key, child := range n.Children() {
			if before && CompareKeys(key, ".priority") > 0 && !n.Priority().IsEmpty() {
				leaves = append(leaves, append(slices.Clone(at), ".priority"))
				before = false
			}
			walk(child, append(slices.Clone(at), key))
		}
	}
	walk(n, nil)
	var posts []string
	for i, leaf := range leaves {
		if i == len(leaves)-1 || rapid.IntRange(0, 2).Draw(t, "post") == 0 {
			posts = append(posts, "/"+strings.Join(leaf, "/"))
		}
	}
	return posts
}

// covered returns n without the priorities that compound hashes leave out.
func covered(n Node) Node {
	if !n.IsObject() {
		return n
	}
	var b Builder
	last := ""
	for key := range n.Children() {
		last = key
	}
	if CompareKeys(last, ".priority") > 0 {
		b.Priority(n.Priority())
	}
	for key, child := range n.Children() {
		b.Child(key, covered(child))
	}
	return b.Node()
}

// clientMerge is how the Java SDK applies a range merge.
type clientMerge struct{ RangeMerge }

func (m clientMerge) update(t *rapid.T, at []string, n, value Node) Node {
	start, end := postKeys(t, m.Start), postKeys(t, m.End)
	contains := func(q []string) bool { return len(q) >= len(at) && slices.Equal(q[:len(at)], at) }
	afterStart := !m.HasStart || slices.CompareFunc(at, start, CompareKeys) > 0
	toEnd := -1
	if m.HasEnd {
		toEnd = slices.CompareFunc(at, end, CompareKeys)
	}
	startInNode, endInNode := m.HasStart && contains(start), m.HasEnd && contains(end)
	switch {
	case afterStart && toEnd < 0 && !endInNode:
		return value
	case afterStart && endInNode && value.IsLeaf():
		return value
	case afterStart && toEnd == 0:
		if n.IsLeaf() {
			return Empty
		}
		return n
	case startInNode || endInNode:
		return m.updateChildren(t, at, n, value)
	}
	return n
}

func (m clientMerge) updateChildren(t *rapid.T, at []string, n, value Node) Node {
	updated := n
	for key, c := range zip(n, value) {
		child := m.update(t, append(slices.Clone(at), key), c[0], c[1])
		if child != c[0] {
			updated = updated.With(Root.Child(key), child)
		}
	}
	p := m.update(t, append(slices.Clone(at), ".priority"), n.Priority(), value.Priority())
	return updated.WithPriority(p)
}

func postKeys(t *rapid.T, post string) []string {
	keys, err := parsePost(post)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestRangeMergeApply(t *testing.T) {
	tests := []struct{ name, before, merge, after string }{
		{"everything", `{"a":1}`, `- - {"b":2}`, `{"b":2}`},
		{"everything by nothing", `{"a":1}`, `- - null`, `null`},
		{"nothing before", `null`, `a c {"b":{"x":1}}`, `{"b":{"x":1}}`},
		{"leaf by leaf", `1`, `- / 2`, `2`},
		{"leaf by nothing", `1`, `- / null`, `null`},
		{"leaf by object", `1`, `- a {"a":2}`, `{"a":2}`},
		{"leaf outside", `1`, `/ - null`, `1`},
		{"leaf outside, with children", `{".priority":2,".value":1}`, `/ - {"0":2}`, `{"0":2}`},
		{"leaf outside, but not its priority's place", `{".priority":2,".value":1}`, `/ 0 {"0":2}`, `{".priority":2,"0":2}`},
		{"object by leaf", `{"a":{"b":1,"c":2}}`, `- a/b {"a":5}`, `{"a":5}`},
		{"the last child goes", `{".priority":1,"a":{"x":1},"b":{"y":2}}`, `- b/z null`, `null`},
		{"the priority of what stays", `{"a":{".priority":1,"0":1,"k":2}}`, `a/0 - {"a":{".priority":2,"l":3}}`, `{"a":{".priority":2,"0":1,"l":3}}`},
		{"a post at a priority", `{"a":{".priority":1,"0":1,"k":2}}`, `a/.priority - null`, `{"a":{".priority":1,"0":1}}`},
	}
	for _, test := range tests {
		var m RangeMerge
		f := strings.Fields(test.merge)
		if m.HasStart = f[0] != "-"; m.HasStart {
			m.Start = f[0]
		}
		if m.HasEnd = f[1] != "-"; m.HasEnd {
			m.End = f[1]
		}
		m.Value = MustParseNode(f[2])
		got, err := m.Apply(MustParseNode(test.before))
		if err != nil || got.JSON() != test.after {
			t.Errorf("%s: got %s, %v, want %s", test.name, got.JSON(), err, test.after)
		}
		mustBeCanonical(t, got)
	}
}

// FuzzRangeDiff: posts that make no sense are refused, all others cut the node
// into parts that make it again.
func FuzzRangeDiff(f *testing.F) {
	f.Add(`{"a":{"x":1,"y":2},"b":2,".priority":1}`, "a/x\nb")
	f.Add(`{".priority":1,"0":{".priority":2,"!":3},"a":{".priority":"p",".value":4}}`, "0/.priority\n.priority\na")
	f.Add(`5`, "/\n.priority\n-0")
	f.Fuzz(func(t *testing.T, src, lines string) {
		n, err := ParseNode(src)
		if err != nil {
			return
		}
		posts := strings.Split(lines, "\n")
		hashes, err := n.RangeHashes(posts)
		if err != nil {
			if !errors.Is(err, ErrCompoundHash) {
				t.Fatalf("RangeHashes(%q): %v", posts, err)
			}
			return
		}
		if merges, err := n.RangeDiff(posts, hashes); err != nil || len(merges) > 0 {
			t.Fatalf("RangeDiff(%q) of %s with itself: %s, %v", posts, n.JSON(), showMerges(merges), err)
		}
		for i := range hashes {
			hashes[i] = wrong
		}
		merges, err := n.RangeDiff(posts, hashes)
		if err != nil || len(merges) != 1 || merges[0] != (RangeMerge{Value: n}) {
			t.Fatalf("RangeDiff(%q) of %s with nothing: %s, %v", posts, n.JSON(), showMerges(merges), err)
		}
	})
}

// lost reports whether an object's priority that was right before is not right
// after.
func lost(before, server, after Node) bool {
	p := server.Priority()
	if before.IsObject() && server.IsObject() && before.Priority() == p && after.Priority() != p {
		return true
	}
	for key, child := range server.Children() {
		if lost(before.Child(key), child, after.Child(key)) {
			return true
		}
	}
	return false
}

func BenchmarkCompoundHash(b *testing.B) {
	n := wide(1000)
	b.SetBytes(int64(len(n.text)))
	b.ReportAllocs()
	for b.Loop() {
		n.CompoundHash()
	}
}

func BenchmarkRangeDiff(b *testing.B) {
	n := wide(1000)
	posts, hashes := n.CompoundHash()
	n = n.With(MustParsePath("-N000500/text"), String("changed"))
	b.SetBytes(int64(len(n.text)))
	b.ReportAllocs()
	for b.Loop() {
		n.RangeDiff(posts, hashes)
	}
}
