package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

var allExtensions = lang.Extensions{NewRoot: true, Text: true, Dates: true, Counts: true}

// TestExtensions: each extension has its functions, and a document that does not name it has not.
func TestExtensions(t *testing.T) {
	data := stored{tree.MustParseNode(`{"at":1394071513223,"early":-1,"late":253402300800000,"text":"Redis and Trees","n":"12.5",
		"iso":"2014-03-06T02:05:13.223Z","day":"2014-03-06","list":{"a":1,"b":{"c":1,"d":2},"c":3}}`)}
	for _, c := range []struct {
		extension, rule string
		want            bool
	}{
		{"dates", `data.child('at').val().iso() == '2014-03-06T02:05:13.223Z'`, true},
		{"dates", `data.child('at').val().day() == '2014-03-06' && data.child('at').val().month() == '2014-03'`, true},
		{"dates", `data.child('iso').val().toMillis() == 1394071513223`, true},
		{"dates", `data.child('iso').val().toMillis().iso() == data.child('iso').val()`, true},
		{"dates", `now.iso() == '2017-07-14T02:40:00.000Z' && now.iso().toMillis() == now`, true},
		{"dates", `data.child('early').val().iso() != '' || true`, false}, // it fails
		{"dates", `data.child('late').val().iso() != ''`, false},
		{"dates", `data.child('none').val().iso() != ''`, false},
		{"dates", `data.child('text').val().iso() != ''`, false},
		{"dates", `data.child('day').val().toMillis() > 0`, false},
		{"dates", `data.child('list').val().toMillis() > 0`, false},
		{"counts", `data.child('list').numChildren() == 3 && data.child('list/b').numChildren() == 2`, true},
		{"counts", `data.child('text').numChildren() == 0 && data.child('none').numChildren() == 0`, true},
		{"counts", `root.numChildren() == 8`, true},
		{"text", `data.child('text').val().words().hasAll(['trees', 'redis'])`, true},
		{"text", `data.child('n').val().toNumber() == 12.5 && data.child('text').val().part(' ', 2) == 'Trees'`, true},
		{"text", `data.child('text').val().substring(0, 5) == 'Redis' && data.child('text').val().hash() >= 0`, true},
	} {
		src := `{"rules":{".read":` + quoted(c.rule) + `}}`
		if _, err := Parse(src); err == nil {
			t.Errorf("without an extension: %s", c.rule)
		}
		x, err := lang.ParseExtensions(c.extension)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseWith(src, ParseOptions{Extensions: x})
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if d := check(t, r, &Request{Op: OpRead, Data: data, Now: time.UnixMilli(1_500_000_000_000)}); d.Allow != c.want {
			t.Errorf("%s: %v, want %t", c.rule, d, c.want)
		}
	}
	for _, wrong := range []string{`data.iso() == ''`, `data.val().numChildren() == 1`, `now.numChildren() == 1`, `'a'.iso() == ''`, `auth.uid.iso() == ''`, `now.toMillis() == 1`, `data.numChildren(1) == 1`, `now.iso == ''`} {
		if _, err := ParseWith(`{"rules":{".read":`+quoted(wrong)+`}}`, ParseOptions{Extensions: allExtensions}); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
	if _, err := lang.ParseExtensions("newRoot", "texts"); err == nil || !strings.Contains(err.Error(), `"texts"`) || !strings.Contains(err.Error(), "newRoot, text, dates, counts") {
		t.Errorf("%v", err)
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// TestNumChildrenOfWrites: a rule that bounds the children of a node sees all that a write adds and
// removes, and reads few of them.
func TestNumChildrenOfWrites(t *testing.T) {
	var list strings.Builder
	for i := range 100 {
		fmt.Fprintf(&list, `,"k%03d":1`, i)
	}
	data := stored{tree.MustParseNode(`{"list":{` + list.String()[1:] + `}}`)}
	r, err := ParseWith(`{"rules":{".write":true,"list":{".validate":"newData.numChildren() <= 100","$k":{".validate":"newData.parent().numChildren() <= 100"}}}}`, ParseOptions{Extensions: allExtensions})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{
		`{"list/k000":2}`:                                  true,
		`{"list/new":1}`:                                   false,
		`{"list/new":1,"list/k000":null}`:                  true,
		`{"list/new":1,"list/other":1,"list/k000":null}`:   false,
		`{"list/new/deep":1,"list/k001/x":null}`:           false,
		`{"list/none":null,"list/new":1,"list/k099":null}`: true,
		`{"list":{"a":1}}`:                                 true,
		`{"list":{` + list.String()[1:] + `,"one":1}}`:     false,
	} {
		q := &Request{Op: OpWrite, Data: data, Writes: writes(t, data, true, "/", value)}
		if d := check(t, r, q); d.Allow != want {
			t.Errorf("%.60s: %v, want %t", value, d, want)
		}
	}
}
