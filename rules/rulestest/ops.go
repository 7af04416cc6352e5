package rulestest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/tree"
)

// opsFormat is the member "format" by which Parse knows these files.
const opsFormat = "dogwood-model-ops/1"

// An opJSON is one step of a model's operations:
//
//	{"id": "s3", "as": "ana", "op": "create", "path": "/rooms/r1", "value": {…},
//	 "now": 1700000000000, "expect": {"allow": true}}
//
// Members that rules do not need are ignored: the files are also run by clients.
//
// The same files drive clients against a server, so these operations have the words of an
// SDK (create, transaction) and not those of rules.
type opJSON struct {
	ID       string          `json:"id"`
	As       string          `json:"as"`
	Op       string          `json:"op"`
	Path     string          `json:"path"`
	Now      int64           `json:"now"`
	Query    json.RawMessage `json:"query"`
	Shallow  bool            `json:"shallow"`
	Fields   []string        `json:"fields"`
	Value    json.RawMessage `json:"value"`
	Key      string          `json:"key"`
	Assume   json.RawMessage `json:"assume"`
	Returns  []string        `json:"returns"`
	Listener string          `json:"listener"`
	Expect   struct {
		Allow      *bool           `json:"allow"`
		Conflict   bool            `json:"conflict"`
		Value      json.RawMessage `json:"value"`
		Order      []string        `json:"order"`
		Invariants []string        `json:"invariants"`
		Events     []eventJSON     `json:"events"`
	} `json:"expect"`
}

