package ruleslint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
)

// Those with true hold for a caller without auth, because null differs from other values.
func TestNullDiffers(t *testing.T) {
	for src, want := range map[string]bool{
		`auth.uid != data.child('banned').val()`:                     true,
		`data.child('banned').val() !== auth.uid`:                    true,
		`auth.provider != 'anonymous'`:                               true,
		`!(auth.uid == data.child('banned').val())`:                  true,
		`data.exists() && auth.uid != 'eve'`:                         true,
		`auth == null && auth.uid != 'eve'`:                          true,
		`auth != null && auth.uid != data.child('banned').val()`:     false,
		`auth.uid != data.child('banned').val() && auth.uid != null`: false,
		`auth == null || auth.uid != 'eve'`:                          false,
		`auth != null && auth.token.banned != true`:                  false,
		`auth != null`: false,
		`data.child('a').val() != data.child('b').val()`:                     false,
		`root.child('users').child(auth.uid).val() != data.child('x').val()`: false,
	} {
		text, err := json.Marshal(src)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rules.Parse(fmt.Sprintf(`{"rules":{"rooms":{"$room":{".read":%s}}}}`, text))
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		warnings, err := Lint(r)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(warnings, func(w Warning) bool { return w.Code == "null-differs" })
		if got != want {
			t.Errorf("%s: warned %t, want %t: %v", src, got, want, warnings)
		}
	}
}

// nullWarnings returns the comparisons that a rule of /rooms/$room is warned of.
func nullWarnings(t *testing.T, kind, src string) (list []string) {
	t.Helper()
	text, err := json.Marshal(src)
	if err != nil {
		t.Fatal(err)
	}
	return nullWarningsOf(t, fmt.Sprintf(`{"rules":{"rooms":{"$room":{%q:%s}}}}`, kind, text))
}

func nullWarningsOf(t *testing.T, doc string) (list []string) {
	t.Helper()
	r, err := rules.Parse(doc)
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	found, err := Lint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range found {
		if w.Code == "null-equal" {
			list = append(list, w.Msg)
		}
	}
	return list
}

// Each of these holds because null equals null, for some request.
func TestNullEqual(t *testing.T) {
	for _, src := range []string{
		`data.child('owner').val() == auth.uid`,
		`data.child('owner').val() === auth.uid`,
		`auth.uid == data.child('owner').val()`,
		`!(data.child('owner').val() != auth.uid)`,
		`!!(data.child('owner').val() === auth['uid'])`,
		`(data.child('owner').val() == auth.uid) == true`,
		`(data.child('owner').val() != auth.uid) == false`,
		`(data.child('owner').val() == auth.uid) != data.child('closed').exists()`,
		`auth != null || data.child('owner').val() == auth.uid`,
		`auth == null && data.child('owner').val() == auth.uid`,
		`data.exists() && data.child('owner').val() == auth.uid`,
		`!data.exists() || data.child('owner').val() == auth.uid`,
		`data.exists() ? data.child('owner').val() == auth.uid : auth != null`,
		`auth == null ? data.child('owner').val() == auth.uid : false`,
		`data.child('owner').val() == (data.child('a').exists() ? auth.uid : null)`,
		`(data.child('owner').val() == auth.uid ? 1 : 0) == 1`,
		`(data.child('owner').val() != auth.uid ? 0 : 1) == 1`,
		`root.child(data.child('owner').val() == auth.uid ? 'a' : 'b').exists()`,
		`auth != null && auth.token.org == data.child('org').val()`,
		`auth != null && auth.token['org'] == data.child('org').val()`,
		`auth != null && auth.token.a.b == data.child('org').val()`,
		`auth != null && auth[$room] == data.child('org').val()`,
		`auth != null && root.child('users').child(auth.uid).child('org').val() == data.child('org').val()`,
		`auth != null && root.child('a').val() == root.child('b').val()`,
		`data.getPriority() == auth.uid`,
		`data.exists() && data.getPriority() == auth.uid`,
		`root.child('rooms/' + $room + '/owner').val() == auth.uid`,
		`root.child('rooms/' + $room + 'x').exists() && data.child('owner').val() == auth.uid`,
		`data.child('owners').exists() && data.child('owner').val() == auth.uid`,
		`data.child('other').isString() && data.child('owner').val() == auth.uid`,
		`!data.child('owner').exists() && data.child('owner').val() == auth.uid`,
		`data.hasChildren() && data.child('owner').val() == auth.uid`,
		`data.hasChildren([]) && data.child('owner').val() == auth.uid`,
		`auth.uid != 'x' && data.child('owner').val() == auth.uid`,
		`(auth != null || data.child('open').val() == true) && data.child('owner').val() == auth.uid`,
		`data.child('owner').val() == auth.uid && data.child('owner').val() == root.child('admin').val()`,
	} {
		for _, kind := range []string{".read", ".write"} {
			if got := nullWarnings(t, kind, src); len(got) == 0 {
				t.Errorf("%s %s: no warning", kind, src)
			}
		}
	}
	for _, src := range []string{
		`newData.child('owner').val() == auth.uid`,
		`!data.exists() && newData.child('owner').val() == auth.uid`,
		`newData.exists() && newData.child('owner').val() == auth.uid`,
		`newData.parent().child('owner').val() == auth.uid`,
		`auth != null && newData.child('a').val() == data.child('b').val()`,
	} {
		if got := nullWarnings(t, ".write", src); len(got) == 0 {
			t.Errorf(".write %s: no warning", src)
		}
	}
	for _, src := range []string{
		`query.orderByChild == 'owner' && query.equalTo == auth.uid`,
		`query.startAt == auth.uid`,
	} {
		if got := nullWarnings(t, ".read", src); len(got) == 0 {
			t.Errorf(".read %s: no warning", src)
		}
	}
}

