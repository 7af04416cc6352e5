package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTroubleshootingTexts: the texts by which docs/troubleshooting.md is searched when a
// server does not start are those that it prints.
func TestTroubleshootingTexts(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Starting\n")
	section, _, _ = strings.Cut(section, "\n## ")
	missing := make(map[string]bool)
	for _, heading := range regexp.MustCompile("(?m)^\\*\\*.*?\\*\\*").FindAllString(section, -1) {
		for _, quoted := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(heading, -1) {
			missing[quoted[1]] = true
		}
	}
	if len(missing) < 5 {
		t.Fatalf("%d texts: %v", len(missing), missing)
	}
	for _, dir := range []string{"internal", "../../tree/store"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for text := range missing {
				if strings.Contains(string(source), text) {
					delete(missing, text)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for text := range missing {
		t.Errorf("no program prints %q", text)
	}
}
