package derive_test

import (
	"slices"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// vanished returns a target of writes that rules are not asked about, as it is not part of a result. One that
// says of a place what follows may be part of the write of that place.
func vanished(list []naive, writes []tree.ResolvedWrite, r *derive.Result) string {
	if r.Unkept != nil {
		r = r.Unkept
	}
	for _, w := range writes {
		there := slices.ContainsFunc(r.Writes, func(o tree.ResolvedWrite) bool { return o.Target == w.Target })
		if !there && !slices.ContainsFunc(list, func(d naive) bool {
			keys := slices.Collect(w.Path.Keys())
			return d.target != nil && len(keys) > len(d.target) && d.concerns(keys)
		}) {
			return w.Target.String()
		}
	}
	return ""
}

// While a definition is built, a client is not refused that says of a place what is right when it is
// built: what follows so far is there instead.
func TestEarlyClaims(t *testing.T) {
	doc := parse(t, `"inverse": {"map": "/groups/$g/members/$u", "to": "/users/$u/groups/$g"}, "members": {"count": "/groups/$g/members/$u", "to": "/sizes/$g"}`)
	s := state{World: rulestest.World{Root: tree.MustParseNode(`{"groups":{"g":{"members":{"bob":true,"cat":true}}},"sizes":{"g":1},"users":{"bob":{"groups":{"g":true}}}}`)}}
	for name, c := range map[string]struct {
		writes []tree.ResolvedWrite
		behind bool
		want   string // what was sent | what follows, or "refused"
	}{
		"a node that building has not come to": {[]tree.ResolvedWrite{put("groups/g/members/ana", "true"), put("sizes/g", "3"), put("users/ana/groups/g", "true")}, true,
			"/groups/g/members/ana true /sizes/g 1 | /users/ana/groups/g true"},
		"one that it has come to": {[]tree.ResolvedWrite{put("groups/g/members/ana", "true"), put("sizes/g", "3")}, false,
			"/groups/g/members/ana true /sizes/g 2 | /users/ana/groups/g true"},
		"a removal": {[]tree.ResolvedWrite{put("groups/g/members/cat", "null"), put("sizes/g", "1"), put("users/cat/groups/g", "null")}, true,
			"/groups/g/members/cat null /sizes/g 1 | /users/cat/groups/g null"},
		"a place alone":     {[]tree.ResolvedWrite{put("users/cat/groups/g", "true")}, true, "/users/cat/groups/g null"},
		"a priority":        {[]tree.ResolvedWrite{priority("sizes/g", "5")}, true, "/sizes/g/.priority null"},
		"above a place":     {[]tree.ResolvedWrite{put("sizes", `{"g":2,"h":0}`)}, true, `/sizes {"g":1}`},
		"what cannot be":    {[]tree.ResolvedWrite{put("groups/g/members/ana", "true"), put("users/ana/groups/g", "5")}, true, "refused"},
		"a leaf above them": {[]tree.ResolvedWrite{put("sizes", "2")}, true, "refused"},
	} {
		change := &derive.Change{Before: s, Writes: c.writes, Behind: func(*derive.Definition, tree.Path) (behind, asked bool) { return c.behind, true }}
		r, err := doc.Derive(change)
		if c.want == "refused" {
			refusal(t, err)
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if got := written(r); got != c.want || !r.Progress {
			t.Errorf("%s: %s, want %s; progress %t", name, got, c.want, r.Progress)
		}
	}
	// When it is built, that is refused.
	_, err := doc.Derive(&derive.Change{Before: s, Writes: []tree.ResolvedWrite{put("users/cat/groups/g", "true")}, Behind: func(*derive.Definition, tree.Path) (behind, asked bool) { return false, false }})
	refusal(t, err)
}
