// Package ruleslint finds what is suspicious in rules that compile: holes, rules
// without effect, and expressions that do not do what they seem to.
//
// Lint returns Warnings. Each has a code; Codes explains them. A comment
// "// lint:ignore CODE" on the line of a rule or the line above it silences the
// warnings of these codes there, "// lint:file-ignore CODE" those of the file.
//
// The work is in two passes over the same tree: nodes compares rules with those around them
// (structure.go), and expression looks inside one rule. null*.go is the one analysis that
// follows conditions. FindAccess is separate, since it evaluates rules, which takes longer.
package ruleslint

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
)

// A Warning is something suspicious in a document. Code is one of Codes. Pos is the rule's
// value, or the part of its expression that the warning is about; the command line prints it,
// and a comment that silences the warning is found by its line.
type Warning struct {
	Code string    `json:"code"`
	Pos  rules.Pos `json:"-"`
	Rule string    `json:"rule"` // "/rooms/$room/.read", or a node's path
	Msg  string    `json:"message"`
}

// Codes says what each code is for, in the order in which they are documented. Codes are an
// interface: documents have them in comments, so a code keeps its name. Lint reports none with
// the code OpenWrite: that is for warnings made of what FindAccess finds.
var Codes = []struct{ Code, Text string }{
	{"open-root", "everybody may read or write the whole database"},
	{"open-write", "everybody may write something without signing in"},
	{"dead-rule", "a rule above grants it already"},
	{"unreachable-validate", "no write can reach the node of a .validate"},
	{"shadowed", "a literal child lacks a rule that its sibling capture has"},
	{"missing-index", "a rule wants a query for which there is no .indexOn"},
	{"idle-limit", "a .limit where nobody may read"},
	{"always-true", "an expression that cannot be false"},
	{"never-true", "an expression that cannot be true"},
	{"always-fails", "an expression is an error whenever it is evaluated, which makes the rule false"},
	{"never-equal", "both sides of a comparison have different types"},
	{"capture-number", "a capture is a text and never equal to a number"},
	{"object-equality", "objects are never equal, not even to themselves"},
	{"null-equal", "both sides of a comparison may be null, and null equals null"},
	{"null-differs", "without signing in, null differs from what it is compared with"},
	{"unknown-claim", "a member of auth resembles one that every caller has"},
	{"token-text", "a claim is compared with the text 'true' or 'false'"},
	{"validate-exists", "newData.exists() is always true in .validate"},
	{"regex-escape", `\b or \n in a regular expression means the letter`},
	{"regex-group", "(?: in a regular expression means the characters themselves"},
}

// Lint returns the warnings about a document, in its order. An error means that the
// source cannot be parsed, which is not expected: a Ruleset has only source that was parsed.
func Lint(r *rules.Ruleset) ([]Warning, error) {
	doc, err := jsonc.Parse(r.Source())
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	l := &linter{root: build(doc, r)}
	l.nodes(l.root, [2]*rules.Rule{})
	for n := range l.root.all() {
		for _, rule := range n.rules {
			if rule != nil {
				l.expression(n, rule)
			}
		}
	}
	ignored := parseIgnores(doc.Text)
	l.found = slices.DeleteFunc(l.found, ignored.covers)
	sort.SliceStable(l.found, func(i, j int) bool {
		a, b := l.found[i], l.found[j]
		return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col) < 0
	})
	return l.found, nil
}

// A linter collects warnings.
//
// A warning is for a person, so it may be mistaken; a comment in the document
// silences it. A certain mistake is an error of the compiler and none
// of these.
//
// It belongs to one call of Lint. Nothing in it is shared, and r is only read, so several
// goroutines may lint the same Ruleset.
type linter struct {
	root  *node
	found []Warning
}

// warn adds a warning about a rule, at its beginning if offset is negative, or at a byte of
// its source. Offsets are those of lang.Expr.Span: bytes of the expression. Rule.At turns them
// into a line and column of the document, where the expression is inside a JSON string.
func (l *linter) warn(code string, r *rules.Rule, offset int, format string, args ...any) {
	pos := r.Pos
	if offset >= 0 {
		pos = r.At(offset)
	}
	l.found = append(l.found, Warning{code, pos, r.Path, fmt.Sprintf(format, args...)})
}
