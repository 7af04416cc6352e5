package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A block is a fenced block of a page. The word behind its fence is its language; the words
// after that are for the test that runs it (docs/testing.md, Documentation).
type block struct {
	page, language, words string
	line                  int
	text                  string
	follows               bool // nothing but an empty line is between it and the block before it
}

var fence = pattern("^( *)```(.*)$")

// blocksOf returns the fenced blocks of a Markdown file, in order.
func blocksOf(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	indent, closed := "", -1
	for i, line := range strings.Split(string(text), "\n") {
		switch m := fence().FindStringSubmatch(line); {
		case open == nil && m != nil:
			language, words, _ := strings.Cut(strings.TrimSpace(m[2]), " ")
			open = &block{page: page, language: language, words: words, line: i + 1, follows: closed >= 0}
			indent = m[1]
		case open != nil && m != nil && m[2] == "":
			blocks = append(blocks, *open)
			open, closed = nil, i
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case strings.TrimSpace(line) != "":
			closed = -1
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block has no end", page, open.line)
	}
	return blocks
}

// argument returns what follows NAME= in the words behind a fence, up to the next space.
func (b block) argument(name string) string {
	for word := range strings.FieldsSeq(b.words) {
		if value, ok := strings.CutPrefix(word, name+"="); ok {
			return value
		}
	}
	return ""
}

var fileLine = pattern(`^(?://|#|<!--) ([\w./-]+\.\w+)\b`)

// file returns the name under which a reader saves the block: file=NAME, or the name in a
// comment in its first line.
func (b block) file() string {
	if name := b.argument("file"); name != "" {
		return name
	}
	if m := fileLine().FindStringSubmatch(b.text); m != nil && b.language != "sh" {
		return m[1]
	}
	return ""
}

// runElsewhere are the pages whose blocks other tests run, all of them, and those tests. Each
// of these fails at a block that it does not know.
var runElsewhere = map[string]string{
	"docs/tutorial-browser.md":     "client-js/test/browser/tutorial.test.ts",
	"docs/tutorial-node.md":        "client-js/test/package/tutorial.test.ts",
	"docs/frameworks.md":           "client-js/test/frameworks/rooms.test.ts",
	"docs/tutorial-go.md":          "sdk-go/tutorial_test.go",
	"docs/models/chat.md":          "client-js/test/models/tutorials.test.ts",
	"docs/models/im.md":            "client-js/test/models/tutorials.test.ts",
	"docs/models/msgy.md":          "client-js/test/models/tutorials.test.ts",
	"docs/models/org.md":           "client-js/test/models/tutorials.test.ts",
	"docs/models/owner-storage.md": "client-js/test/models/tutorials.test.ts",
	"docs/models/social.md":        "client-js/test/models/tutorials.test.ts",
	"docs/protocol.md":             "server/protocol_docs_test.go",
	"client-js/README.md":          "client-js/test/package/readme.test.ts",
	"sdk-go/README.md":             "sdk-go/readme_test.go",
}

// documents are the Markdown files that users read.
func documentPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "client-js/*.md", "sdk-go/*.md", "site/*.md"} {
		found, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			pages = append(pages, filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../"))))
		}
	}
	slices.Sort(pages)
	return pages
}

// TestBlocksHaveTests: every page is in nav.json, and a test runs or checks each of its blocks.
func TestBlocksHaveTests(t *testing.T) {
	nav, err := os.ReadFile("../../site/nav.json")
	if err != nil {
		t.Fatal(err)
	}
	pages := documentPages(t)
	for _, page := range pages {
		if page != "site/index.md" && !strings.Contains(string(nav), `"`+page+`"`) {
			t.Errorf("%s is not in site/nav.json, so the site lacks it", page)
		}
		if runElsewhere[page] != "" {
			continue // its test knows
		}
		for _, b := range blocksOf(t, page) {
			if problem := b.problem(); problem != "" {
				t.Errorf("%s:%d: %s; docs/testing.md, Documentation, says how blocks are run", page, b.line, problem)
			}
		}
	}
	for page, test := range runElsewhere {
		text, err := os.ReadFile(filepath.Join("../..", test))
		if err != nil {
			t.Error(err)
		}
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if folder := filepath.Dir(page); folder == "docs/models" {
			name = folder // the test lists its files
		}
		if !slices.Contains(pages, page) || !strings.Contains(string(text), name) {
			t.Errorf("%s does not run %s", test, page)
		}
	}
}

// problem says why no test runs or checks a block, "" if one does.
func (b block) problem() string {
	reason, example := strings.CutPrefix(b.words, "example:")
	switch {
	case example && strings.TrimSpace(reason) == "":
		return "an example that is not run says why: sh example: REASON"
	case example, b.language == "sh", b.language == "json":
		return ""
	case b.language == "":
		return "the block has no language; text is for output and drawings"
	case checkers[b.language] != nil:
		return ""
	case slices.Contains([]string{"js", "ts", "go", "html"}, b.language) && b.file() == "":
		return "code is run as a file of the page: its first line is a comment with the name of the file"
	case slices.Contains([]string{"js", "ts", "go", "html"}, b.language):
		return ""
	}
	return "no test knows the language " + b.language
}
