package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are what comments may cite by section, under the word before the
// section sign: "protocol §8.3" is section 8.3 of docs/protocol.md.
var documents = map[string]string{
	"protocol": "docs/protocol.md",
	"REST":     "docs/rest.md",
	"rules":    "docs/rules.md",
	"storage":  "docs/storage.md",
}

// elsewhere are the documents outside of this repository that comments cite.
var elsewhere = []string{"RFC 6455", "RFC 6749", "RFC 7515", "RFC 9110"}

// TestCitations finds every section sign in comments and fails if it does not
// lead to a heading.
func TestCitations(t *testing.T) {
	sections := readSections(t)
	found := 0
	for _, path := range repositoryFiles(t) {
		comments, err := readComments(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comments {
			found += strings.Count(c.text, "§")
			for _, bad := range badCitations(c.text, sections) {
				t.Errorf("%s:%d: %s", filepath.ToSlash(path), c.line+bad.line, bad.msg)
			}
		}
	}
	if found == 0 {
		t.Error("no file has a citation: is ../.. the repository?")
	}
}

// repositoryFiles returns the paths of all files but those that npm and git
// keep.
func repositoryFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case d != nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || strings.HasPrefix(d.Name(), "readme-")):
			return fs.SkipDir // a readme- directory is another test's, and may go at any moment
		case err != nil:
			return err
		case d.Type().IsRegular():
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestOwnCitations: in one of the documents, a section sign that names no other
// one means a section of the document itself.
func TestOwnCitations(t *testing.T) {
	sections := readSections(t)
	citation := regexp.MustCompile(`(\S*)\s*§(\d+(?:\.\d+)*)`)
	for name := range sections {
		text, err := os.ReadFile(filepath.Join("../..", documents[name]))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range citation.FindAllStringSubmatch(string(text), -1) {
			before := strings.TrimLeft(m[1], `"([`)
			if _, other := documents[before]; other || strings.HasSuffix(before, ".md") {
				continue
			}
			if !sections[name][m[2]] {
				t.Errorf("%s cites its §%s, which it does not have", documents[name], m[2])
			}
		}
	}
}

// sectionsOf holds the section numbers of each document, by its name in
// citations.
type sectionsOf map[string]map[string]bool

var heading = pattern(`(?m)^#{2,6} (\d+(?:\.\d+)*)\.? `)

func readSections(t *testing.T) sectionsOf {
	t.Helper()
	all := make(sectionsOf)
	for name, file := range documents {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = make(map[string]bool)
		for _, m := range heading().FindAllSubmatch(text, -1) {
			all[name][string(m[1])] = true
		}
	}
	return all
}

// A comment is a run of lines without the marks that make them a comment.
type comment struct {
	line int
	text string
}

// marks are what a line of a comment begins with.
var marks = pattern(`(?m)^[ \t]*(?://|/?\*+)[ \t]?`)

// readComments returns the comments of a Go file. A file of TypeScript or
// JavaScript is one comment as a whole, since nothing else in it has section
// signs.
func readComments(path string) (list []comment, err error) {
	switch filepath.Ext(path) {
	case ".ts", ".mjs":
		text, err := os.ReadFile(path)
		return []comment{{1, marks().ReplaceAllString(string(text), "")}}, err
	case ".go":
	default:
		return nil, nil
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range file.Comments {
		from, to := files.Position(group.Pos()), files.Position(group.End())
		text := string(src[from.Offset:to.Offset])
		list = append(list, comment{from.Line, marks().ReplaceAllString(text, "")})
	}
	return list, nil
}

// A badCitation is a section sign that leads nowhere.
type badCitation struct {
	line int // of the comment, from 0
	msg  string
}

var (
	sectionNumber = pattern(`^\d+(?:\.\d+)*`)
	lastWords     = pattern(`(?:([A-Za-z]+) )?([A-Za-z0-9]+)$`)
	enumeration   = pattern(`§[\d.]+(?:,|,? and| to| or)$`)
)

// badCitations returns the citations of a text that name no document, or a
// section that the document does not have. "protocol §2, §4 and §5" cites one
// document three times.
func badCitations(text string, sections sectionsOf) (list []badCitation) {
	document := ""
	for rest, at := text, 0; ; {
		i := strings.Index(rest, "§")
		if i < 0 {
			return list
		}
		at += i
		before := strings.Join(strings.Fields(text[:at]), " ")
		rest = rest[i+len("§"):]
		at += len("§")
		number := sectionNumber().FindString(rest)
		if !enumeration().MatchString(before) {
			document = citedDocument(before)
		}
		if msg := checkCitation(document, number, sections); msg != "" {
			list = append(list, badCitation{strings.Count(text[:at], "\n"), msg})
		}
	}
}

// citedDocument returns the document that a text names in its last words, "" if
// it names none.
func citedDocument(text string) string {
	words := lastWords().FindStringSubmatch(text)
	if words == nil {
		return ""
	}
	if _, known := documents[words[2]]; known {
		return words[2]
	}
	if words[1] != "" {
		return words[1] + " " + words[2]
	}
	return words[2]
}

// checkCitation says what is wrong with a citation, "" if nothing is.
func checkCitation(document, number string, sections sectionsOf) string {
	for _, known := range elsewhere {
		if document == known && number != "" {
			return ""
		}
	}
	file, known := documents[document]
	switch {
	case !known:
		return fmt.Sprintf("§%s names no document: write protocol §, REST §, rules § or storage §", number)
	case number == "":
		return fmt.Sprintf("%s § has no number", document)
	case sections[document][number]:
		return ""
	}
	return fmt.Sprintf("%s §%s: %s has no such section", document, number, file)
}

func TestBadCitations(t *testing.T) {
	sections := sectionsOf{"protocol": {"2": true, "5": true, "5.4": true}}
	tests := []struct {
		text string
		want string // what is wrong in which line, "" for nothing
	}{
		{"(protocol §5.4).", ""},
		{"protocol §2, §5 and §5.4 to §5", ""},
		{"as protocol\n§5. It", ""},
		{"(RFC 6455 §5.2)", ""},
		{"one\nprotocol §5.5", "1: protocol §5.5: docs/protocol.md has no such section"},
		{"protocol §2, §6", "0: protocol §6: docs/protocol.md has no such section"},
		{"protocol § of it", "0: protocol § has no number"},
		{"see (§5)", "0: §5 names no document: write protocol §, REST §, rules § or storage §"},
		{"RFC 1 §5", "0: §5 names no document: write protocol §, REST §, rules § or storage §"},
		{"§5 protocol", "0: §5 names no document: write protocol §, REST §, rules § or storage §"},
		{"protocol §5. Also §2", "0: §2 names no document: write protocol §, REST §, rules § or storage §"},
	}
	for _, test := range tests {
		var got []string
		for _, bad := range badCitations(test.text, sections) {
			got = append(got, fmt.Sprintf("%d: %s", bad.line, bad.msg))
		}
		if strings.Join(got, "\n") != test.want {
			t.Errorf("badCitations(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}
