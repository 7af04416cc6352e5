package rulestest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
)

// maxInstances bounds what one "for" makes.
const maxInstances = 10_000

// An instance is a test with the variables of its "for" replaced. Its label has
// the values, so that two instances of a test have different names in a report.
type instance struct {
	value hujson.Value
	label string // "[who=ann]"
}

// expand returns a test once for each combination of the values of its "for":
// {"for": {"who": ["ann", "bo"]}, "as": "${who}", …}. Without one it returns the
// test itself. The last variable changes fastest.
func expand(v *hujson.Value) ([]instance, error) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("a test must be an object")
	}
	loop := jsonc.Member(obj, "for")
	if loop == nil {
		return []instance{{value: *v}}, nil
	}
	vars, ok := loop.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New(`"for" must be an object of lists`)
	}
	list := []instance{{value: without(v, "for")}}
	for i := range vars.Members {
		name, _ := jsonc.Str(&vars.Members[i].Name)
		values, err := elements(&vars.Members[i].Value)
		if err != nil {
			return nil, fmt.Errorf("for %s: %w", name, err)
		}
		if len(list)*len(values) > maxInstances {
			return nil, fmt.Errorf("more than %d combinations", maxInstances)
		}
		var next []instance
		for _, in := range list {
			for _, value := range values {
				text := display(value)
				out := in.value.Clone()
				replace(&out, "${"+name+"}", value, text)
				next = append(next, instance{out, in.label + "[" + name + "=" + text + "]"})
			}
		}
		list = next
	}
	return list, nil
}

// without returns an object without one of its properties.
func without(v *hujson.Value, name string) hujson.Value {
	out := v.Clone()
	obj := out.Value.(*hujson.Object)
	var kept []hujson.ObjectMember
	for _, m := range obj.Members {
		if key, _ := jsonc.Str(&m.Name); key != name {
			kept = append(kept, m)
		}
	}
	obj.Members = kept
	return out
}

// display returns a value as it stands inside a text: strings without quotes.
func display(v hujson.Value) string {
	if s, ok := jsonc.Str(&v); ok {
		return s
	}
	return string(jsonc.Strict(v))
}

// replace replaces a variable with its value: of a text that is nothing but
// the variable the value itself, inside texts and keys its display.
func replace(in *hujson.Value, variable string, value hujson.Value, text string) {
	switch v := in.Value.(type) {
	case *hujson.Object:
		for i := range v.Members {
			m := &v.Members[i]
			if key, _ := jsonc.Str(&m.Name); strings.Contains(key, variable) {
				m.Name.Value = hujson.String(strings.ReplaceAll(key, variable, text))
			}
			replace(&m.Value, variable, value, text)
		}
	case *hujson.Array:
		for i := range v.Elements {
			replace(&v.Elements[i], variable, value, text)
		}
	case hujson.Literal:
		s, ok := jsonc.Str(in)
		switch {
		case !ok:
		case s == variable:
			in.Value = value.Clone().Value
		case strings.Contains(s, variable):
			in.Value = hujson.String(strings.ReplaceAll(s, variable, text))
		}
	}
}
