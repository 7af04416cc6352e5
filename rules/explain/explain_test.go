package explain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/explain"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// A script is what the commands of testdata/explain share.
type script struct {
	rules *rules.Ruleset
	world rulestest.World
}

// TestScripts runs testdata/explain. Its commands are
//
//	rules                                   the rules that follow; if they are wrong, what is drawn
//	data                                    the JSON that is stored
//	read PATH [as=UID] [in=FORM]            decide a read; the forms are text, values, deciding, brief, json
//	write PATH [as=UID] [in=FORM] [unread]  decide a write of the JSON below, or an update if it ends in /*;
//	                                        unread: before the JSON is read
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "../../testdata/explain", func(t *testing.T, file string) {
		s := new(script)
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "rules":
				return s.parse(d.Input)
			case "data":
				n, err := tree.ParseNode(d.Input)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				s.world.Root = n
				return ""
			case "read", "write":
				return s.decide(t, d)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func (s *script) parse(text string) string {
	r, err := rules.Parse(text)
	if errs := (rules.Errors)(nil); errors.As(err, &errs) {
		var b strings.Builder
		_ = explain.Errors(&b, "rules.json", text, errs)
		return b.String()
	}
	s.rules = r
	return ""
}

func (s *script) decide(t *testing.T, d *datadriven.TestData) string {
	q := &rules.Request{Data: s.world, Now: time.UnixMilli(1700000000000), Plain: true}
	path, update := strings.CutSuffix(d.CmdArgs[0].Key, "/*")
	q.Path = tree.MustParsePath(path)
	if d.Cmd == "write" {
		q.Op, q.Writes, q.Unread = rules.OpWrite, s.writes(t, d, path, update), d.HasArg("unread")
	}
	var uid string
	if d.MaybeScanArgs(t, "as", &uid); uid != "" {
		q.Auth = rules.Auth{UID: uid, JSON: fmt.Sprintf(`{"uid":%q}`, uid)}
	}
	trace, err := s.rules.Explain(t.Context(), q)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	form := "text"
	d.MaybeScanArgs(t, "in", &form)
	return draw(t, form, q, trace)
}

func (s *script) writes(t *testing.T, d *datadriven.TestData, path string, update bool) []tree.ResolvedWrite {
	target, err := tree.ParseTarget(path)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	var u tree.Update
	if update {
		u, err = tree.ParseUpdate(target.Path, d.Input, tree.Strict)
	} else {
		u = make(tree.Update, 1)
		u[0], err = tree.ParseWrite(target, d.Input, tree.Strict)
	}
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	list, err := s.world.Resolve(u, 0)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return list
}

func draw(t *testing.T, form string, q *rules.Request, trace *rules.Trace) string {
	t.Helper()
	o := explain.Options{File: "rules.json"}
	switch form {
	case "brief":
		return explain.Brief(q, trace) + "\n"
	case "json":
		text, err := explain.NewReport(q, trace, explain.Options{Values: true}).JSON()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	case "values":
		o.Values = true
	case "deciding":
		o.Deciding = true
	case "five":
		o.Values, o.Lines = true, 5
	}
	var b strings.Builder
	if err := explain.Text(&b, q, trace, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// However much was decided about, the text is short.
func TestTextIsBounded(t *testing.T) {
	s := new(script)
	long := strings.Repeat("auth != null && ", 300)
	if out := s.parse(fmt.Sprintf(`{"rules":{"$a":{".write":%q}}}`, long+"true")); out != "" {
		t.Fatal(out)
	}
	q := &rules.Request{Op: rules.OpWrite, Data: s.world}
	value, err := tree.ParseNode(fmt.Sprintf("%q", strings.Repeat("x", 1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		p := tree.MustParsePath(fmt.Sprint("/p", i))
		q.Writes = append(q.Writes, tree.ResolvedWrite{Target: tree.Target{Path: p}, Node: value})
	}
	q.Auth = rules.Auth{UID: "ana", JSON: `{"uid":"ana"}`}
	trace, err := s.rules.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	text := draw(t, "values", q, trace)
	if len(text) > 256<<10 || !strings.HasPrefix(text, "allowed  write /p0 and 999 more") {
		t.Errorf("the text has %d bytes and begins with %.60s", len(text), text)
	}
	if lines := strings.Count(draw(t, "five", q, trace), "\n"); lines != 5 {
		t.Errorf("a text of five lines has %d", lines)
	}
}

// The parts of a long condition are told apart, even if they begin alike.
func TestLongConditionRepeatsNoLine(t *testing.T) {
	s := new(script)
	member := `root.child('members').child($room).child(auth.uid).val()`
	rule := fmt.Sprintf(`auth != null && (%[1]s == 'owner' || %[1]s == 'editor') && newData.hasChildren(['a']) && data.val() == null && $room != 'x'`, member)
	if out := s.parse(fmt.Sprintf(`{"rules":{"$room":{".write":%q}}}`, rule)); out != "" {
		t.Fatal(out)
	}
	q := &rules.Request{Op: rules.OpWrite, Data: s.world, Auth: rules.Auth{UID: "ana", JSON: `{"uid":"ana"}`}}
	q.Writes = []tree.ResolvedWrite{{Target: tree.Target{Path: tree.MustParsePath("/r")}, Node: tree.Bool(true)}}
	trace, err := s.rules.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(draw(t, "values", q, trace)) {
		if seen[line] && strings.TrimSpace(line) != "" {
			t.Errorf("this line is there twice: %s", line)
		}
		seen[line] = true
	}
}
