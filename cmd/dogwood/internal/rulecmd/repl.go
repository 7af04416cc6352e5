package rulecmd

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

type replCommand struct {
	File string `arg:"" help:"Rules file, or a test file: its rules, data and users."`
	Data string `help:"The stored data: a file, TESTFILE#LINE for the data of a test, or JSON." placeholder:"FILE" env:"-"`
	dataDocument
	language
}

func (replCommand) Help() string {
	return `Reads lines and answers them: an expression with its value, or a command. help
lists the commands, quit or Ctrl-D ends it. It can be used in a pipe.

Examples:

  dogwood rules repl database.rules.json --data data.json
  echo "root.child('rooms').exists()" | dogwood rules repl chat.rules-test.json`
}

const replHelp = `EXPRESSION            its value at the current path
:as NAME|JSON         the acting user: one of the test file, the variable auth, or null
:at PATH              the current path: that of data and newData
:set PATH JSON        a write that has not happened yet: newData sees it
:set                  forget these writes
:get PATH             the stored value, and after :set also the new one
:query JSON           the query that reads have; :query alone: none
:now TIME             the clock; :now alone: the real one
:read [PATH]          decide a read by the rules
:write PATH JSON      decide a write by the rules
:update PATH JSON     decide an update by the rules
:commit               make the writes of :set happen
:trace                show all rules and values, or no longer
:reload               read the files again
:help, help           this list
:quit, quit, exit     the end, as is Ctrl-D
`

// A repl is the state between the lines.
//
// Nothing that is entered changes a file or a server: writes are staged in
// memory, and expressions are evaluated by the code that a server runs.
type repl struct {
	*console.Env
	flags questionFlags
	basis *basis
	scene rulestest.Scene
	query string
	now   string
	trace bool
	set   bool // scene.After is not scene.Before
}

