package eval

import (
	"encoding/json"

	"github.com/dogwooddb/dogwood/rules/internal/snapshot"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// maxText bounds the text of a value.
const maxText = 200

// Explain runs a noting program for a rule at p. noter gets the value of each part
// that is evaluated, as JSON; of a snapshot its path and value. Values are
// shortened. After a fault it gets only the part that failed, with the reason.
//
// An evaluation that explains should not be one that decides: showing the value of
// a snapshot may read what the rule itself does not.
func (e *Evaluation) Explain(noting *Program, p tree.Path, noter func(x lang.Expr, text string, failed bool)) {
	e.start(p)
	e.noter = noter
	e.run(noting)
	e.noter = nil
}

// note passes the value of x to the noter. If there is a fault, x is where it was,
// since inner parts are noted before outer ones.
func (e *Evaluation) note(x lang.Expr, v any) {
	switch {
	case !e.faulty():
		e.noter(x, e.shown(v), false)
	case !e.blamed:
		e.blamed = true
		e.noter(x, e.Fault(), true)
	}
}

// shown returns a value as JSON, and a snapshot as its path and value.
func (e *Evaluation) shown(v any) string {
	s, ok := v.(*snapshot.Snapshot)
	switch {
	case !ok:
		return textOf(v)
	case s.None:
		return "null"
	}
	v = e.value(*s)
	if e.faulty() { // too much was shown already, which is no fault of the rule
		e.fault = fault{}
		return s.Path.String()
	}
	return s.Path.String() + " " + textOf(v)
}

// textOf returns a value as JSON, shortened.
func textOf(v any) string {
	switch v := v.(type) {
	case float64:
		return numberText(v)
	case snapshot.Object:
		return "{…}"
	case opaque:
		return v.what
	case string:
		return shorten(tree.String(head(v, 2*maxText)).Text()) // quoting makes nothing shorter
	}
	b, err := json.Marshal(v)
	if err != nil {
		return kindOf(v)
	}
	return shorten(string(b))
}

// shorten cuts a text at a character's end.
func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return head(s, maxText) + "…"
}

// head returns the first n bytes of s, or a little less, up to a character's end.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
