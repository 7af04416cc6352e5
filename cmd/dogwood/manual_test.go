package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
)

// output runs a command line in this process and returns what it prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	e := &console.Env{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &problems}
	if code := run(e, args); code != 0 {
		t.Fatalf("dogwood %s: exit code %d: %s", strings.Join(args, " "), code, &problems)
	}
	return out.String()
}

// TestManPages: each command has a page, with all of its flags, and the tools that show
// pages find nothing wrong with them.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	output(t, "man", dir)
	app, err := modelOf(&console.Env{Ctx: t.Context(), Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	var pages []string
	var visit func(n *kong.Node, name string)
	visit = func(n *kong.Node, name string) {
		page := filepath.Join(dir, name+".1")
		pages = append(pages, page)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
		}
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				if long := strings.ReplaceAll(f.Name, "-", `\-`); !strings.Contains(string(text), long+`\fR`) {
					t.Errorf("%s does not describe --%s", name, f.Name)
				}
			}
		}
		for _, c := range n.Children {
			if !c.Hidden {
				visit(c, name+"-"+c.Name)
			}
		}
	}
	visit(app.Node, "dogwood")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(pages) {
		t.Errorf("%d pages for %d commands, %v", len(files), len(pages), err)
	}
	if mandoc, err := exec.LookPath("mandoc"); err == nil {
		found, _ := exec.Command(mandoc, append([]string{"-Tlint", "-Wwarning"}, pages...)...).Output() // an error for what it found
		for line := range strings.Lines(string(found)) {
			if !strings.Contains(line, "missing date") { // "go test" records no revision
				t.Error(line)
			}
		}
		text, err := exec.Command(mandoc, "-Tascii", filepath.Join(dir, "dogwood-serve.1")).Output()
		if plain := withoutOverstrikes(string(text)); err != nil || !strings.Contains(plain, "\n       --data=") || !strings.Contains(plain, "dogwood serve --data /var/lib/dogwood --rules database.rules.json\n") {
			t.Errorf("mandoc shows %v\n%s", err, text)
		}
	}
}

// withoutOverstrikes takes the bold and the underlined letters of a terminal away.
func withoutOverstrikes(s string) string {
	var plain []rune
	for _, c := range s {
		if c == '\b' {
			plain = plain[:len(plain)-1]
		} else {
			plain = append(plain, c)
		}
	}
	return string(plain)
}

// A completed is a command line up to the cursor, and what a shell may put there: some of
// it, and something that it must not have.
var completed = []struct {
	line       []string
	want, dont []string
}{
	{[]string{"dogwood", ""}, []string{"serve", "dev", "rules", "completion"}, []string{"man", "--help"}},
	{[]string{"dogwood", "ser"}, []string{"serve", "serviceaccount"}, []string{"dev"}},
	{[]string{"dogwood", "rules", ""}, []string{"check", "test"}, []string{"serve"}},
	{[]string{"dogwood", "serve", "--namespace", "rules", "--tls"}, []string{"--tls-cert", "--tls-key"}, []string{"--host"}},
	{[]string{"dogwood", "rules", "test", "--"}, []string{"--help", "--format"}, []string{"--tls-cert"}},
	{[]string{"dogwood", "completion", ""}, []string{"bash", "zsh", "fish"}, []string{"serve"}},
	{[]string{"dogwood", "rules", "test", "--format", ""}, []string{"text", "json", "tap"}, []string{"check"}},
	{[]string{"dogwood", "rules", "test", "--format=", ""}, []string{"text", "json", "tap"}, []string{"check"}},
	{[]string{"dogwood", "serve", "--data", "som"}, []string{"some.file"}, []string{"serve"}},
	{[]string{"dogwood", "serve", "--port", ""}, nil, []string{"serve", "--host"}},
}

// TestCompletion completes command lines in the shells that are there.
func TestCompletion(t *testing.T) {
	// bash itself adds names of files when there are no words. The functions of zsh that
	// show choices are replaced by ones that print them.
	shells := map[string]func(script string, line []string) string{
		"bash": func(script string, line []string) string {
			if i := len(line) - 2; strings.HasSuffix(line[i], "=") {
				line = append(slices.Clone(line[:i]), strings.TrimSuffix(line[i], "="), "=")
			}
			return `complete() { :; }; . ` + script + `; COMP_WORDS=(` + quoted(line) + `); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
				_dogwood; [[ ${#COMPREPLY[@]} -gt 0 || $current == --* ]] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); printf '%s\n' "${COMPREPLY[@]}"`
		},
		"zsh": func(script string, line []string) string {
			if i := len(line) - 2; strings.HasSuffix(line[i], "=") {
				line = append(slices.Clone(line[:i]), line[i])
			}
			return `cur=` + quoted(line[len(line)-1:]) + `; case $cur in --*=) cur=;; esac
				compdef() { : }; compset() { : }
				compadd() { shift; print -l -- ${(M)@:#$cur*} }
				_describe() { local name=$@[-1]; print -l -- ${(M)${(P)name}%%:*:#$cur*} ${(M)${(@P)name%%:*}:#$cur*} }
				_files() { print -l -- $cur*(N) }
				. ` + script + `; words=(` + quoted(line) + `); CURRENT=$#words; _dogwood; true`
		},
		"fish": func(script string, line []string) string {
			return `source ` + script + `; complete -C '` + strings.ReplaceAll(strings.Join(line, " "), "= ", "=") + `'`
		},
	}
	for shell, program := range shells {
		t.Run(shell, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte(output(t, "completion", shell)), 0o600); err != nil {
				t.Fatal(err)
			}
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("there is no %s", shell)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "some.file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, c := range completed {
				cmd := exec.Command(path, "-c", program(script, c.line))
				cmd.Dir = dir
				text, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%q: %v\n%s", c.line, err, text)
				}
				var got []string
				for line := range strings.Lines(string(text)) {
					word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
					if shell == "zsh" {
						word, _, _ = strings.Cut(word, ":")
					}
					got = append(got, strings.TrimPrefix(word, "--format="))
				}
				for _, want := range c.want {
					if !slices.Contains(got, want) {
						t.Errorf("%q: no %s in %q", c.line, want, got)
					}
				}
				for _, dont := range c.dont {
					if slices.Contains(got, dont) {
						t.Errorf("%q: %s in %q", c.line, dont, got)
					}
				}
			}
		})
	}
}

// quoted returns words for a shell.
func quoted(words []string) string {
	var list []string
	for _, w := range words {
		list = append(list, "'"+w+"'")
	}
	return strings.Join(list, " ")
}
