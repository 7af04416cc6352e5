package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var rewrite = flag.Bool("rewrite", false, "write docs/cli.md, docs/cli and docs/configuration.md from the commands")

// TestCLIReference: docs/cli.md and docs/cli are what the help of the commands says.
func TestCLIReference(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Name("dogwood"), kong.Vars{"version": ""}, kong.Writers(io.Discard, io.Discard),
		kong.DefaultEnvars("DOGWOOD"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range cliPages(parser.Model) {
		file := filepath.Join("../../docs", filepath.FromSlash(name))
		if *rewrite {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		} else if string(got) != want {
			t.Errorf("docs/%s is not what the commands say; run: go test ./cmd/dogwood -run TestCLIReference -rewrite", name)
		}
	}
}

// cliPages returns the pages of the reference: one for each group of commands, and their list.
func cliPages(model *kong.Application) map[string]string {
	groups := map[string]*strings.Builder{}
	var order []string
	index := new(strings.Builder)
	index.WriteString(cliIntroduction)
	for _, command := range model.Leaves(true) {
		title, file := cliGroup(command)
		page := groups[file]
		if page == nil {
			page = new(strings.Builder)
			fmt.Fprintf(page, "# Commands: %s\n\nThis page is generated from the help of the commands. [cli.md](../cli.md) lists all of them.\n", strings.ToLower(title))
			groups[file] = page
			order = append(order, file)
			fmt.Fprintf(index, "\n## %s\n\n| command | |\n|---|---|\n", title)
		}
		name := "dogwood " + command.Path()
		fmt.Fprintf(index, "| [`%s`](%s#%s) | %s |\n", name, file, strings.ReplaceAll(name, " ", "-"), prose(command.Help))
		writeCommand(page, command)
	}
	fmt.Fprintf(index, "\n## Flags of the server\n\nCommands that talk to a server have these flags:\n\n%s", flagTable(serverFlags(model)))
	pages := map[string]string{"cli.md": index.String()}
	for _, file := range order {
		pages[file] = groups[file].String()
	}
	return pages
}

const cliIntroduction = `# Commands

This page is generated from the help of the commands: ` + "`dogwood COMMAND --help`" + ` prints the same.

Every flag is also an environment variable, which the tables name. A flag on the command line comes
first. An empty variable is the same as none.

Exit codes: 0 for success, 1 for a failure, 2 for a command line that is wrong. A second signal ends
a command with 130 (SIGINT) or 143 (SIGTERM).

No flag takes a secret, because all users of a machine can read command lines: secrets are in files,
or in the variable ` + "`DOGWOOD_SECRET`" + `.
`

// cliGroup returns the title of the group of a command, and its page.
func cliGroup(command *kong.Node) (title, file string) {
	title = "Other"
	for n := command; n != nil; n = n.Parent {
		if n.Group != nil {
			title = n.Group.Title
		}
	}
	switch first, _, _ := strings.Cut(command.Path(), " "); first {
	case "rules":
		title = "Rules"
	case "bench":
		title = "Benchmarks"
	}
	return title, "cli/" + strings.ReplaceAll(strings.ToLower(title), " ", "-") + ".md"
}

func writeCommand(page *strings.Builder, command *kong.Node) {
	fmt.Fprintf(page, "\n## dogwood %s\n\n%s\n", command.Path(), prose(command.Help))
	fmt.Fprintf(page, "\n```text\ndogwood %s\n```\n", strings.TrimSpace(strings.TrimPrefix(command.Summary(), "dogwood ")))
	detail, examples, _ := strings.Cut(command.Detail, "Examples:\n")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(detail), "\n\n") {
		if paragraph != "" {
			fmt.Fprintf(page, "\n%s\n", prose(paragraph))
		}
	}
	if examples = unindent(examples); examples != "" {
		fmt.Fprintf(page, "\n```sh example: from the help\n%s\n```\n", examples)
	}
	if len(command.Positional) > 0 {
		page.WriteString("\n| argument | |\n|---|---|\n")
		for _, p := range command.Positional {
			fmt.Fprintf(page, "| `%s` | %s |\n", p.Name, cell(p.Help))
		}
	}
	var flags []*kong.Flag
	server := false
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			switch {
			case f.Name == "help", f.Name == "version", f.Hidden:
			case isServerFlag(f):
				server = true
			default:
				flags = append(flags, f)
			}
		}
	}
	if len(flags) > 0 {
		page.WriteString("\n" + flagTable(flags))
	}
	if server {
		page.WriteString("\nThe [flags of the server](../cli.md#flags-of-the-server) belong to it, too.\n")
	}
}

// isServerFlag reports whether a flag is one of those that say which server is meant.
func isServerFlag(f *kong.Flag) bool {
	return f.Group != nil && f.Group.Title == "Server" && slices.Contains([]string{"url", "namespace", "secret-file", "profile", "owner"}, f.Name)
}

// serverFlags returns these flags, as the command get has them.
func serverFlags(model *kong.Application) (flags []*kong.Flag) {
	for _, command := range model.Children {
		for _, f := range command.Flags {
			if command.Name == "get" && isServerFlag(f) {
				flags = append(flags, f)
			}
		}
	}
	return flags
}

func flagTable(flags []*kong.Flag) string {
	table := new(strings.Builder)
	table.WriteString("| flag | variable | |\n|---|---|---|\n")
	for _, f := range flags {
		name := "--" + f.Name
		switch {
		case f.Tag.Negatable != "":
			name = "--[no-]" + f.Name
		case !f.IsBool() && !f.IsCounter():
			name += "=" + f.FormatPlaceHolder()
		}
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		variable := ""
		if env := slices.DeleteFunc(slices.Clone(f.Envs), func(e string) bool { return e == "-" }); len(env) > 0 {
			variable = "`" + env[0] + "`"
		}
		fmt.Fprintf(table, "| `%s` | %s | %s |\n", strings.ReplaceAll(name, "|", `\|`), variable, cell(f.Help))
	}
	return table.String()
}

func cell(help string) string { return strings.ReplaceAll(prose(help), "|", `\|`) }

var (
	angle      = pattern(`<([\w /-]+)>`)
	quotedWord = pattern(`"(dogwood [^"]+)"`)
	literal    = pattern(`(^|[\s(])((?:--[\w-]+)|\{"?\.[^}]*\}|\.\w+\b|/[\w.]+/?[\w.]*)`)
)

// prose returns a text of the help as Markdown: on one line, flags and paths as code.
func prose(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = strings.NewReplacer("*", `\*`, "_", `\_`, "$", `\$`).Replace(text)
	text = angle().ReplaceAllString(text, "$1")
	text = quotedWord().ReplaceAllString(text, "`$1`")
	return literal().ReplaceAllString(text, "$1`$2`")
}

// unindent removes the blanks that all lines of a text begin with.
func unindent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	indent := -1
	for _, line := range lines {
		if trimmed := strings.TrimLeft(line, " "); trimmed != "" {
			if n := len(line) - len(trimmed); indent < 0 || n < indent {
				indent = n
			}
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[min(len(line), max(indent, 0)):], " ")
	}
	return cmp.Or(strings.TrimSpace(strings.Join(lines, "\n")), "")
}
