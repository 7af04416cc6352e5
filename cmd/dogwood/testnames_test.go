package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	testName   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	testSource = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// TestNamedTestsExist: documents that name the tests of a bound or of a promise name tests that
// exist. Tutorials let their readers write some.
func TestNamedTestsExist(t *testing.T) {
	exist := make(map[string]bool)
	named := make(map[string]string) // and where
	for _, path := range repositoryFiles(t) {
		isTest := strings.HasSuffix(path, "_test.go")
		if !isTest && (!strings.HasSuffix(path, ".md") || strings.Contains(path, "tutorial")) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if isTest {
			for _, m := range testSource.FindAllSubmatch(text, -1) {
				exist[string(m[1])] = true
			}
			continue
		}
		for _, m := range testName.FindAllSubmatch(text, -1) {
			named[string(m[1])] = path
		}
	}
	if len(named) < 100 {
		t.Errorf("documents name %d tests: where have they gone?", len(named))
	}
	for name, path := range named {
		if !exist[name] {
			t.Errorf("%s names %s, which does not exist", path, name)
		}
	}
}