func (c *replCommand) Run(e *console.Env) error {
	r := &repl{Env: e, flags: questionFlags{File: c.File, Data: c.Data, dataDocument: c.dataDocument, language: c.language}}
	r.scene.Query, r.scene.Plain = tree.Query{OrderBy: tree.ByKey}, true
	if err := r.load(); err != nil {
		return err
	}
	prompt := ""
	if console.IsTerminal(e.Stdin) && console.IsTerminal(e.Stdout) {
		prompt = "> "
		fmt.Fprintln(e.Stdout, "help lists the commands, quit or Ctrl-D ends")
	}
	lines := bufio.NewScanner(e.Stdin)
	lines.Buffer(nil, 1<<20)
	for fmt.Fprint(e.Stdout, prompt); lines.Scan(); fmt.Fprint(e.Stdout, prompt) {
		line := strings.TrimSpace(lines.Text())
		if word, ok := replWords[line]; ok {
			line = word
		}
		if line == ":quit" {
			return nil
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.line(line); err != nil {
			fmt.Fprintln(e.Stdout, "error:", err)
		}
	}
	if prompt != "" {
		fmt.Fprintln(e.Stdout) // Ctrl-D left the cursor behind the prompt
	}
	return console.Unusable(lines.Err())
}

// replWords are other spellings of commands. None is an expression that compiles.
var replWords = map[string]string{
	"help": ":help", "?": ":help", ":?": ":help", ":h": ":help",
	"quit": ":quit", "exit": ":quit", ":exit": ":quit", ":q": ":quit",
}

// load reads the files.
func (r *repl) load() error {
	b, err := r.flags.basis(r.Env)
	if err != nil {
		return err
	}
	world, err := r.flags.world(r.Env, b)
	if err != nil {
		return err
	}
	r.basis = b
	r.scene.Options = b.src.Options
	r.scene.Before, r.scene.After, r.set = world, world, false
	r.move(r.scene.At)
	return nil
}

// move has expressions evaluated at a path, where captures are those of the rules there.
func (r *repl) move(p tree.Path) {
	r.scene.At, r.scene.Pattern = p, "/"+strings.Join(r.basis.rules.Pattern(p), "/")
}

// line answers one line.
func (r *repl) line(line string) error {
	if !strings.HasPrefix(line, ":") {
		return r.expression(line)
	}
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	command, ok := replCommands[name]
	if !ok {
		return fmt.Errorf("unknown command %s; :help lists them", name)
	}
	return command(r, rest)
}

var replCommands = map[string]func(*repl, string) error{
	":help":   func(r *repl, _ string) error { fmt.Fprint(r.Stdout, replHelp); return nil },
	":as":     (*repl).as,
	":at":     (*repl).at,
	":set":    (*repl).stage,
	":get":    (*repl).get,
	":query":  (*repl).setQuery,
	":now":    (*repl).setNow,
	":read":   func(r *repl, rest string) error { return r.decide("read", rest) },
	":write":  func(r *repl, rest string) error { return r.decide("write", rest) },
	":update": func(r *repl, rest string) error { return r.decide("update", rest) },
	":commit": func(r *repl, _ string) error { r.scene.Before, r.set = r.scene.After, false; return nil },
	":trace":  (*repl).toggleTrace,
	":reload": func(r *repl, _ string) error { return r.load() },
}

// clock returns the time that operations happen at.
func (r *repl) clock() int64 {
	if r.now == "" {
		return time.Now().UnixMilli()
	}
	now, _ := parseNow(r.now) // setNow checked it
	return now
}

// expression prints the value of an expression.
func (r *repl) expression(src string) error {
	r.scene.Now = r.clock()
	v, err := r.scene.Evaluate(r.Ctx, src)
	if err != nil {
		return err
	}
	if r.trace {
		for _, part := range v.Parts {
			fmt.Fprintf(r.Stdout, "  %s: %s\n", part.Expr, part.Text)
		}
	}
	if v.Failed {
		return fmt.Errorf("%s", v.Text)
	}
	fmt.Fprintln(r.Stdout, v.Text)
	return nil
}

func (r *repl) as(who string) error {
	flags := questionFlags{Auth: who}
	if r.basis.suite != nil {
		if _, ok := r.basis.suite.Actors[strings.TrimPrefix(who, "@")]; ok {
			flags.Auth = "@" + strings.TrimPrefix(who, "@")
		}
	}
	var op rulestest.Op
	if err := flags.who(r.basis, &op); err != nil {
		return err
	}
	r.scene.Who = op.Who
	return nil
}

func (r *repl) at(path string) error {
	p, err := tree.ParsePath(path)
	if err != nil {
		return err
	}
	r.move(p)
	fmt.Fprintln(r.Stdout, p, "is", r.scene.Pattern)
	return nil
}

// stage notes a write that newData sees.
func (r *repl) stage(rest string) error {
	if rest == "" {
		r.scene.After, r.set = r.scene.Before, false
		return nil
	}
	op, err := r.operation("write", rest)
	if err != nil {
		return err
	}
	after, err := r.scene.After.Stage(&op)
	if err != nil {
		return err
	}
	r.scene.After, r.set = after, true
	return nil
}

func (r *repl) get(path string) error {
	p, err := tree.ParsePath(path)
	if err != nil {
		return err
	}
	before, after := r.scene.Before.Root.Get(p), r.scene.After.Root.Get(p)
	fmt.Fprintln(r.Stdout, before.JSON())
	if r.set && before != after {
		fmt.Fprintln(r.Stdout, "becomes", after.JSON())
	}
	return nil
}

func (r *repl) setQuery(text string) error {
	if text != "" {
		q, err := rulestest.ParseQuery(text)
		if err != nil {
			return err
		}
		r.scene.Query, r.scene.Plain = q, false
	} else {
		r.scene.Query, r.scene.Plain = tree.Query{OrderBy: tree.ByKey}, true
	}
	r.query = text
	return nil
}

func (r *repl) setNow(text string) error {
	if text != "" {
		if _, err := parseNow(text); err != nil {
			return err
		}
	}
	r.now = text
	return nil
}

func (r *repl) toggleTrace(string) error {
	r.trace = !r.trace
	state := "off"
	if r.trace {
		state = "on"
	}
	fmt.Fprintln(r.Stdout, "trace", state)
	return nil
}

// operation reads "PATH JSON", or "PATH" of a read.
func (r *repl) operation(kind, rest string) (rulestest.Op, error) {
	path, value, _ := strings.Cut(rest, " ")
	t := rulestest.OpText{Kind: kind, Path: path, Value: strings.TrimSpace(value)}
	if kind == "read" {
		t.Query = r.query
		if path == "" {
			t.Path = r.scene.At.String()
		}
	}
	op, err := t.Parse()
	op.Now, op.Who = r.clock(), r.scene.Who
	return op, err
}

// decide asks the rules about an operation.
func (r *repl) decide(kind, rest string) error {
	op, err := r.operation(kind, rest)
	if err != nil {
		return err
	}
	request, err := op.Request(r.scene.Before)
	if err != nil {
		return err
	}
	if op.Who.Admin && request.Kept != "" {
		fmt.Fprintln(r.Stdout, "denied:", request.Kept)
		return nil
	}
	if op.Who.Admin {
		fmt.Fprintln(r.Stdout, "allowed: rules do not apply to administrators")
		return nil
	}
	t, err := r.basis.rules.Explain(r.Ctx, request)
	if err != nil {
		return err
	}
	return explain.Text(r.Stdout, request, t, explain.Options{Values: true, Deciding: !r.trace, File: r.basis.src.File})
}
