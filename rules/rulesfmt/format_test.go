package rulesfmt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
)

// TestFormat runs testdata: the first part of a file is formatted to the second.
func TestFormat(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src, want, _ := strings.Cut(string(text), "----\n")
		got, err := Format(src, lang.Firebase)
		if err != nil || got != want {
			t.Errorf("%s: got\n%s\nwant\n%s\n(%v)", file, got, want, err)
		}
		checkFormat(t, src)
	}
}

// checkFormat holds Format to its promises: a second time changes nothing, all
// comments stay, and the document means the same.
func checkFormat(t *testing.T, src string) {
	t.Helper()
	once, err := Format(src, lang.Firebase)
	if err != nil {
		t.Errorf("Format(%q): %v", src, err)
		return
	}
	if twice, err := Format(once, lang.Firebase); err != nil || twice != once {
		t.Errorf("formatting %q again:\n%s\nwas\n%s\n(%v)", src, twice, once, err)
	}
	before, after := parse(t, src), parse(t, once)
	if !equal(&before.Root, &after.Root, "") {
		t.Errorf("Format(%q) changed the meaning:\n%s", src, once)
	}
	if a, b := comments(before), comments(after); a != b {
		t.Errorf("Format(%q) has the comments\n%s\nwant\n%s", src, b, a)
	}
}

func parse(t *testing.T, src string) *jsonc.Doc {
	t.Helper()
	doc, err := jsonc.Parse(src)
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return doc
}

// comments returns how many comments a document has, with their texts sorted by
// nothing: their order may change where one stood inside a property.
func comments(doc *jsonc.Doc) string {
	counts := map[string]int{}
	count := func(e hujson.Extra) {
		for _, c := range parseExtra(e).all() {
			counts[c]++
		}
	}
	for v := range doc.Root.All() {
		count(v.BeforeExtra)
		count(v.AfterExtra)
		switch x := v.Value.(type) {
		case *hujson.Object:
			count(x.AfterExtra)
		case *hujson.Array:
			count(x.AfterExtra)
		}
	}
	text, _ := json.Marshal(counts)
	return string(text)
}

// equal compares documents. Of rules the syntax trees count.
func equal(a, b *hujson.Value, key string) bool {
	switch x := a.Value.(type) {
	case *hujson.Object:
		y, ok := b.Value.(*hujson.Object)
		if !ok || len(x.Members) != len(y.Members) {
			return false
		}
		for i := range x.Members {
			key := str(&x.Members[i].Name)
			if key != str(&y.Members[i].Name) || !equal(&x.Members[i].Value, &y.Members[i].Value, key) {
				return false
			}
		}
		return true
	case *hujson.Array:
		y, ok := b.Value.(*hujson.Array)
		if !ok || len(x.Elements) != len(y.Elements) {
			return false
		}
		for i := range x.Elements {
			if !equal(&x.Elements[i], &y.Elements[i], "") {
				return false
			}
		}
		return true
	}
	if s, isText := jsonc.Str(a); isText {
		u, alsoText := jsonc.Str(b)
		if x, err := lang.Parse(s, lang.Firebase); err == nil && isRule(key) {
			y, err := lang.Parse(u, lang.Firebase)
			return err == nil && lang.Equal(x, y)
		}
		return alsoText && s == u // whatever escapes it has
	}
	return string(jsonc.Strict(*a)) == string(jsonc.Strict(*b))
}

func TestFormatKeepsMeaning(t *testing.T) {
	for _, src := range documents(t) {
		if _, err := jsonc.Parse(src); err == nil {
			checkFormat(t, src)
		}
	}
}

// documents returns the rules of the vectors and of the models.
func documents(t testing.TB) []string {
	var list []string
	files, err := filepath.Glob("../../testdata/models/*/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	text, err := os.ReadFile("../../testdata/vectors/rules-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Rules json.RawMessage }
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var s string
		if json.Unmarshal(c.Rules, &s) != nil {
			s = string(c.Rules)
		}
		list = append(list, s, spread(s))
	}
	return list
}

// spread returns a document with line breaks in its expressions and comments
// around its tokens.
func spread(s string) string {
	return strings.NewReplacer("&& ", "&&\n ", "|| ", "||\n\t", "? ", "\n? ", ",\"", ", // c\n\"", "{\"", "{ /* o */\n\n\"").Replace(s)
}

func FuzzFormat(f *testing.F) {
	for i, src := range documents(f) {
		if i%10 == 0 {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		if _, err := jsonc.Parse(src); err == nil && len(src) < 1<<16 {
			checkFormat(t, src)
		}
	})
}
