package rulestest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/tree"
)

// maxSteps bounds the steps of a file, which "for" multiplies.
const maxSteps = 100_000

// A fileJSON is a test file without what needs positions.
type fileJSON struct {
	optionsJSON
	Rules   json.RawMessage `json:"rules"`
	Now     *int64          `json:"now"`
	Users   json.RawMessage `json:"users"`
	Data    json.RawMessage `json:"data"`
	Declare json.RawMessage `json:"dataDocument"`
	Tests   json.RawMessage `json:"tests"`
	Mutants struct {
		Ignore []IgnoredMutant `json:"ignore"`
	} `json:"mutants"`
}

// A testJSON is one entry of tests, after "for" was expanded:
//
//	{"name": "members write", "as": ["ana", "bo"], "write": "/rooms/r1/topic",
//	 "value": "tea", "expect": "allow"}
//
// Members that may be missing without having their zero value are pointers or raw
// JSON: "value": null removes, a missing "value" is a mistake.
//
// A member that is unknown is refused (decode): a test with a misspelt "expect" would
// otherwise pass without testing anything.
type testJSON struct {
	Name     string          `json:"name"`
	Skip     string          `json:"skip"`
	As       names           `json:"as"`
	Auth     json.RawMessage `json:"auth"`
	Read     *string         `json:"read"`
	Write    *string         `json:"write"`
	Update   *string         `json:"update"`
	Via      string          `json:"via"`
	Query    json.RawMessage `json:"query"`
	Value    json.RawMessage `json:"value"`
	Values   json.RawMessage `json:"values"`
	Priority json.RawMessage `json:"priority"`
	Now      *int64          `json:"now"`
	Expect   expectJSON      `json:"expect"`
	By       string          `json:"by"`
	At       string          `json:"at"`
	Commit   *bool           `json:"commit"`
}

// A groupJSON is an entry of tests that has steps. Each step sees what the ones before
// it have written; the next group begins with the data of the file again.
type groupJSON struct {
	Group string          `json:"group"`
	Data  json.RawMessage `json:"data"`
	Now   *int64          `json:"now"`
	Steps json.RawMessage `json:"steps"`
}

// names is a text or a list of texts.
type names []string

// UnmarshalJSON reads "ana" or ["ana", "bo"].
func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		return errors.New("as must be a name or a list of names")
	}
	*n = list
	return nil
}

// An expectJSON is a verdict, or an object that says more.
type expectJSON struct {
	Verdict Verdict
	Reason  Reason
	At      string
	Value   json.RawMessage
}

// UnmarshalJSON reads "deny", or {"verdict": "deny", "reason": "validate", "at": …}.
func (e *expectJSON) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &e.Verdict) == nil {
		return nil
	}
	var j struct {
		Verdict Verdict         `json:"verdict"`
		Reason  Reason          `json:"reason"`
		At      string          `json:"at"`
		By      string          `json:"by"`
		Value   json.RawMessage `json:"value"`
	}
	if err := decode(text, &j); err != nil {
		return fmt.Errorf("expect: %w", err)
	}
	*e = expectJSON{j.Verdict, j.Reason, j.At + j.By, j.Value}
	return nil
}

// A testReader reads the tests of one file. It counts their steps, because "for" and
// lists of actors multiply them. The bound on steps is checked here, before they are
// made: a few lines of "for" could ask for billions.
type testReader struct {
	*loader
	suite *Suite
	steps int
}

