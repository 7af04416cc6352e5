package rulesmutate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A Suggestion is a test that kills mutants: an operation with the verdict that
// the rules give now. Whether that is the right one, its author must judge.
type Suggestion struct {
	Setup   []rulestest.Op // writes by an administrator before it
	Op      rulestest.Op
	Verdict rulestest.Verdict
	Rule    string    // that decided; "": none did
	Kills   []*Mutant // that no suggestion before it kills
}

// Text returns the suggestion as an entry of a test file, with a comment that
// says what it tests. actors are the users of the file.
func (s *Suggestion) Text(actors map[string]rulestest.Actor) string {
	var b strings.Builder
	for _, m := range s.Kills {
		fmt.Fprintf(&b, "    // %s: %s: %s -> %s\n", m.Rule.Path, m.Kind, oneLine(m.From), oneLine(m.To))
	}
	expect := fmt.Sprintf(`"expect": %q`, s.Verdict)
	if s.Verdict == rulestest.Deny && s.Rule != "" {
		expect += `, "by": ` + jsonc.Quote(s.Rule)
	}
	test := entry(&s.Op, actors, expect)
	if len(s.Setup) == 0 {
		return b.String() + "    " + test
	}
	b.WriteString(`    { "group": ` + jsonc.Quote("given "+describe(s.Setup)) + `, "steps": [` + "\n")
	for i := range s.Setup {
		b.WriteString("      " + entry(&s.Setup[i], actors, `"expect": "allow"`) + ",\n")
	}
	b.WriteString("      " + test + " ] }")
	return b.String()
}

// oneLine returns a text without line breaks, and of a long one both ends.
func oneLine(s string) string {
	if s = strings.ReplaceAll(s, "\n", " "); len(s) > 160 {
		return s[:80] + " ... " + s[len(s)-60:]
	}
	return s
}

// describe says what a setup does.
func describe(setup []rulestest.Op) string {
	var list []string
	for _, op := range setup {
		list = append(list, op.Path.String()+" = "+op.Value)
	}
	if s := strings.Join(list, ", "); len(s) < 80 {
		return s
	}
	return list[0][:min(len(list[0]), 60)] + "..."
}

// entry returns one test.
func entry(op *rulestest.Op, actors map[string]rulestest.Actor, expect string) string {
	who := `"auth": ` + op.Who.JSON()
	for _, name := range slices.Sorted(maps.Keys(actors)) {
		if actors[name].JSON() == op.Who.JSON() {
			who = `"as": ` + jsonc.Quote(name)
			break
		}
	}
	path := tree.Target{Path: op.Path, Priority: op.Priority}.String()
	parts := []string{who, fmt.Sprintf("%q: %s", op.Kind, jsonc.Quote(path))}
	switch op.Kind {
	case rulestest.Read:
		if q := rulestest.QueryText(op); q != "" {
			parts = append(parts, `"query": `+q)
		}
		if op.Socket {
			parts = append(parts, `"via": "socket"`)
		}
	case rulestest.Write:
		parts = append(parts, `"value": `+op.Value)
	default:
		parts = append(parts, `"values": `+op.Value)
	}
	if !op.Who.Admin || strings.Contains(op.Value, ".sv") {
		parts = append(parts, fmt.Sprintf(`"now": %d`, op.Now))
	}
	return "{ " + strings.Join(append(parts, expect), ", ") + " }"
}
