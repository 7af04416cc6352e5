// Notices writes the licences of what is in the program, in THIRD_PARTY.txt: of what is linked
// into it, and of what is in the pages of the documentation.
//
//	go run ./internal/notices
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// File is the name of the file, in the root of the repository.
const File = "THIRD_PARTY.txt"

// standard stands for what Go itself links into programs. It has the licence of the modules of
// the Go project.
const standard, likeStandard = "Go standard library and runtime", "golang.org/x/sys"

func main() {
	text, err := Text(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(File, text, 0o644); err != nil {
		log.Fatal(err)
	}
}

// Text returns what the file of the repository at root has to say.
func Text(root string) ([]byte, error) {
	modules, err := linked(root)
	if err != nil {
		return nil, err
	}
	of := make(map[string][]string) // the names of modules by their licence
	for name, dir := range modules {
		licence, err := licenceOf(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		of[licence] = append(of[licence], name)
		if strings.HasPrefix(name, likeStandard+" ") {
			of[licence] = append(of[licence], standard)
		}
	}
	pages, err := inPages(root)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		of[p.Licence+"\n"] = append(of[p.Licence+"\n"], p.String())
	}
	licences := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		slices.Sort(of[a])
		slices.Sort(of[b])
		return strings.Compare(of[a][0], of[b][0])
	})
	var b bytes.Buffer
	b.WriteString("Dogwood has the licence in the file LICENSE. Its program has these works of others in it,\neach with its own licence.\n")
	for _, licence := range licences {
		fmt.Fprintf(&b, "\n%s\n\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(of[licence], "\n"), licence)
	}
	return b.Bytes(), nil
}

// linked returns the directories of the modules that the program has for any system, by their
// names with versions.
func linked(root string) (map[string]string, error) {
	modules := make(map[string]string)
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/dogwood")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				modules[name] = dir
			}
		}
	}
	return modules, nil
}

// A notice is about an npm package that the pages have in them. Site/notices.mjs writes them
// after a build of the pages.
type notice struct{ Name, Version, Licence string }

func (n notice) String() string { return strings.TrimSpace(n.Name+" "+n.Version) + " (documentation)" }

func inPages(root string) (list []notice, err error) {
	text, err := os.ReadFile(filepath.Join(root, "site", "notices.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("site/notices.json: %w", err)
	}
	return list, nil
}

// licenceOf returns the texts of the files of a module that have its licence and its notices.
func licenceOf(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		kind, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
		if !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, kind) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		b.WriteString(strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")) + "\n")
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("there is no licence in %s", dir)
	}
	return b.String(), nil
}
