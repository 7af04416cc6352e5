package store

import (
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/dogwooddb/dogwood/tree"
)

// edit returns n with the node at p replaced by v. Putting something in place
// of something else, the most frequent change of a packed row, is one splice of
// its text; all else goes through the node.
func edit(n tree.Node, p tree.Path, v tree.Node) tree.Node {
	if v.IsEmpty() || p.IsRoot() || !n.IsObject() || !plain(p) {
		return n.With(p, v)
	}
	at := strings.ReplaceAll(p.Clean(), "/", ".")
	if !gjson.Get(n.Text(), at).Exists() {
		return n.With(p, v)
	}
	text, err := sjson.SetRaw(n.Text(), at, v.Text())
	if err != nil {
		return n.With(p, v)
	}
	return tree.FromCanonical(text)
}

// plain reports whether the keys of p have no character that is special in the
// path syntax of gjson and sjson.
func plain(p tree.Path) bool {
	for i, s := 0, p.Clean(); i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '/' {
			return false
		}
	}
	return true
}
