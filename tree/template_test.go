package tree

import (
	"errors"
	"strings"
	"testing"
)

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ text, key, path, again string }{
		{"/groups/$key/name", "alpha", "/groups/alpha/name", "/groups/$key/name"},
		{"$key", "a b", "/a b", "/$key"},
		{"//$key//x/$key/", "7", "/7/x/7", "/$key/x/$key"},
	} {
		tmpl, err := ParseTemplate(c.text)
		if err != nil {
			t.Errorf("ParseTemplate(%q): %v", c.text, err)
			continue
		}
		if got := tmpl.Path(c.key); got != MustParsePath(c.path) {
			t.Errorf("%q with %q = %s, want %s", c.text, c.key, got, c.path)
		}
		if got := tmpl.String(); got != c.again {
			t.Errorf("String of %q = %q, want %q", c.text, got, c.again)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	for text, want := range map[string]error{
		"":                                       ErrTemplate,
		"/groups":                                ErrTemplate,
		"/a/$keys":                               ErrTemplate,
		"/a/x$key":                               ErrTemplate,
		"/$key/$id":                              ErrInvalidPath,
		"/$key/a.b":                              ErrInvalidPath,
		"/$key/\x00":                             ErrInvalidPath,
		strings.Repeat("/a", MaxDepth) + "/$key": ErrTooDeep,
	} {
		if tmpl, err := ParseTemplate(text); !errors.Is(err, want) {
			t.Errorf("ParseTemplate(%q) = %v, %v, want %v", text, tmpl, err, want)
		}
	}
}

// FuzzParseTemplate: what is accepted makes the paths that replacing the text
// makes, for any key.
func FuzzParseTemplate(f *testing.F) {
	f.Add("/groups/$key/name", "alpha")
	f.Add("$key//$key/", "7")
	f.Add("/a/$keys", "x")
	f.Fuzz(func(t *testing.T, text, key string) {
		tmpl, err := ParseTemplate(text)
		if err != nil || !ValidKey(key) {
			return
		}
		want, err := ParsePath(strings.ReplaceAll(tmpl.String(), KeyPlaceholder, key))
		if got := tmpl.Path(key); err != nil || got != want {
			t.Errorf("%q with %q = %s, want %s, %v", text, key, got, want, err)
		}
	})
}
