package datacmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/derive"
)

// A statement is an invariant as it is written (package invariant).
type statement struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Text     string `json:"text"`
	A        string `json:"a"`
	B        string `json:"b"`
	Lower    bool   `json:"lower"`
	IfExists bool   `json:"ifExists"`
	Counter  string `json:"counter"`
	Over     string `json:"over"`
	Limit    int    `json:"limit"`
	Where    struct {
		Child     string `json:"child"`
		EqualsVar string `json:"equalsVar"`
	} `json:"where"`
}

// A proposal is a definition that is proposed for a statement.
type proposal struct{ name, definition, remark string }

var (
	notOfNames = regexp.MustCompile(`[^A-Za-z0-9_]+`)
	variable   = regexp.MustCompile(`\$[^/]+`)
	field      = regexp.MustCompile(`\{([^}]*)\}`)
)

// name returns a name for the definition that no other has.
func (s *statement) name(taken map[string]bool) string {
	name := notOfNames.ReplaceAllString(s.ID, "_")
	if name == "" || !('A' <= name[0] && name[0] <= 'Z' || 'a' <= name[0] && name[0] <= 'z') {
		name = "d" + name
	}
	name = name[:min(len(name), 60)]
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", strings.TrimRight(name, "_0123456789"), n)
	}
	taken[name] = true
	return name
}

func (s *statement) remark() string {
	if s.Text == "" {
		return s.ID
	}
	return s.ID + ": " + s.Text
}

// definition returns the definition that says what the statement does.
func (s *statement) definition(all []statement) (string, error) {
	switch s.Kind {
	case "inverse":
		source, target := s.sides(all)
		if value := valueOf(all, source, target); value != "" {
			return object("map", place(source), "to", place(target), "value", "= "+value), sameVariables(source, target)
		}
		return object("map", place(source), "to", place(target)), sameVariables(source, target)
	case "inverseValue":
		return s.lookUp()
	case "equal":
		if id := s.partOf(all); id != "" {
			return "", fmt.Errorf("the definition %s has its value", id)
		}
		if s.IfExists {
			return "", errors.New("it holds only where the copy exists, and a map makes it exist")
		}
		return object("map", place(s.A), "to", inserted(s.B), "value", "= data.val()"), sameVariables(s.A, variableless(s.B))
	case "count":
		return s.counter()
	case "max":
		if s.Limit < 1 || s.Limit > derive.MaxKept {
			return "", fmt.Errorf("a list keeps 1 to %d children", derive.MaxKept)
		}
		return object("keep", s.Limit, "at", place(s.Over)), nil
	}
	return "", errors.New("it does not say what follows from other data")
}

// sides returns the source and the target of an inverse.
func (s *statement) sides(all []statement) (source, target string) {
	if counted(all, s.A) && !counted(all, s.B) {
		return s.A, s.B
	}
	return s.B, s.A
}

// valueOf returns the value that statements of the kind equal give the target of an inverse, "" if
// there are none.
func valueOf(all []statement, source, target string) string {
	for _, s := range all {
		if s.Kind != "equal" || s.IfExists {
			continue
		}
		from := s.A
		if from == target {
			from = s.B
		} else if s.B != target {
			continue
		}
		if from == source {
			return "data.val()"
		}
		if child, ok := strings.CutPrefix(from, source+"/"); ok && !strings.ContainsAny(child, "$*{") {
			return fmt.Sprintf("data.child(%s).val()", quoted(child))
		}
	}
	return ""
}

// partOf returns the id of an inverse whose target has the value that an equal is about, "" if
// there is none.
func (s *statement) partOf(all []statement) string {
	for _, other := range all {
		if other.Kind != "inverse" {
			continue
		}
		if source, target := other.sides(all); valueOf([]statement{*s}, source, target) != "" {
			return other.ID
		}
	}
	return ""
}

// counted reports whether nodes of a pattern are counted. They are the source then, since they are
// what an application writes.
func counted(all []statement, pattern string) bool {
	return slices.ContainsFunc(all, func(s statement) bool { return s.Kind == "count" && s.Over == pattern })
}

// lookUp is the definition of inverseValue: the value of a node leads to its key.
func (s *statement) lookUp() (string, error) {
	only := func(p, other string) []string {
		return slices.DeleteFunc(variable.FindAllString(p, -1), func(v string) bool { return slices.Contains(variable.FindAllString(other, -1), v) })
	}
	ofA, ofB := only(s.A, s.B), only(s.B, s.A)
	if len(ofA) != 1 || len(ofB) != 1 {
		return "", errors.New("each of its paths needs one variable of its own")
	}
	value := "data.val()"
	if s.Lower {
		value += ".toLowerCase()"
	}
	keys := strings.Split(s.B, "/")
	for i, key := range keys {
		if key == ofB[0] {
			keys[i] = "{" + value + "}"
		}
	}
	return object("map", place(s.A), "to", "/"+strings.Join(keys, "/"), "value", "= "+ofA[0], "unique", true), nil
}

// counter is the definition of count.
func (s *statement) counter() (string, error) {
	to := s.Counter
	if v := s.Where.EqualsVar; v != "" {
		keys := strings.Split(to, "/")
		for i, key := range keys {
			if key == v {
				keys[i] = fmt.Sprintf("{data.child(%s).val()}", quoted(s.Where.Child))
			}
		}
		to = strings.Join(keys, "/")
	}
	return object("count", place(s.Over), "to", "/"+to), sameVariables(s.Over, to)
}

// sameVariables fails if a target has a variable that its source has not.
func sameVariables(source, target string) error {
	for _, v := range variable.FindAllString(target, -1) {
		if !slices.Contains(variable.FindAllString(source, -1), v) {
			return fmt.Errorf("%s has the variable %s, and %s has not", target, v, source)
		}
	}
	return nil
}

// variableless returns a pattern without the fields that are inserted into it.
func variableless(pattern string) string { return field.ReplaceAllString(pattern, "_") }

// place returns a pattern as a path of a definition. Each * is a capture of its own.
func place(pattern string) string {
	keys := strings.Split(pattern, "/")
	for i, key := range keys {
		if key == "*" {
			keys[i] = fmt.Sprintf("$any%d", i+1)
		}
	}
	return "/" + strings.Join(keys, "/")
}

// inserted returns a pattern as a target: {f} is the field f of the source node, {} its value.
func inserted(pattern string) string {
	return "/" + field.ReplaceAllStringFunc(pattern, func(f string) string {
		if f == "{}" {
			return "{data.val()}"
		}
		return fmt.Sprintf("{data.child(%s).val()}", quoted(f[1:len(f)-1]))
	})
}

// quoted returns a text of the language of expressions.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// object returns a JSON object with members in this order.
func object(members ...any) string {
	var list []string
	for i := 0; i < len(members); i += 2 {
		value, _ := json.Marshal(members[i+1]) // texts, numbers and booleans
		list = append(list, fmt.Sprintf("%q: %s", members[i], value))
	}
	return "{" + strings.Join(list, ", ") + "}"
}