// In each of these one side cannot be null where the comparison is needed.
func TestNullEqualExcluded(t *testing.T) {
	for _, src := range []string{
		`auth != null && data.child('owner').val() == auth.uid`,
		`data.child('owner').val() == auth.uid && auth != null`,
		`auth.uid != null && data.child('owner').val() == auth.uid`,
		`null !== auth && data.child('owner').val() == auth.uid`,
		`!(auth == null) && data.child('owner').val() == auth.uid`,
		`!(auth == null || data.child('owner').val() != auth.uid)`,
		`auth == null ? false : data.child('owner').val() == auth.uid`,
		`(auth != null ? data.child('owner').val() == auth.uid : false)`,
		`(auth != null) == true && data.child('owner').val() == auth.uid`,
		`auth.token.admin == true && data.child('owner').val() == auth.uid`,
		`auth.token.email.matches(/@a/) && data.child('owner').val() == auth.uid`,
		`auth.token.level > 5 && data.child('owner').val() == auth.uid`,
		`auth.uid == $room && data.child('owner').val() == auth.uid`,
		`data.child('owner').exists() && data.child('owner').val() == auth.uid`,
		`data.child('owner').val() != null && data.child('owner').val() == auth.uid`,
		`data.child('owner').isString() && data.child('owner').val() == auth.uid`,
		`data.hasChild('owner') && data.child('owner').val() == auth.uid`,
		`data.hasChildren(['a', 'owner']) && data.child('owner').val() == auth.uid`,
		`data.hasChild('owner/id') && data.child('owner').val() == auth.uid`,
		`root.child('rooms').child($room).child('owner').exists() && data.child('owner').val() == auth.uid`,
		`root.child('rooms/' + $room).hasChild('owner') && data.child('owner').val() == auth.uid`,
		`data.parent().child($room + '/owner').exists() && data.child('owner').val() == auth.uid`,
		`data.child('owner').val().length > 0 && data.child('owner').val() == auth.uid`,
		`root.child('users').child(auth.uid).exists() && data.child('owner').val() == auth.uid`,
		`root.child('users').hasChild(auth.uid) && data.child('owner').val() == auth.uid`,
		`!data.child('owner').exists() || data.child('owner').val() == auth.uid`,
		`data.child('owner').exists() ? data.child('owner').val() == auth.uid : true`,
		`(data.child('owner').exists() ? data.child('owner').val() : 'x') == auth.uid`,
		`auth != null && data.child('owner').val() == auth.uid && root.child('admin').val() == data.child('owner').val()`,
		`root.child('admin').val() == data.child('owner').val() && data.child('owner').val() == auth.uid && auth != null`,
		`data.child('owner').val() != auth.uid`,
		`!(data.child('owner').val() == auth.uid)`,
		`data.child('owner').val() == null`,
		`auth == null`,
		`auth.uid == $room`,
		`auth.uid == 'x'`,
		`data.child('n').val() == 5`,
		`data.exists() == root.child('a').exists()`,
		`auth.token.org != null && auth.token.org == data.child('org').val()`,
		`auth.token.a.b != null && auth.token.a.b == data.child('org').val()`,
		`data.child('n').val() == root.child('n').val() + 1`,
		`false && data.child('owner').val() == auth.uid`,
	} {
		for _, kind := range []string{".read", ".write"} {
			if got := nullWarnings(t, kind, src); len(got) > 0 {
				t.Errorf("%s %s: %q", kind, src, got)
			}
		}
	}
	for _, src := range []string{
		`auth != null && newData.child('owner').val() == data.child('owner').val()`,
		`newData.parent().parent().child('rooms/' + $room + '/a').val() == root.child('rooms').child($room).child('a').val()`,
	} {
		if got := nullWarnings(t, ".write", src); len(got) > 0 {
			t.Errorf(".write %s: %q", src, got)
		}
	}
}

