package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestLinks follows the links between the documents of this repository: each
// leads to a file, and behind # to a heading or an anchor in it.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	found := 0
	for _, path := range repositoryFiles(t) {
		if filepath.Ext(path) != ".md" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(withoutCode(string(text)), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			if !leadsSomewhere(path, m[1]) {
				t.Errorf("%s links to %s, which does not exist", filepath.ToSlash(path), m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no document has a link: is ../.. the repository?")
	}
}

// leadsSomewhere reports whether the target of a link in a file exists.
func leadsSomewhere(from, link string) bool {
	file, anchor, hasAnchor := strings.Cut(link, "#")
	path := from
	if file != "" {
		path = filepath.Join(filepath.Dir(from), filepath.FromSlash(file))
	}
	if !hasAnchor {
		_, err := os.Stat(path)
		return err == nil
	}
	text, err := os.ReadFile(path)
	return err == nil && hasAnchorAt(string(text), anchor)
}

var headingLine = pattern(`(?m)^#{1,6} +(.+?)[ \t]*$`)

func hasAnchorAt(text, anchor string) bool {
	if strings.Contains(text, `<a id="`+anchor+`">`) {
		return true
	}
	for _, m := range headingLine().FindAllStringSubmatch(text, -1) {
		if anchorOf(m[1]) == anchor {
			return true
		}
	}
	return false
}

// anchorOf returns the anchor of a heading as GitHub makes it: in lower case, with
// hyphens for spaces, without punctuation.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// withoutCode returns a document without its blocks and spans of code.
func withoutCode(text string) string {
	text = regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(text, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "")
}

func TestAnchorOf(t *testing.T) {
	for heading, want := range map[string]string{
		"4.2 A conversation":     "42-a-conversation",
		"The `rule` that denied": "the-rule-that-denied",
		"Addresses, and limits":  "addresses-and-limits",
	} {
		if got := anchorOf(heading); got != want {
			t.Errorf("anchorOf(%q) = %q, want %q", heading, got, want)
		}
	}
}