// tests reads a file of the format of rules §11.3.
func (l *loader) tests(s *Suite) error {
	top := &l.doc.Root
	var f fileJSON
	if err := decode(jsonc.Strict(*top), &f); err != nil {
		return l.at(top, err)
	}
	obj := top.Value.(*hujson.Object)
	if f.Now != nil {
		l.now = *f.Now
	}
	r := &testReader{loader: l, suite: s}
	options, err := ParseOptions(f.Dialect, f.Extensions)
	if err != nil {
		return l.at(top, err)
	}
	rules := jsonc.Member(obj, "rules")
	if rules == nil {
		return l.at(top, errors.New(`"rules" is missing: the name of a file, or the rules themselves`))
	}
	if s.Rules, err = l.rules(rules, options, true); err != nil {
		return l.at(rules, err)
	}
	if v := jsonc.Member(obj, "dataDocument"); v != nil {
		if s.Document, s.Declared, err = l.document(v); err != nil {
			return l.at(v, err)
		}
	}
	if users := jsonc.Member(obj, "users"); users != nil {
		if s.Actors, err = actors(jsonc.Strict(*users)); err != nil {
			return l.at(users, err)
		}
	}
	s.Ignore = f.Mutants.Ignore
	if slices.ContainsFunc(s.Ignore, func(m IgnoredMutant) bool { return m.Why == "" }) {
		return l.at(jsonc.Member(obj, "mutants"), errors.New(`an ignored mutant needs a reason: "why"`))
	}
	group := &Group{}
	if data := jsonc.Member(obj, "data"); data != nil {
		if group.Data, group.DataFile, err = l.data(data); err != nil {
			return l.at(data, err)
		}
	}
	return r.entries(jsonc.Member(obj, "tests"), group)
}

// actors reads the member "users": the variable auth of each by their names.
func actors(text []byte) (map[string]Actor, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.New("users must be an object")
	}
	users := make(map[string]Actor, len(list))
	for name, raw := range list {
		a, err := ParseActor(string(raw))
		if err != nil {
			return nil, fmt.Errorf("user %q: %w", name, err)
		}
		users[name] = a
	}
	return users, nil
}

// entries reads the list of tests. Those that are in no group make one of their
// own, in which nothing is committed unless a test says so.
func (r *testReader) entries(v *hujson.Value, top *Group) error {
	list, err := elements(v)
	if err != nil {
		return r.at(&r.doc.Root, fmt.Errorf("tests: %w", err))
	}
	for i := range list {
		if obj, ok := list[i].Value.(*hujson.Object); ok && jsonc.Member(obj, "steps") != nil {
			err = r.group(&list[i], obj, top)
		} else {
			err = r.add(top, &list[i], r.now, false)
		}
		if err != nil {
			return r.at(&list[i], err)
		}
	}
	if len(top.Steps) > 0 {
		r.suite.Groups = append([]*Group{top}, r.suite.Groups...)
	}
	return nil
}

// group reads a series of steps. Its data are the file's unless it has its own.
func (r *testReader) group(v *hujson.Value, obj *hujson.Object, top *Group) error {
	instances, err := expand(v)
	if err != nil {
		return err
	}
	for _, instance := range instances {
		obj = instance.value.Value.(*hujson.Object)
		var j groupJSON
		if err := decode(jsonc.Strict(instance.value), &j); err != nil {
			return err
		}
		g := &Group{Name: j.Group + instance.label, Data: top.Data, DataFile: top.DataFile}
		if g.Name == "" {
			g.Name = fmt.Sprintf("line %d", r.line(v))
		}
		if data := jsonc.Member(obj, "data"); data != nil {
			if g.Data, g.DataFile, err = r.data(data); err != nil {
				return err
			}
		}
		now := r.now
		if j.Now != nil {
			now = *j.Now
		}
		steps, err := elements(jsonc.Member(obj, "steps"))
		if err != nil {
			return err
		}
		for i := range steps {
			if err := r.add(g, &steps[i], now, true); err != nil {
				return r.at(&steps[i], err)
			}
		}
		r.suite.Groups = append(r.suite.Groups, g)
	}
	return nil
}

// add reads one test, which "for" and a list of actors make many of, and adds it
// to a group.
func (r *testReader) add(g *Group, v *hujson.Value, now int64, commit bool) error {
	instances, err := expand(v)
	if err != nil {
		return err
	}
	for _, instance := range instances {
		var j testJSON
		if err := decode(jsonc.Strict(instance.value), &j); err != nil {
			return err
		}
		if j.Now == nil {
			j.Now = &now
		}
		if j.Commit == nil {
			j.Commit = &commit
		}
		list, err := r.step(&j, instance.label)
		if err != nil {
			return err
		}
		if r.steps += len(list); r.steps > maxSteps {
			return fmt.Errorf("more than %d steps", maxSteps)
		}
		for _, s := range list {
			s.Line = r.line(v)
		}
		g.Steps = append(g.Steps, list...)
	}
	return nil
}

