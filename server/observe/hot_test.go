package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/sync/trace"
	"github.com/dogwooddb/dogwood/tree"
)

// TestHotPaths: a few hot paths among very many cold ones are found, whatever the
// order.
func TestHotPaths(t *testing.T) {
	h := newHot()
	write := func(path string) {
		h.tell("ns", trace.Operation{Name: trace.OpWrite, Path: tree.MustParsePath(path), Bytes: 10})
	}
	for i := range 20_000 {
		write(fmt.Sprintf("cold/k%d", i))
		if i%4 == 0 {
			write("hot/one")
		}
		if i%8 == 0 {
			write(fmt.Sprintf("messages/room/-OAbcdefghijklmno%03d", i%1000))
		}
	}
	h.tell("ns", trace.Operation{Name: trace.OpConnect})
	if len(h.paths) != hotPaths || len(h.least) != hotPaths {
		t.Errorf("%d and %d paths are counted, want %d", len(h.paths), len(h.least), hotPaths)
	}
	got := h.tick(2)
	if len(got) != hotShown || got[0].Path != "/hot/one" || got[1].Path != "/messages/room/*" {
		t.Fatalf("the hottest paths are %+v", got)
	}
	if one := got[0]; one.Writes < 2500 || one.Writes > 2550 || one.Bytes < 25_000 || one.Reads != 0 {
		t.Errorf("5,000 writes in 2 s are told as %+v", one)
	}
	var rest []HotPath
	for range 40 {
		rest = h.tick(1)
	}
	if rest[0].Writes > 1 {
		t.Errorf("after 40 s without operations: %+v", rest[0])
	}
}

func TestCollapse(t *testing.T) {
	for path, want := range map[string]string{
		"":                             "/",
		"a/b":                          "/a/b",
		"a/-OAbcdefghijklmnopqr/b":     "/a/*/b",
		"a/-OAbcdefghijklmnopq/b":      "/a/-OAbcdefghijklmnopq/b",
		"a/1700000000000":              "/a/*",
		"1/2/3/4/5/6/7/8":              "/*/*/*/*/*/*/…",
		"a/" + strings.Repeat("x", 70): "/a/" + strings.Repeat("x", 64),
	} {
		if got := collapse(tree.MustParsePath(path)); got != want {
			t.Errorf("collapse(%q) = %q, want %q", path, got, want)
		}
	}
}
