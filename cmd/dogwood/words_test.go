package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned are words and phrases that documents do not have, with advice. Spaces match line
// breaks, too.
var banned = map[string]string{
	`couriers?`:                         "writer pool",
	`uptake`:                            "progress",
	`glimpses?`:                         "snapshot",
	`nobody|somebody|everybody`:         "name the client, caller or user",
	`whoever|whomever`:                  "name the client, caller or user",
	`who wants`:                         "name the client, caller or user",
	`for whom`:                          "name the client, caller or user",
	`he|him|his`:                        "they, them, their",
	`of which`:                          "begin another sentence",
	`in the place of`:                   "instead of, replaces",
	`is not to be had|can be had`:       "is not available, is available",
	`comes? up against|came up against`: "reaches, exceeds",
	`befalls?|befell|befallen`:          "happens to",
	`comes? by|came by`:                 "gets, finds",
	`came to`:                           "resulted in",
	`as ever`:                           "as usual",
	`without a word`:                    "without notice",
	`is another one`:                    "is different",
}

// TestBannedWords: the prose of documents is plain English (CONTRIBUTING.md, How we work).
func TestBannedWords(t *testing.T) {
	found := 0
	for _, path := range repositoryFiles(t) {
		if filepath.Ext(path) != ".md" {
			continue
		}
		found++
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range bannedWords(string(text)) {
			t.Errorf("%s:%s", filepath.ToSlash(path), problem)
		}
	}
	if found == 0 {
		t.Error("there are no documents: is ../.. the repository?")
	}
}

// bannedWords returns the banned words of a document, each with its line.
func bannedWords(text string) (problems []string) {
	prose := blankCode(text)
	for _, words := range slices.Sorted(maps.Keys(banned)) {
		for _, at := range phrase(words).FindAllStringIndex(prose, -1) {
			line := 1 + strings.Count(prose[:at[0]], "\n")
			got := strings.Join(strings.Fields(prose[at[0]:at[1]]), " ")
			problems = append(problems, fmt.Sprintf("%d: %q; say: %s", line, got, banned[words]))
		}
	}
	return problems
}

// phrase returns an expression for whole words in any case, over line breaks.
func phrase(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(words, " ", `\s+`) + `)\b`)
}

var code = pattern("(?ms)^[ ]*```.*?^[ ]*```|`[^`]*?`")

// blankCode replaces the blocks and spans of code in a document, but for their line breaks.
func blankCode(text string) string {
	return code().ReplaceAllStringFunc(text, func(s string) string {
		return "`" + strings.Repeat("\n", strings.Count(s, "\n")) + "`"
	})
}

func TestBannedWordsAreFound(t *testing.T) {
	tests := []struct{ text, want string }{
		{"The committer drains the queue.", ""},
		{"This, the other, hers.", ""},
		{"`nobody`\n\n```\nwhoever\n```\n", ""},
		{"one\nNobody waits.", `2: "Nobody"; say: name the client, caller or user`},
		{"`a\nb` it came\nup against a limit", `2: "came up against"; say: reaches, exceeds`},
	}
	for _, test := range tests {
		if got := strings.Join(bannedWords(test.text), "\n"); got != test.want {
			t.Errorf("bannedWords(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// commentWords counts words and phrases that are left in the comments of Go files. The
// counts may only fall: a change that removes some of them lowers the number. Those above 20
// are rounded up to tens, since branches are merged.
var commentWords = map[string]int{
	`couriers?`:                         0,
	`uptake`:                            0,
	`glimpses?`:                         0,
	`nobody`:                            52,
	`somebody`:                          9,
	`everybody`:                         4,
	`whoever|whomever`:                  10,
	`who`:                               110,
	`(?-i:What)`:                        116,
	`he|him|his`:                        4,
	`of which`:                          48,
	`in the place of`:                   5,
	`is not to be had|can be had`:       0,
	`comes? up against|came up against`: 0,
	`befalls?|befell|befallen`:          0,
	`comes? by|came by`:                 6,
	`came to`:                           4,
	`as ever`:                           0,
	`without a word`:                    0,
	`is another one`:                    0,
	`beside`:                            37,
	`hold up|holds up|held up`:          10,
	`for want of`:                       4,
	`what is left`:                      27,
	`what is there`:                     13,
}

// TestCommentWords: comments of Go files have no more words of the list than they had.
func TestCommentWords(t *testing.T) {
	counts := make(map[string]int)
	phrases := make(map[string]*regexp.Regexp)
	for words := range commentWords {
		phrases[words] = phrase(words)
	}
	for _, path := range repositoryFiles(t) {
		if filepath.Ext(path) != ".go" {
			continue
		}
		comments, err := readComments(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range comments {
			for words, re := range phrases {
				counts[words] += len(re.FindAllString(c.text, -1))
			}
		}
	}
	for _, words := range slices.Sorted(maps.Keys(commentWords)) {
		switch got, most := counts[words], commentWords[words]; {
		case got > most:
			t.Errorf("comments have %q %d times, and had it %d times: see CONTRIBUTING.md, How we work", words, got, most)
		case got < most:
			t.Logf("comments have %q %d times: lower the number in commentWords, which is %d", words, got, most)
		}
	}
}
