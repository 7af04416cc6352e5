package rulecmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/project"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// questionFlags are one operation and what it is decided by.
type questionFlags struct {
	File  string `arg:"" help:"Rules file, test file, or TESTFILE#LINE: the rules, the data and the users of a test."`
	Path  string `arg:"" optional:"" help:"Path in the database; without it, the operation of the test is decided."`
	Op    string `help:"read, write or update." default:"read" enum:"read,write,update" env:"-"`
	Data  string `help:"The stored data: a file, TESTFILE#LINE for the data of a test, or JSON." placeholder:"FILE" env:"-"`
	Auth  string `help:"The acting user: the variable auth as JSON, null, {\"admin\":true}, or @NAME for a user of the test file." placeholder:"JSON" env:"-"`
	Value string `help:"The value of a write, or the values of an update by path, as JSON." placeholder:"JSON" env:"-"`
	Query string `help:"The query of a read, as JSON: {\"orderByChild\":\"type\",\"limitToFirst\":10}." placeholder:"JSON" env:"-"`
	Via   string `help:"Interface of a read without a query: rest or socket." default:"rest" enum:"rest,socket" env:"-"`
	Now   string `help:"The clock: milliseconds since 1970 or a time like 2026-01-02T15:04:05Z. The real one if it is not given." placeholder:"TIME" env:"-"`
	dataDocument
	language
}

// evalCommand decides one operation without a server. Its exit code tells programs the
// decision.
type evalCommand struct {
	questionFlags
	Explain string `help:"How much to explain: none, deciding (the rule that decides) or full." default:"deciding" enum:"none,deciding,full" env:"-"`
	JSON    bool   `name:"json" help:"Print JSON." env:"-"`
}

func (evalCommand) Help() string {
	return `The exit code is 0 if the operation is allowed, 1 if it is denied, 2 if it cannot
be decided.

Examples:

  dogwood rules eval database.rules.json /rooms/r1 --data data.json --auth '{"uid":"ann"}'
  dogwood rules eval database.rules.json --op write /rooms/r1/name --value '"Lobby"' --auth null
  dogwood rules eval database.rules.json --op update / --value '{"a":1,"b/c":null}'
  dogwood rules eval chat.rules-test.json /rooms --auth @ann --query '{"orderByKey":true}'
  dogwood rules eval chat.rules-test.json#42`
}

func (c *evalCommand) Run(e *console.Env) error { return c.run(e, c.Explain, c.JSON) }

// explainCommand is evalCommand with every value that the rules have read.
type explainCommand struct {
	questionFlags
	JSON bool `name:"json" help:"Print JSON." env:"-"`
}

func (explainCommand) Help() string {
	return `The same as dogwood rules eval --explain full.

Examples:

  dogwood rules explain database.rules.json /rooms/r1 --data data.json --auth '{"uid":"ann"}'
  dogwood rules explain chat.rules-test.json#42`
}

func (c *explainCommand) Run(e *console.Env) error { return c.run(e, "full", c.JSON) }

// run decides the operation and explains it.
func (c *questionFlags) run(e *console.Env, level string, asJSON bool) error {
	q, err := c.question(e)
	if err != nil {
		return err
	}
	if q.op.Who.Admin && q.request.Kept != "" {
		fmt.Fprintln(e.Stdout, "denied:", q.request.Kept)
		return console.Failed("")
	}
	if q.op.Who.Admin {
		fmt.Fprintln(e.Stdout, "allowed: rules do not apply to administrators")
		return nil
	}
	t, err := q.rules.Explain(e.Ctx, q.request)
	if err != nil {
		return console.Unusable(err)
	}
	if err := q.tell(e.Stdout, t, level, asJSON); err != nil {
		return err
	}
	if !t.Allow {
		return console.Failed("")
	}
	return nil
}

