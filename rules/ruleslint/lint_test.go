package ruleslint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/rules"
)

func lint(t *testing.T, src string) []string {
	t.Helper()
	rs, err := rules.Parse(src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	warnings, err := Lint(rs)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, w := range warnings {
		list = append(list, fmt.Sprintf("%d:%d %s %s", w.Pos.Line, w.Pos.Col, w.Code, w.Rule))
	}
	return list
}

func TestLint(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{`{"a": {".read": "auth.uid == 'x'", ".write": false}}`, nil},

		{`{"a": {".read": "auth != null", "$b": {".limit": 10}}}`, nil},
		{`{"a": {".limit": 10, "b": {".read": "auth != null"}}}`, []string{"1:28 idle-limit /a/.limit"}},
		{`{".read": true}`, []string{"1:21 open-root /.read"}},
		{`{".write": "auth != null"}`, []string{"1:22 open-root /.write"}},
		{`{".write": "auth.token.admin == true"}`, nil},

		{`{"a": {".read": true, "b": {".read": "auth != null"}}}`, []string{"1:48 dead-rule /a/b/.read"}},
		{`{"a": {".read": "auth != null", "b": {".read": true}}}`, nil},

		{`{"a": {".validate": "newData.isString()"}}`, []string{"1:31 unreachable-validate /a/.validate"}},
		{`{"a": {".write": false, ".validate": "newData.isString()"}}`, []string{"1:48 unreachable-validate /a/.validate"}},
		{`{"a": {".validate": "newData.isString()", "b": {".write": "auth != null"}}}`, nil},
		{`{"a": {".validate": false}}`, nil},

		{`{".write": "auth.uid == 'x'", "$k": {".validate": "newData.isString()"}, "lit": {}}`, []string{"1:84 shadowed /lit"}},
		{`{".write": "auth.uid == 'x'", "$k": {".validate": false}, "lit": {}}`, nil},
		{`{"$k": {".read": "auth != null"}, "lit": {".write": "auth != null"}}`, []string{"1:45 shadowed /lit"}},
		{`{"$k": {".read": "auth != null"}, "lit": {"x": {".read": "auth != null"}}}`, nil},

		{`{"a": {".read": "query.orderByChild == 'x'"}}`, []string{"1:28 missing-index /a/.read"}},
		{`{"a": {".read": "query.orderByChild == 'x'", ".indexOn": ["x"]}}`, nil},
		{`{"a": {".read": "query.orderByChild == 'x'", ".indexOn": "/x/"}}`, nil},
		{`{"a": {".read": "query.orderByChild == 'x/y'", ".indexOn": ["z", "x//y"]}}`, nil},
		{`{".read": "query.orderByChild == 'x'", ".indexOn": "x"}`, nil},
		{`{"a": {".read": "query.orderByValue", "$b": {".indexOn": ".value"}}}`, nil},

		{`{"a": {".read": "true || auth != null"}}`, []string{"1:27 always-true /a/.read"}},
		{`{"a": {".read": "auth != null && 1 == 2"}}`, []string{"1:27 never-true /a/.read"}},
		{`{"a": {".read": "auth.uid == 'a' && auth.uid == 'b'"}}`, []string{"1:27 never-true /a/.read"}},
		{`{"a": {".read": "data.exists() && !data.exists()"}}`, []string{"1:27 never-true /a/.read"}},
		{`{"a": {".read": "data.child('x').val() == 1 || data.child('x').val() == 2"}}`, nil},
		{`{"$a": {".read": "$a == 1"}}`, []string{"1:29 capture-number /$a/.read"}},
		{`{"$a": {".read": "$a > 1"}}`, []string{"1:29 capture-number /$a/.read"}},
		{`{"$a": {".read": "now == 'x' || $a == 'y'"}}`, []string{"1:29 never-equal /$a/.read"}},
		{`{"a": {".read": "now > 'x' || auth != null"}}`, []string{"1:28 always-fails /a/.read"}},

		{`{"a": {".write": "data.val() != newData.val()", "b": {}}}`, []string{"1:29 object-equality /a/.write"}},
		{`{"a": {".write": "data.val() != newData.val()"}}`, nil},
		{`{"a": {".read": "auth.token.admin == 'true'"}}`, []string{"1:28 token-text /a/.read"}},
		{`{"a": {".read": "auth.token.plan == 'gold'"}}`, nil},
		{`{"a": {".read": "auth.udi == 'x'"}}`, []string{"1:28 unknown-claim /a/.read"}},
		{`{"a": {".read": "auth != null && auth['iud'] == 'x'"}}`, []string{"1:44 unknown-claim /a/.read"}},
		{`{"a": {".read": "auth.tokn.admin == true"}}`, []string{"1:28 unknown-claim /a/.read"}},
		{`{"a": {".read": "auth.email == 'a@b.c'"}}`, []string{"1:28 unknown-claim /a/.read"}},
		{`{"a": {".read": "auth.token.emial == 'a@b.c'"}}`, []string{"1:28 unknown-claim /a/.read"}},
		{`{"a": {".read": "auth.admin == true || auth['uid'] == 'x' || auth.provider == 'anonymous'"}}`, nil},
		{`{"a": {".read": "auth.token.email == 'x' || auth.token.game == 'x' || auth.token.emails == 'x' // lint"}}`, []string{"1:81 unknown-claim /a/.read"}},
		{`{"a": {".write": "newData.exists()", ".validate": "newData.exists() && newData.isString()"}}`, []string{"1:62 validate-exists /a/.validate"}},
		{`{"a": {".read": "auth.uid.matches(/^\\bx(?:y)[(?]$/)"}}`, []string{"1:47 regex-escape /a/.read", "1:51 regex-group /a/.read"}},
		{`{"a": {".read": "auth.uid.matches(/\\d+\\s(a|b)/)"}}`, nil},
	} {
		got := lint(t, `{"rules": `+c.src+`}`)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
	}
}

func TestIgnore(t *testing.T) {
	src := `{"rules": {
		// lint:ignore open-root the whole site is public
		".read": true,
		".write": true, // lint:ignore open-root
		"a": {
			".read": true
		}
	}}`
	want := []string{"6:13 dead-rule /a/.read"}
	if got := lint(t, src); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := lint(t, "// lint:file-ignore dead-rule, open-root\n"+src); len(got) > 0 {
		t.Errorf("got %q in spite of file-ignore", got)
	}
}

// TestCodes holds the list of codes to what the package can say.
func TestCodes(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		if file != "lint.go" && !strings.HasSuffix(file, "_test.go") {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
	}
	for _, c := range Codes {
		if !strings.Contains(text.String(), `"`+c.Code+`"`) {
			t.Errorf("nothing warns with the code %s", c.Code)
		}
	}
}

// TestModels holds the rules of the models to being without warnings, as
// examples should be.
func TestModels(t *testing.T) {
	files, err := filepath.Glob("../../testdata/models/*/rules.json")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d models: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := lint(t, string(text)); len(got) > 0 {
			t.Errorf("%s: %q", file, got)
		}
	}
}
