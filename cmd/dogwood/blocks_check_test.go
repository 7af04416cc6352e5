package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// checkers check the syntax of blocks that are not run: configuration and data. Output, which
// TestPages compares, is not checked here.
var checkers = map[string]func(text string) error{
	"json":  checkJSON,
	"yaml":  checkYAML,
	"ini":   checkUnit,
	"nginx": checkBraces,
	"caddy": checkBraces,
	"text":  func(string) error { return nil }, // output, drawings, tables

	"console": func(string) error { return nil }, // what a terminal shows, with its prompts
}

// TestBlocksAreSound checks the syntax of configuration, data and examples that are not run.
// The real programs check the configuration of proxies (TestProxies).
func TestBlocksAreSound(t *testing.T) {
	for _, page := range documentPages(t) {
		for _, b := range blocksOf(t, page) {
			check := checkers[b.language]
			if b.language == "sh" {
				check = checkShell
			}
			if check == nil {
				continue
			}
			if err := check(b.text); err != nil {
				t.Errorf("%s:%d: %v\n%s", page, b.line, err, b.text)
			}
		}
	}
}

// checkJSON accepts what a rules document may be, and events, one a line.
func checkJSON(text string) error {
	if _, err := hujson.Parse([]byte(text)); err != nil {
		return fmt.Errorf("this is no JSON: %w", err)
	}
	return nil
}

func checkYAML(text string) error {
	documents := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v any
		if err := documents.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("this is no YAML: %w", err)
		}
	}
}

var unitLine = pattern(`^(\[\w+\]|[A-Z]\w+=.*|#.*|)$`)

// checkUnit checks the lines of a systemd unit.
func checkUnit(text string) error {
	for line := range strings.Lines(text) {
		if !unitLine().MatchString(strings.TrimRight(line, "\n")) {
			return fmt.Errorf("%q is no line of a unit", line)
		}
	}
	return nil
}

func checkBraces(text string) error {
	if strings.Count(text, "{") != strings.Count(text, "}") {
		return errors.New("the braces do not match")
	}
	return nil
}

func checkShell(text string) error {
	out, err := exec.Command("sh", "-n", "-c", text).CombinedOutput()
	if err != nil {
		return fmt.Errorf("this is no shell: %s", bytes.TrimSpace(out))
	}
	return nil
}

var (
	inShell = pattern(`(?m)(?:^|[|;&(]|exec|-- )\s*(?:go run )?(?:\./(?:cmd/)?)?dogwood ([^/].*)$`)
	inProse = pattern("`dogwood ([a-z][^`]+)`")
)

// TestCommandLines: the command lines of dogwood that the documents show, in blocks and in the
// text, are right: commands and flags exist, and have the arguments that they need.
func TestCommandLines(t *testing.T) {
	found := 0
	for _, page := range documentPages(t) {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range inProse().FindAllStringSubmatch(withoutFences(string(text)), -1) {
			found++
			if err := checkCommandLine(strings.Join(strings.Fields(m[1]), " "), true); err != nil {
				t.Errorf("%s: `dogwood %s`: %v", page, m[1], err)
			}
		}
		for _, b := range blocksOf(t, page) {
			if b.language != "sh" {
				continue
			}
			for _, m := range inShell().FindAllStringSubmatch(strings.ReplaceAll(b.text, "\\\n", " "), -1) {
				found++
				if err := checkCommandLine(m[1], false); err != nil {
					t.Errorf("%s:%d: dogwood %s: %v", page, b.line, m[1], err)
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("%d command lines: are they found?", found)
	}
}

func withoutFences(text string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```").ReplaceAllString(text, "")
}

// checkCommandLine parses a command line. In prose a command may lack its arguments.
func checkCommandLine(line string, prose bool) error {
	args := shellWords(line)
	if len(args) == 0 || args[0] == "help" || args[len(args)-1] == "--help" || args[0] == "--help" || args[0] == "--version" {
		return nil
	}
	parser, err := kong.New(grammarOf(args), kong.Vars{"version": ""}, kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}),
		kong.WithHyphenPrefixedParameters(true))
	if err != nil {
		return err
	}
	trace, err := kong.Trace(parser, args) // without the hooks of the command, which read files
	if err == nil {
		err = trace.Error
	}
	if err == nil {
		err = trace.Reset() // to the defaults, which Validate looks at
	}
	if err == nil {
		_, err = trace.Apply()
	}
	if err == nil {
		err = trace.Validate()
	}
	if err != nil && prose && incomplete().MatchString(err.Error()) {
		return nil
	}
	return err
}

// incomplete matches the errors of command lines that lack arguments, or have a word in
// capitals for one.
var incomplete = pattern(`^(expected|missing flags|unexpected argument [A-Z…]+$)`)

// shellWords splits the first command of a line into words, as far as documents need it.
func shellWords(line string) (words []string) {
	var word strings.Builder
	inWord := false
	var quote rune
	depth := 0
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == '(':
			depth++
		case c == ')' && depth == 0, strings.ContainsRune("|;&><", c), c == '#' && !inWord:
			if inWord {
				words = append(words, word.String())
			}
			return words
		case c == ')':
			depth--
		case c == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			inWord = true
			word.WriteRune(c)
		}
	}
	return words
}
