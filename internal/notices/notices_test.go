package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCurrent: the file names every module that the program has, with its licence.
func TestCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := Text(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what \"go run ./internal/notices\" writes", File)
	}
	for _, part := range []string{"go.etcd.io/bbolt v", standard, "Copyright 2009 The Go Authors", "MIT", "\n@vue/runtime-dom 3.", "\nminisearch ", "\nvitepress ", "Yuxi (Evan) You"} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%s lacks %q", File, part)
		}
	}
}

// TestPagesAreCurrent: the packages in the pages have the versions that npm installs. Which
// packages there are is compared when the pages are built.
func TestPagesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "site", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	pages, err := inPages(root)
	if err != nil || len(pages) < 5 {
		t.Fatal(len(pages), err)
	}
	for _, p := range pages {
		if p.Version != "" && lock.Packages["node_modules/"+p.Name].Version != p.Version {
			t.Errorf("site/package-lock.json does not install %s: \"npm run notices\" in site, and then \"go run ./internal/notices\"", p)
		}
		if len(p.Licence) < 60 {
			t.Errorf("the licence of %s is %q", p, p.Licence)
		}
	}
}
