package rulecmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/ruleslint"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// openWriteMessage says what a .write lets clients do that are signed out.
func openWriteMessage(a *ruleslint.Access) string {
	if a.Invalid {
		return fmt.Sprintf("anybody may write %s without signing in, if the value is valid", a.Node())
	}
	return fmt.Sprintf("anybody may write %s without signing in", a.Node())
}

// isOpenWrite reports whether a rule lets clients write that are signed out.
func isOpenWrite(a *ruleslint.Access) bool { return a.Rule.Kind == rules.WriteRule && !a.SignedIn }

// openWrites returns the warnings about writes that need no user.
func openWrites(open []*ruleslint.Access) (list []ruleslint.Warning) {
	for _, a := range open {
		if isOpenWrite(a) {
			list = append(list, ruleslint.Warning{Code: ruleslint.OpenWrite, Pos: a.Rule.Pos, Rule: a.Rule.Path, Msg: openWriteMessage(a)})
		}
	}
	return list
}

// addOpenWrites adds the warnings about writes that need no user, unless one about an
// open root says it already.
func addOpenWrites(warnings []ruleslint.Warning, open []*ruleslint.Access) []ruleslint.Warning {
	for _, w := range openWrites(open) {
		if !saysOpenRoot(warnings, w.Rule) {
			warnings = append(warnings, w)
		}
	}
	sort.SliceStable(warnings, func(i, j int) bool {
		a, b := warnings[i], warnings[j]
		return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col) < 0
	})
	return warnings
}

// saysOpenRoot reports whether a warning is about an open root, which includes every path
// below it.
func saysOpenRoot(warnings []ruleslint.Warning, rule string) bool {
	return slices.ContainsFunc(warnings, func(w ruleslint.Warning) bool { return w.Code == "open-root" && w.Rule == rule })
}

// access lists what clients may do that are signed out or any user, without what the
// warnings say.
func (r *findingReporter) access(src *rulestest.Source, open []*ruleslint.Access, warnings []ruleslint.Warning) error {
	lists := []struct {
		code, text string
		rule       rules.Kind
		signedIn   bool
	}{
		{"open-read", "anybody may read, without signing in", rules.ReadRule, false},
		{"user-read", "any signed-in user may read", rules.ReadRule, true},
		{"user-write", "any signed-in user may write", rules.WriteRule, true},
	}
	for _, l := range lists {
		var nodes []string
		for _, a := range open {
			if a.Rule.Kind != l.rule || a.SignedIn != l.signedIn || saysOpenRoot(warnings, a.Rule.Path) {
				continue
			}
			nodes = append(nodes, a.Node())
			if r.json {
				r.found = append(r.found, finding{File: src.File, Line: a.Rule.Pos.Line, Column: a.Rule.Pos.Col, Severity: "info", Code: l.code, Rule: a.Rule.Path, Message: l.text + ": " + a.Node()})
			}
		}
		if len(nodes) == 0 || r.json {
			continue
		}
		if _, err := fmt.Fprintf(r.Stdout, "%s: %s: %s\n", src.File, l.text, console.List(nodes, maxListed, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// maxListed bounds the nodes in one line.
const maxListed = 20

// warnOpen writes warnings about holes in rules that are deployed: an open root, writes that
// need no user, and comparisons of null with null. Rules that don't compile here are left to the
// server.
func warnOpen(e *console.Env, w io.Writer, src *rulestest.Source) error {
	rs, err := src.Compile()
	if err != nil {
		return nil
	}
	open, err := ruleslint.FindAccess(e.Ctx, rs)
	if err != nil {
		return err
	}
	found, err := ruleslint.Lint(rs)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(w ruleslint.Warning) bool {
		return w.Code != "null-equal" && w.Code != "null-differs" && w.Code != "open-root"
	})
	for _, x := range addOpenWrites(found, open) {
		shown := rules.SyntaxError{Pos: x.Pos, Msg: fmt.Sprintf("warning: %s (%s)", x.Msg, x.Code)}
		if err := explain.Errors(w, src.File, src.Text, rules.Errors{&shown}); err != nil {
			return err
		}
	}
	return nil
}