// A .validate is only asked of what exists, by callers whom a .write lets in.
func TestNullEqualInValidate(t *testing.T) {
	for _, c := range []struct {
		doc  string
		want int
	}{
		{`{".write":true,".validate":"newData.child('owner').val() == auth.uid"}`, 1},
		{`{".write":true,"owner":{".validate":"newData.val() == auth.uid"}}`, 0},
		{`{".write":"auth != null",".validate":"newData.child('owner').val() == auth.uid"}`, 0},
		{`{".write":"auth != null",".validate":"newData.child('org').val() == auth.token.org"}`, 1},
		{`{".write":"auth.token.org != null",".validate":"newData.child('org').val() == auth.token.org"}`, 0},
		{`{".write":"auth != null","a":{".write":true},".validate":"newData.child('owner').val() == auth.uid"}`, 1},
		{`{".write":"auth != null","a":{".write":"auth.uid == 'x'"},".validate":"newData.child('owner').val() == auth.uid"}`, 0},
		{`{".write":true,".validate":"newData.child('a').val() == newData.child('b').val()"}`, 0},
		{`{".write":"newData.hasChild('owner')",".validate":"newData.child('owner').val() == auth.uid"}`, 0},
	} {
		if got := nullWarningsOf(t, `{"rules":{"rooms":{"$room":`+c.doc+`}}}`); len(got) != c.want {
			t.Errorf("%s: %q, want %d", c.doc, got, c.want)
		}
	}
}

func TestNullEqualSaysWhatToAdd(t *testing.T) {
	for src, want := range map[string]string{
		`data.child('owner').val() == auth.uid`:                          "data.child('owner').val() and auth.uid may both be null, and null equals null; add auth != null &&",
		`auth != null && data.child('org').val() == auth.token.org`:      "add auth.token.org != null &&",
		`auth != null && data.child('a').val() == root.child('b').val()`: "add data.child('a').exists() &&",
	} {
		got := nullWarnings(t, ".read", src)
		if len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: %q, want %s", src, got, want)
		}
		// What it says mends the rule.
		_, add, _ := strings.Cut(want, "add ")
		if again := nullWarnings(t, ".read", add+" "+src); len(again) > 0 {
			t.Errorf("%s %s: %q", add, src, again)
		}
	}
}

// However a rule is nested, the search ends soon, and says so if it ends early.
func TestNullEqualIsBounded(t *testing.T) {
	src := `data.child('owner').val() == auth.uid`
	for range 25 {
		src = "(auth == null || (data.exists() ? !(" + src + ") : data.child('x').val() == 1) && now > 1)"
	}
	got := nullWarnings(t, ".read", src)
	if len(got) != 1 || !strings.Contains(got[0], "too complex") {
		t.Errorf("%d warnings: %.200q", len(got), got)
	}
	chain := strings.Repeat("auth.uid == data.child('a').val() || ", 400) + "auth.uid != 'x'"
	if got := nullWarnings(t, ".read", chain); len(got) == 0 {
		t.Error("a long chain has no warning")
	}
}