// step makes the steps of one test, one for each actor.
func (r *testReader) step(j *testJSON, label string) ([]*Step, error) {
	op, err := j.op()
	if err != nil {
		return nil, err
	}
	want, err := j.want()
	if err != nil {
		return nil, err
	}
	if j.Auth != nil {
		if j.As != nil {
			return nil, errors.New("give only one of as and auth")
		}
		if op.Who, err = ParseActor(string(j.Auth)); err != nil {
			return nil, err
		}
		return []*Step{j.named(op, want, label)}, nil
	}
	if j.As == nil {
		return nil, errors.New(`"as" or "auth" is missing: "as" names a user, "auth" is the variable itself`)
	}
	var list []*Step
	for _, name := range j.As {
		who, ok := r.suite.Actors[name]
		if !ok {
			return nil, fmt.Errorf("unknown user %q", name)
		}
		op := op
		op.As, op.Who = name, who
		l := label
		if len(j.As) > 1 && j.Name != "" {
			l += "[" + name + "]"
		}
		list = append(list, j.named(op, want, l))
	}
	return list, nil
}

// named makes a step and gives it a name if it has none.
func (j *testJSON) named(op Op, want Want, label string) *Step {
	name := j.Name
	if name == "" {
		name = op.String()
	} else {
		name += label
	}
	return &Step{Name: name, Skip: j.Skip, Op: op, Want: want, Commit: *j.Commit}
}

// op reads what a test does, but for who does it.
func (j *testJSON) op() (Op, error) {
	op := Op{Now: *j.Now}
	var err error
	switch {
	case j.Read != nil && j.Write == nil && j.Update == nil:
		err = j.read(&op)
	case j.Write != nil && j.Read == nil && j.Update == nil:
		err = op.setWrite(*j.Write, j.Value, j.Priority)
	case j.Update != nil && j.Read == nil && j.Write == nil:
		err = op.setUpdate(*j.Update, j.Values)
	default:
		err = errors.New("a test needs exactly one of read, write and update")
	}
	return op, err
}

// read reads what a read selects, and through which interface it comes.
func (j *testJSON) read(op *Op) error {
	path, err := tree.ParsePath(*j.Read)
	if err != nil {
		return fmt.Errorf("%s: %w", *j.Read, err)
	}
	switch j.Via {
	case "", "rest":
	case "socket":
		op.Socket = true
	default:
		return fmt.Errorf("unknown via %q; use rest or socket", j.Via)
	}
	op.Path = path
	return op.setQuery(j.Query)
}

// want reads what a test expects.
func (j *testJSON) want() (Want, error) {
	w := Want{Verdict: j.Expect.Verdict, Reason: j.Expect.Reason, Rule: rulePath(j.Expect.At + j.By + j.At)}
	switch w.Verdict {
	case Allow, Deny:
	case "":
		return w, errors.New(`"expect" is missing: allow or deny`)
	default:
		return w, fmt.Errorf("expect must be allow or deny, not %q", w.Verdict)
	}
	switch w.Reason {
	case "", NoGrant, Invalid, RunError, Unbounded, Kept:
	default:
		return w, fmt.Errorf("unknown reason %q; use no-grant, validate, error, limit or declared", w.Reason)
	}
	if w.Rule != "" && !strings.HasPrefix(w.Rule, "/") {
		return w, fmt.Errorf("%q is not a rule; write it as /rooms/$room .read", w.Rule)
	}
	if j.Expect.Value != nil {
		v, err := tree.ParseNode(string(j.Expect.Value))
		if err != nil {
			return w, fmt.Errorf("expect: %w", err)
		}
		w.Values = map[string]tree.Node{"": v}
	}
	return w, nil
}
