package derive

import (
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestRefusedPaths: of a document that is refused, everything that its text names is what writes may meet.
func TestRefusedPaths(t *testing.T) {
	for _, c := range []struct {
		definition  string
		meets, free []string
	}{
		{`{"spread": "/a/$k/x", "to": ["/b/$k", {"also": "/c/$k"}]}`, []string{"/a", "/a/1/x", "/b/1", "/c/1/y"}, []string{"/d", "/a/1/y"}},
		{`{"spread": "/a/x.$k/z", "to": "/b/*/z"}`, []string{"/a/x1", "/b/1"}, []string{"/c"}},
		{`{"spread": "/a/{data.child('k').val()}"}`, []string{"/a/1"}, []string{"/b"}},
		{`{"spread": "/a/$k", "to": {"/b/$k": "= data.val()"}}`, []string{"/a/1", "/b/1"}, []string{"/c"}},
		{`{"spread": "/a/$/x", "to": "/b/$k-y/x"}`, []string{"/a/1/y", "/b/1/y"}, []string{"/c"}},
		{`{"spread": true}`, []string{"/a"}, nil},
	} {
		d := ParseStored(`{"format": "` + Format + `", "define": {"d": ` + c.definition + `}}`)
		if d.Refused() == nil {
			t.Fatalf("%s is accepted", c.definition)
		}
		refuses := func(path string) bool {
			w := tree.ResolvedWrite{Target: tree.Target{Path: tree.MustParsePath(path)}}
			_, err := d.Derive(&Change{Writes: []tree.ResolvedWrite{w}})
			return err != nil
		}
		for _, path := range c.meets {
			if !refuses(path) {
				t.Errorf("%s: a write to %s is let through", c.definition, path)
			}
		}
		for _, path := range c.free {
			if refuses(path) {
				t.Errorf("%s: a write to %s is refused", c.definition, path)
			}
		}
	}
}
