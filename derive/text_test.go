package derive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A sizedState does not hand out texts that are longer than is asked for.
type sizedState struct {
	measured
}

func (s *sizedState) PeekUpTo(p tree.Path, bytes int) (leaf tree.Node, isObject, ok bool, err error) {
	leaf, isObject, err = s.Peek(p)
	if len(leaf.Text()) > bytes {
		return tree.Empty, false, false, err
	}
	s.bytes += len(leaf.Text())
	return leaf, isObject, true, err
}

// A node does not match whose text is too long for an expression, whether the text is stored or
// written. A stored one is not read.
func TestLongTextsDoNotMatch(t *testing.T) {
	doc := parse(t, `"hits": {"count": "/msgs/$m", "to": "/hits", "where": "data.child('text').val().contains('x')"}`)
	text := func(n int) string { return fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", n)) }
	s := &sizedState{measured{state: state{World: rulestest.World{}}}}
	do := func(w tree.ResolvedWrite, hits string) {
		t.Helper()
		r, err := doc.Derive(&derive.Change{Before: s, Writes: []tree.ResolvedWrite{w}})
		if err != nil {
			t.Fatal(err)
		}
		s.apply(r, nil)
		if n := s.Root.Get(tree.MustParsePath("hits")); n.JSON() != hits {
			t.Errorf("%s hits after a write at %s, want %s", n.JSON(), w.Path, hits)
		}
	}
	do(put("msgs/short", text(derive.MaxText-2)), "1")
	do(put("msgs/long", text(derive.MaxText-1)), "1")
	do(put("msgs/long/n", `1`), "1")
	if s.bytes > derive.MaxText {
		t.Errorf("%d bytes were read", s.bytes)
	}
	do(put("msgs/short/n", `1`), "1")
	do(put("msgs/long/text", `"x"`), "2")
	do(put("msgs/short/text", text(derive.MaxText)[8:derive.MaxText+8]+`x"`), "1")
	do(put("msgs/short", `null`), "1")
}

// TestEvaluates: an update of many paths is looked at outside of the committer if expressions look
// at their nodes.
func TestEvaluates(t *testing.T) {
	doc := parse(t, `"plain": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"},
		"where": {"count": "/msgs/$m", "to": "/hits", "where": "data.child('n').val() == 1"},
		"to": {"count": "/notes/$n/by", "to": "/by/{data.val()}"},
		"field": {"map": "/cards/$c", "to": "/copies/$c", "value": {"a": "= data.child('a').val()", "b": 1}}`)
	for path, want := range map[string]bool{
		"groups/g/members/u": false, "users/u/groups/g": false, "msgs": false, "other/x": false,
		"msgs/m": true, "msgs/m/n": true, "notes/n/by": true, "notes/n/text": false, "cards/c/a/b": true,
	} {
		if got := doc.Evaluates(tree.MustParsePath(path)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