// A question is an operation that is to be decided.
//
// It is put together from three sources, and a later one overrides the one
// before: a rules or test file, the test at a line, and flags. So a failed test
// can be tried again with one thing changed.
type question struct {
	src     *rulestest.Source
	rules   *rules.Ruleset
	op      rulestest.Op
	request *rules.Request
}

func (q *question) tell(w io.Writer, t *rules.Trace, level string, asJSON bool) error {
	o := explain.Options{Values: true, Deciding: level == "deciding", File: q.src.File}
	switch {
	case asJSON:
		report := explain.NewReport(q.request, t, o)
		if level == "none" {
			report.Steps = []explain.StepReport{}
		}
		text, err := report.JSON()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	case level == "none":
		verdict := rulestest.Deny
		if t.Allow {
			verdict = rulestest.Allow
		}
		_, err := fmt.Fprintln(w, verdict)
		return err
	}
	return explain.Text(w, q.request, t, o)
}

// question reads everything that the flags name.
func (c *questionFlags) question(e *console.Env) (*question, error) {
	b, err := c.basis(e)
	if err != nil {
		return nil, err
	}
	q := &question{src: b.src, rules: b.rules}
	if c.Path == "" {
		if b.step == nil {
			return nil, console.Unusable(errors.New("no path is given; write it after the file, such as /rooms/r1"))
		}
		q.op = b.step.Op
	} else {
		q.op, err = rulestest.OpText{Kind: c.Op, Path: c.Path, Value: c.Value, Query: c.Query, Socket: c.Via == "socket"}.Parse()
		if c.Op != "read" && c.Value == "" {
			err = errors.New("--value is missing: what is written, as JSON; null removes")
		}
		if err != nil {
			return nil, console.Unusable(err)
		}
		q.op.Now = time.Now().UnixMilli()
	}
	if err := c.who(b, &q.op); err != nil {
		return nil, console.Unusable(fmt.Errorf("--auth: %w", err))
	}
	if c.Now != "" {
		if q.op.Now, err = parseNow(c.Now); err != nil {
			return nil, console.Unusable(err)
		}
	}
	world, err := c.world(e, b)
	if err != nil {
		return nil, err
	}
	q.request, err = q.op.Request(world)
	return q, console.Unusable(err)
}

// A basis is the part of an operation that a rules file or a test provides. Flags replace
// parts of it.
type basis struct {
	src   *rulestest.Source
	rules *rules.Ruleset
	suite *rulestest.Suite // nil for a rules file
	step  *rulestest.Step  // nil without a line
	world rulestest.World
}

// basis reads the file: rules, or a test file with its rules, data and users.
func (c *questionFlags) basis(e *console.Env) (*basis, error) {
	name, line := atLine(c.File)
	if err := c.checkOrder(name); err != nil {
		return nil, console.Unusable(err)
	}
	if line == 0 && !rulestest.IsTestFile(name) {
		src, err := c.source(e, name)
		if err != nil {
			return nil, err
		}
		rs, err := compile(e, src)
		return &basis{src: src, rules: rs}, err
	}
	return testBasis(e, name, line)
}

// checkOrder finds arguments in the order of another tool: the operation or the path first.
func (c *questionFlags) checkOrder(name string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	isOperation := slices.Contains([]string{"read", "write", "update"}, name)
	if _, err := os.Stat(c.Path); err == nil && c.Path != "" && strings.HasPrefix(name, "/") {
		return fmt.Errorf("%s: there is no such file; the rules come before the path: %s %s", name, c.Path, name)
	}
	if !isOperation {
		return nil
	}
	file := cmp.Or(project.FindRules(), "RULES")
	return fmt.Errorf("%s: there is no such file; the rules come first, and the operation is a flag: %s %s --op %[1]s", name, file, cmp.Or(c.Path, "PATH"))
}

