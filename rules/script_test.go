package rules

import (
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/tree"
)

var rewrite = flag.Bool("rewrite", false, "record the answers in testdata/rules anew")

// TestScripts runs the files of testdata/rules. Between prose (#) they hold
// commands: a line "command argument", the lines of its input, "----", and the
// answer up to an empty line.
//
//	rules          parse the input; the commands after it use these rules
//	strict         print the rules as strict JSON
//	data           replace the stored data by the input
//	read PATH      decide a read
//	as             act as the input: the variable auth, null to be signed out
//	write PATH     decide a write of the input; a PATH may end in .priority
//	update PATH    decide a multi-path write of the input
//	explain PATH   tell how a read is decided, or a write if there is input
//	indexes PATH   list the indexes over the children of PATH
//	indexes        list all indexes
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/rules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			runScript(t, file)
		})
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := session{t: t}
	var out strings.Builder
	lines := strings.SplitAfter(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		command := strings.TrimSpace(lines[i])
		if command == "" || strings.HasPrefix(command, "#") {
			continue
		}
		start := i + 1
		for i++; i < len(lines) && lines[i] != "----\n"; i++ {
		}
		input := strings.Join(lines[start:i], "")
		answer := i + 1
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
		}
		want := strings.Join(lines[min(answer, len(lines)):min(i, len(lines))], "")
		got := strings.TrimSuffix(s.run(command, strings.TrimSuffix(input, "\n")), "\n") + "\n"
		if got != want && !*rewrite {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", filepath.Base(file), start, command, got, want)
		}
		out.WriteString(input + "----\n" + got + "\n")
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// A session is the state between the commands of a script.
type session struct {
	t     *testing.T
	rules *Ruleset
	data  tree.Node
	auth  Auth
}

func (s *session) run(command, input string) string {
	name, arg, _ := strings.Cut(command, " ")
	switch name {
	case "rules":
		r, err := Parse(input)
		if err != nil {
			return err.Error()
		}
		s.rules = r
		return "ok"
	case "strict":
		return s.rules.Strict()
	case "data":
		n, err := tree.ParseNode(input)
		if err != nil {
			s.t.Fatal(err)
		}
		s.data = n
		return "ok"
	case "as":
		s.auth = NewAuth(input)
		return "ok"
	case "read":
		return s.check(&Request{Op: OpRead, Path: tree.MustParsePath(arg)})
	case "write":
		return s.check(&Request{Op: OpWrite, Writes: writes(s.t, stored{s.data}, false, arg, input)})
	case "update":
		return s.check(&Request{Op: OpWrite, Writes: writes(s.t, stored{s.data}, true, arg, input)})
	case "explain":
		return s.explain(arg, input)
	case "indexes":
		if arg == "" {
			return indexLines(s.rules.AllIndexes())
		}
		return indexLines(s.rules.Indexes(tree.MustParsePath(arg)))
	}
	s.t.Fatalf("unknown command %q", name)
	return ""
}

func (s *session) check(q *Request) string {
	q.Data, q.Auth, q.Now = stored{s.data}, s.auth, time.UnixMilli(testNow)
	d, err := s.rules.Check(s.t.Context(), q)
	if err != nil {
		return err.Error()
	}
	answer := "deny"
	if d.Allow {
		answer = "allow"
	}
	return strings.TrimSpace(answer + " " + d.Rule)
}

func (s *session) explain(path, value string) string {
	q := &Request{Op: OpRead, Data: stored{s.data}, Auth: s.auth, Now: time.UnixMilli(testNow)}
	if value == "" {
		q.Path = tree.MustParsePath(path)
	} else {
		q.Op, q.Writes = OpWrite, writes(s.t, q.Data, false, path, value)
	}
	x, err := s.rules.Explain(s.t.Context(), q)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "allow %t %s\n", x.Allow, x.Rule)
	for _, step := range x.Steps {
		fmt.Fprintf(&b, "%s %s at %s %v %s\n", step.Rule.Pos, step.Rule.Path, step.Path, step.Outcome, step.Why)
		for _, v := range step.Values {
			from, _ := v.Expr.Span()
			fmt.Fprintf(&b, "  %s %s = %s\n", step.Rule.At(from), v.Expr, v.Text)
		}
	}
	return b.String()
}

func indexLines(defs []IndexDef) string {
	if len(defs) == 0 {
		return "none"
	}
	var b strings.Builder
	for _, d := range defs {
		b.WriteString(d.Pattern + " " + d.Order + "\n")
	}
	return b.String()
}

// writes reads a write, or a multi-path write at a base path.
func writes(t *testing.T, data tree.Reader, merge bool, path, value string) []tree.ResolvedWrite {
	t.Helper()
	return writesAt(t, time.UnixMilli(testNow), data, merge, path, value)
}

func writesAt(t *testing.T, now time.Time, data tree.Reader, merge bool, path, value string) []tree.ResolvedWrite {
	t.Helper()
	target, err := tree.ParseTarget(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var u tree.Update
	if merge {
		u, err = tree.ParseUpdate(target.Path, value, tree.Strict)
	} else {
		var w tree.Write
		w, err = tree.ParseWrite(target, value, tree.Strict)
		u = tree.Update{w}
	}
	if err != nil {
		t.Fatalf("%s at %s: %v", value, path, err)
	}
	resolved := make([]tree.ResolvedWrite, len(u))
	for i, w := range u {
		n, err := w.Value.Resolve(now.UnixMilli(), func(rel tree.Path) (tree.Node, error) {
			return data.Get(w.Path.Join(rel))
		})
		if err != nil {
			t.Fatalf("%s at %s: %v", value, path, err)
		}
		resolved[i] = tree.ResolvedWrite{Target: w.Target, Node: n}
	}
	return resolved
}

const testNow = 1234567890123

// stored is a Reader of data that is in memory.
type stored struct{ tree.Node }

func (s stored) Get(p tree.Path) (tree.Node, error)      { return s.Node.Get(p), nil }
func (s stored) Has(p tree.Path) (bool, error)           { return !s.Node.Get(p).IsEmpty(), nil }
func (s stored) Priority(p tree.Path) (tree.Node, error) { return s.Node.Get(p).Priority(), nil }

func (s stored) Peek(p tree.Path) (tree.Node, bool, error) {
	if n := s.Node.Get(p); !n.IsObject() {
		return n, false, nil
	}
	return tree.Empty, true, nil
}

func (s stored) Keys(p tree.Path) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for key := range s.Node.Get(p).Children() {
			if !yield(key, nil) {
				return
			}
		}
	}
}
