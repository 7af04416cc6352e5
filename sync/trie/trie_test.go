package trie

import (
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestTrie: items are found at the path of a change, above it and below it, and leave
// nothing behind.
func TestTrie(t *testing.T) {
	var tr Trie[string]
	paths := []string{"/", "/a", "/a/b", "/a/b/c", "/a/x", "/z"}
	for _, p := range paths {
		tr.Add(tree.MustParsePath(p), p)
	}
	at := tree.MustParsePath("/a/b")
	if got, want := slices.Collect(tr.Above(at)), []string{"/", "/a", "/a/b"}; !slices.Equal(got, want) {
		t.Errorf("Above() = %v, want %v", got, want)
	}
	if got, want := slices.Collect(tr.Below(at)), []string{"/a/b/c"}; !slices.Equal(got, want) {
		t.Errorf("Below() = %v, want %v", got, want)
	}
	if got := slices.Sorted(tr.All()); !slices.Equal(got, paths) {
		t.Errorf("All() = %v, want %v", got, paths)
	}
	if n := tr.Find(at); n == nil || !slices.Equal(n.Items, []string{"/a/b"}) || tr.Find(at.Child("y")) != nil {
		t.Errorf("Find() = %v, want the node of /a/b, and none elsewhere", n)
	}
	for _, p := range paths {
		tr.Remove(tree.MustParsePath(p), p)
	}
	if !tr.None() {
		t.Error("an empty trie has nodes")
	}
}