// testBasis reads a test file, and what the test at a line finds. Line 0 is no
// test: then the data is that of the first group.
func testBasis(e *console.Env, name string, line int) (*basis, error) {
	suite, err := rulestest.Load(name)
	if err != nil {
		return nil, console.Unusable(err)
	}
	b := &basis{src: &suite.Rules, suite: suite}
	if line == 0 {
		if len(suite.Groups) > 0 {
			if b.world, err = suite.World(suite.Groups[0]); err != nil {
				return nil, console.Unusable(err)
			}
		}
		b.rules, err = compile(e, b.src)
		return b, err
	}
	group, step := suite.At(line)
	if step == nil {
		return nil, console.Unusable(fmt.Errorf("%s has no test at line %d", name, line))
	}
	b.step = step
	if group.Rules != nil {
		b.src = group.Rules
	}
	if b.src.File == "" {
		b.src.File = name
	}
	if b.rules, err = compile(e, b.src); err != nil {
		return nil, err
	}
	b.world, err = suite.Before(e.Ctx, b.rules, line)
	return b, console.Unusable(err)
}

// atLine divides "FILE#LINE"; the line is 0 if there is none.
func atLine(s string) (file string, line int) {
	i := strings.LastIndexByte(s, '#')
	if i < 0 {
		return s, 0
	}
	line, err := strconv.Atoi(s[i+1:])
	if err != nil || line < 1 {
		return s, 0
	}
	return s[:i], line
}

// isWord reports whether an actor may be meant as the id of a user.
func isWord(text string) bool {
	return !strings.ContainsAny(text, "{}[]\"' ")
}

// who sets the actor of the operation.
func (c *questionFlags) who(b *basis, op *rulestest.Op) error {
	name, isName := strings.CutPrefix(c.Auth, "@")
	switch {
	case c.Auth == "":
		return nil
	case !isName:
		who, err := rulestest.ParseActor(c.Auth)
		op.Who = who
		switch {
		case err == nil:
			return nil
		case isWord(c.Auth):
			return fmt.Errorf("%w; did you mean '{\"uid\":%q}'?", err, c.Auth)
		case !json.Valid([]byte(c.Auth)):
			return fmt.Errorf("%w, which is no JSON: names and texts are in double quotes", err)
		}
		return err
	case b.suite == nil:
		return errors.New("@NAME is a user of a test file; name one instead of the rules file")
	}
	who, ok := b.suite.Actors[name]
	if !ok {
		return fmt.Errorf("%s has no user %q", b.suite.File, name)
	}
	op.As, op.Who = name, who
	return nil
}

// world returns the data, with what follows from them by the data document.
func (c *questionFlags) world(e *console.Env, b *basis) (rulestest.World, error) {
	document, err := c.document()
	if err != nil {
		return rulestest.World{}, err
	}
	if document == nil && b.suite != nil {
		document = b.suite.Document
	}
	world := b.world
	if c.Data != "" {
		world, err = readWorld(e, c.Data)
	}
	if err != nil || document == nil {
		return world, err
	}
	world, err = world.Declare(document)
	return world, console.Unusable(err)
}

// readWorld reads data: from a file, from a test, or JSON itself.
func readWorld(e *console.Env, data string) (rulestest.World, error) {
	if name, line := atLine(data); line > 0 {
		b, err := testBasis(e, name, line)
		if err != nil {
			return rulestest.World{}, err
		}
		return b.world, nil
	}
	text := data
	if !strings.HasPrefix(strings.TrimSpace(data), "{") && !json.Valid([]byte(data)) {
		var err error
		if text, err = readText(e, data); err != nil {
			return rulestest.World{}, console.Unusable(err)
		}
	}
	n, err := rulestest.ParseData(text, time.Now().UnixMilli())
	if err != nil {
		return rulestest.World{}, console.Unusable(fmt.Errorf("%s:%w", data, err))
	}
	return rulestest.World{Root: n}, nil
}

// parseNow reads a clock in milliseconds or as RFC 3339.
func parseNow(s string) (int64, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, fmt.Errorf("--now %s: neither milliseconds nor a time like 2026-01-02T15:04:05Z", s)
	}
	return t.UnixMilli(), nil
}
