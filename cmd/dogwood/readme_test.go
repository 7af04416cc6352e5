package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeRules: the rules and the tests that the README shows are what it says.
func TestReadmeRules(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "## Write rules")
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(section, 2)
	if len(blocks) != 2 {
		t.Fatalf("%d JSON blocks, want the rules and their tests", len(blocks))
	}
	dir := t.TempDir()
	for i, name := range []string{"database.rules.json", "messages.rules-test.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(blocks[i][1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"rules", "check", "--strict", filepath.Join(dir, "database.rules.json")},
		{"rules", "test", dir},
	} {
		if code, stdout, stderr := runCommand(t, "", args...); code != 0 {
			t.Errorf("dogwood %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
}
