package derive

import (
	"fmt"
	"strings"
)

// A Cost is what a definition adds to a write, in rows that are read and written.
type Cost struct {
	Node     string // one source node comes, changes or goes
	Ancestor string // a node above k source nodes is removed
}

// Cost returns what the definition adds to a write that touches it. Other writes pay nothing.
func (d *Definition) Cost() Cost {
	switch d.Kind {
	case Map:
		if !d.injective && !d.Unique {
			return Cost{"reads 3 and writes 2 for each place", "reads 3k and writes 2k"}
		}
		return Cost{"reads 1 and writes 1 for each place", "reads k and writes k"}
	case Count, Sum:
		if d.whole {
			return Cost{"reads 1 and writes 1", "reads and writes 1 for each container and target"}
		}
		return Cost{"reads 1 and writes 1 for each target", "reads k and writes 1 for each target"}
	case Keep:
		excess := "writes 1"
		if d.target != nil {
			excess = "writes 2"
		}
		return Cost{fmt.Sprintf("reads 1; of each child beyond %d reads 1 and %s", d.N, excess), "nothing"}
	case Expire:
		return Cost{"writes 2", "nothing"}
	}
	if d.Off {
		return Cost{"nothing, it is off", "nothing"}
	}
	return Cost{"writes 1", "nothing"}
}

// Summary says in a line what the definition does.
func (d *Definition) Summary() string {
	source := d.Source()
	switch d.Kind {
	case Keep:
		what := fmt.Sprintf("%d of %s by %s", d.N, source, d.OrderBy)
		if d.target != nil {
			what += " -> " + d.Target()
		}
		return what
	case Expire:
		if d.After != 0 {
			return fmt.Sprintf("%s after %s", source, d.After)
		}
		return source + " at " + d.value.String()
	case Index:
		return fmt.Sprintf("%s by %q", source, d.By)
	}
	return source + " -> " + d.Target()
}

// Doubt says which value of a map is a text that looks like an expression without its =, "" if none does.
func (d *Definition) Doubt() string {
	if d.Kind != Map {
		return ""
	}
	for _, f := range append([]field{{value: *d.value}}, d.value.fields...) {
		if text, _ := f.constant.StringValue(); computed(text) {
			return fmt.Sprintf("%q is a text; for the expression, write %q", text, "= "+text)
		}
	}
	return ""
}

// computed reports whether a text begins as an expression does.
func computed(text string) bool {
	for _, name := range []string{"data.", "newData.", "root.", "auth.", "query.", "now."} {
		if rest, ok := strings.CutPrefix(text, name); ok && rest != "" && rest[0] != ' ' {
			return true
		}
	}
	return text == "now" || len(text) > 1 && text[0] == '$' && (text[1] < '0' || text[1] > '9') && captureName(text[1:2])
}

// String returns an expression or a constant as it is written.
func (v *value) String() string {
	if v.expr != nil {
		return v.expr.String()
	}
	return v.constant.JSON()
}