// An eventJSON is one event that a listener should have got:
// {"type": "child_added", "key": "m1", "value": {"text": "hi"}}.
type eventJSON struct {
	Type  string          `json:"type"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// operations reads the operations of a model: one group whose steps run in order
// on one tree, and the invariants.
func (l *loader) operations(s *Suite) error {
	var f struct {
		Format     string
		Model      string
		Auth       map[string]json.RawMessage
		Invariants []json.RawMessage
	}
	top := l.doc.Root.Value.(*hujson.Object)
	if err := json.Unmarshal(jsonc.Strict(l.doc.Root), &f); err != nil {
		return l.at(&l.doc.Root, err)
	}
	if f.Format != opsFormat {
		return l.at(jsonc.Member(top, "format"), fmt.Errorf("unknown format %q; use %q", f.Format, opsFormat))
	}
	for name, raw := range f.Auth {
		a, err := ParseActor(string(raw))
		if err != nil {
			return l.at(jsonc.Member(top, "auth"), fmt.Errorf("actor %q: %w", name, err))
		}
		s.Actors[name] = a
	}
	for _, raw := range f.Invariants {
		inv, err := ParseInvariant(raw)
		if err != nil {
			return l.at(jsonc.Member(top, "invariants"), err)
		}
		s.Invariants = append(s.Invariants, inv)
	}
	g := &Group{Name: f.Model}
	s.Groups = []*Group{g}
	if err := l.opsSources(s, g, top); err != nil {
		return err
	}
	return l.opsSteps(s, g, top)
}

// opsSteps reads the steps of a model.
func (l *loader) opsSteps(s *Suite, g *Group, top *hujson.Object) error {
	steps, err := elements(jsonc.Member(top, "steps"))
	if err != nil {
		return l.at(&l.doc.Root, fmt.Errorf("steps: %w", err))
	}
	for i := range steps {
		step, err := readOp(s, jsonc.Strict(steps[i]))
		if err != nil {
			return l.at(&steps[i], err)
		}
		step.Line = l.line(&steps[i])
		g.Steps = append(g.Steps, step)
	}
	return nil
}

// opsSources reads the rules and the data that a model names.
func (l *loader) opsSources(s *Suite, g *Group, top *hujson.Object) (err error) {
	doc, data := jsonc.Member(top, "rules"), jsonc.Member(top, "data")
	if doc == nil || data == nil {
		return l.at(&l.doc.Root, errors.New("rules and data are missing"))
	}
	if s.Rules, err = l.rules(doc, rules.ParseOptions{}, true); err != nil {
		return l.at(doc, err)
	}
	if g.Data, g.DataFile, err = l.data(data); err != nil {
		return l.at(data, err)
	}
	return nil
}

// readOp reads one step.
func readOp(s *Suite, text []byte) (*Step, error) {
	var j opJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, err
	}
	who, ok := s.Actors[j.As]
	if !ok {
		return nil, fmt.Errorf("unknown actor %q", j.As)
	}
	step := &Step{Name: j.ID, Commit: true}
	if j.Op == "land" {
		step.Skip = "landing is no operation of a client"
		return step, nil
	}
	step.Op = Op{As: j.As, Who: who, Now: j.Now}
	if err := j.op(&step.Op); err != nil {
		return nil, fmt.Errorf("%s: %w", j.ID, err)
	}
	var err error
	if step.Want, err = j.want(&step.Op); err != nil {
		return nil, fmt.Errorf("%s: %w", j.ID, err)
	}
	return step, nil
}

// op reads what a step does (the table of operations of the data models).
func (j *opJSON) op(op *Op) (err error) {
	switch j.Op {
	case "get", "getFields", "listen":
		op.Fields, op.Shallow, op.Listener = j.Fields, j.Shallow, j.Listener
		op.Socket = j.Op == "listen"
		if op.Path, err = tree.ParsePath(j.Path); err != nil {
			return err
		}
		return op.setQuery(j.Query)
	case "events":
		op.Kind, op.Listener = Events, j.Listener
		return nil
	case "check":
		op.Kind = Invariants
		return nil
	case "set", "create", "transaction":
		if err = op.setWrite(j.Path, j.Value, nil); err != nil {
			return err
		}
		return j.condition(op)
	case "push":
		return op.setWrite(strings.TrimSuffix(j.Path, "/")+"/"+j.Key, j.Value, nil)
	case "delete":
		return op.setWrite(j.Path, json.RawMessage("null"), nil)
	case "update":
		op.Returns = j.Returns
		return op.setUpdate(j.Path, j.Value)
	}
	return fmt.Errorf("unknown operation %q", j.Op)
}

// condition sets what must be there for a create or a transaction to succeed.
func (j *opJSON) condition(op *Op) error {
	switch j.Op {
	case "create":
		op.Assume = ptr(tree.Empty)
	case "transaction":
		assumed, err := tree.ParseNode(string(j.Assume))
		if err != nil {
			return fmt.Errorf("assume: %w", err)
		}
		op.Assume = &assumed
	}
	return nil
}

// want reads what a step expects.
func (j *opJSON) want(op *Op) (Want, error) {
	e := &j.Expect
	w := Want{Order: e.Order, Broken: e.Invariants}
	switch {
	case e.Conflict:
		w.Verdict = Conflict
	case e.Allow != nil && *e.Allow:
		w.Verdict = Allow
	case e.Allow != nil:
		w.Verdict = Deny
	}
	for _, ev := range e.Events {
		v, err := parseData(ev.Value, DefaultNow)
		if err != nil {
			return w, err
		}
		w.Events = append(w.Events, Event{ev.Type, ev.Key, v})
	}
	if e.Value == nil {
		return w, nil
	}
	fields := map[string]json.RawMessage{"": e.Value}
	if op.Fields != nil || op.Returns != nil {
		fields = nil
		if err := json.Unmarshal(e.Value, &fields); err != nil {
			return w, err
		}
	}
	w.Values = make(map[string]tree.Node, len(fields))
	for name, raw := range fields {
		v, err := tree.ParseNode(string(raw))
		if err != nil {
			return w, fmt.Errorf("expected value of %q: %w", name, err)
		}
		w.Values[name] = v
	}
	return w, nil
}
