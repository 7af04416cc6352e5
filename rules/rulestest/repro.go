package rulestest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// repro returns a command line that decides the operation of a step again. Data
// that is no file's is taken from the test file, as it is before the step.
func (r *groupRun) repro(s *Step) string {
	if s.Op.Kind == Events || s.Op.Kind == Invariants {
		return ""
	}
	src := &r.suite.Rules
	if r.group.Rules != nil {
		src = r.group.Rules
	}
	here := fmt.Sprintf("%s#%d", r.suite.File, s.Line)
	rules, data := src.File, r.group.DataFile
	if rules == "" {
		rules = here
	}
	if r.moved || data == "" && !r.world.Root.IsEmpty() {
		data = here
	}
	return s.Op.Command("eval", rules, data)
}

// Command returns a command line that decides the operation, or explains it.
// rules and data are files; "" is no data.
func (op *Op) Command(verb, rules, data string) string {
	args := []string{"dogwood", "rules", verb, rules, "--op", op.Kind.String(), op.target()}
	if data != "" {
		args = append(args, "--data", data)
	}
	args = append(args, "--auth", op.Who.JSON())
	if op.Kind != Read {
		args = append(args, "--value", op.Value)
	} else if text := QueryText(op); text != "" {
		args = append(args, "--query", text)
	}
	if op.Socket {
		args = append(args, "--via", "socket")
	}
	args = append(args, "--now", strconv.FormatInt(op.Now, 10))
	for i, a := range args {
		args[i] = shellQuote(a)
	}
	return strings.Join(args, " ")
}

// target returns the path that a write names.
func (op *Op) target() string {
	return tree.Target{Path: op.Path, Priority: op.Priority}.String()
}

// At returns the first step at a line of the test file and its group.
func (s *Suite) At(line int) (*Group, *Step) {
	for _, g := range s.Groups {
		for _, step := range g.Steps {
			if step.Line == line {
				return g, step
			}
		}
	}
	return nil, nil
}

// Before runs what comes before the step at a line and returns the world that
// the step finds.
func (s *Suite) Before(ctx context.Context, rs *rules.Ruleset, line int) (World, error) {
	g, before := s.At(line)
	if g == nil {
		return World{}, fmt.Errorf("%s has no step at line %d", s.File, line)
	}
	run := &groupRun{Runner: &Runner{VerdictsOnly: true}, suite: s, group: g, rules: rs, world: World{g.Data}}
	for _, step := range g.Steps {
		if step == before {
			break
		}
		if _, err := run.step(ctx, step); err != nil {
			return World{}, err
		}
	}
	return run.world, nil
}

// shellQuote quotes an argument for a shell if it needs that.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QueryText returns the JSON of a read's query, "" for a plain read.
func QueryText(op *Op) string {
	if op.Plain || op.Kind != Read {
		return ""
	}
	q := op.Query
	j := map[string]any{}
	switch q.Order() {
	case tree.ByKey:
		j["orderByKey"] = true
	case tree.ByValue:
		j["orderByValue"] = true
	case tree.ByPriority:
		j["orderByPriority"] = true
	default:
		j["orderByChild"] = q.Order()
	}
	setBounds(j, q)
	switch {
	case q.Limit > 0 && q.FromLast:
		j["limitToLast"] = q.Limit
	case q.Limit > 0:
		j["limitToFirst"] = q.Limit
	}
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // valid nodes and numbers
	}
	return string(text)
}

// setBounds sets the members of a query that are its range.
func setBounds(j map[string]any, q tree.Query) {
	if q.Start.Set && q.End.Set && q.Start.Value == q.End.Value && !q.Start.Exclusive && !q.End.Exclusive {
		j["equalTo"] = json.RawMessage(q.Start.Value.JSON())
		return
	}
	set := func(inclusive, exclusive string, b tree.Bound) {
		if b.Exclusive {
			inclusive = exclusive
		}
		if b.Set {
			j[inclusive] = json.RawMessage(b.Value.JSON())
		}
	}
	set("startAt", "startAfter", q.Start)
	set("endAt", "endBefore", q.End)
}
