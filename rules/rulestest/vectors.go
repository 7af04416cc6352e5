package rulestest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
)

// A vectorJSON is a single case (rules §12). Its other fields say where it
// is from.
type vectorJSON struct {
	optionsJSON
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
	Auth json.RawMessage `json:"auth"`
	Now  *int64          `json:"now"`
	Op   struct {
		Kind     string          `json:"kind"`
		Path     string          `json:"path"`
		Via      string          `json:"via"`
		Value    json.RawMessage `json:"value"`
		Values   json.RawMessage `json:"values"`
		Priority json.RawMessage `json:"priority"`
		Query    json.RawMessage `json:"query"`
	} `json:"op"`
	Expect Verdict `json:"expect"`
}

// vectors reads a list of single cases, each with rules of its own.
func (l *loader) vectors(s *Suite, list *hujson.Array) error {
	for i := range list.Elements {
		v := &list.Elements[i]
		g, err := l.vector(v)
		if err != nil {
			return l.at(v, err)
		}
		s.Groups = append(s.Groups, g)
	}
	return nil
}

// vector reads one case: a group of one step.
func (l *loader) vector(v *hujson.Value) (*Group, error) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("a case must be an object")
	}
	var j vectorJSON
	if err := json.Unmarshal(jsonc.Strict(*v), &j); err != nil {
		return nil, err
	}
	doc := jsonc.Member(obj, "rules")
	if doc == nil {
		return nil, errors.New(`"rules" is missing`)
	}
	options, err := ParseOptions(j.Dialect, j.Extensions)
	if err != nil {
		return nil, err
	}
	src, err := l.rules(doc, options, false)
	if err != nil {
		return nil, err
	}
	op, err := j.op()
	if err != nil {
		return nil, err
	}
	data, err := parseData(j.Data, op.Now)
	if err != nil {
		return nil, err
	}
	switch j.Expect {
	case Allow, Deny, CompileError:
	default:
		return nil, fmt.Errorf("unknown verdict %q", j.Expect)
	}
	step := &Step{Name: j.Name, Line: l.line(v), Op: op, Want: Want{Verdict: j.Expect}}
	return &Group{Rules: &src, Data: data, Steps: []*Step{step}}, nil
}

// op reads what a case does. It is a test written in another way.
func (j *vectorJSON) op() (Op, error) {
	t := testJSON{Via: j.Op.Via, Query: j.Op.Query, Value: j.Op.Value, Values: j.Op.Values, Priority: j.Op.Priority, Now: j.Now}
	if t.Now == nil {
		t.Now = ptr[int64](DefaultNow)
	}
	switch j.Op.Kind {
	case "read", "query-read":
		t.Read = &j.Op.Path
	case "write":
		t.Write = &j.Op.Path
	case "update":
		t.Update = &j.Op.Path
	default:
		return Op{}, fmt.Errorf("unknown kind of operation %q", j.Op.Kind)
	}
	op, err := t.op()
	if err == nil && j.Auth != nil {
		op.Who, err = ParseActor(string(j.Auth))
	}
	return op, err
}

// ptr returns a pointer to a value, for members that may be missing.
func ptr[T any](v T) *T { return &v }
