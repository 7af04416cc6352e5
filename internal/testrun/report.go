package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// An event is a line of "go test -json"; see "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string // "" for what the package prints
	Elapsed    float64
	Output     string
}

// A report turns the events of "go test -json" back into what "go test" prints, and notes
// the times. It keeps what a package prints until the package ends, since -json has
// every test print everything and most of it is of interest only after a failure.
type report struct {
	w        io.Writer
	packages map[string]*packageRun
	times    []testTime
}

func newReport(w io.Writer) *report {
	return &report{w: w, packages: make(map[string]*packageRun)}
}

// read reads events to their end. Lines that are no events are printed as they are: a
// program may write to the output of its own test.
func (r *report) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err == io.EOF {
			r.cut()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cut prints the output of packages without a result: "go test" was ended.
func (r *report) cut() {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		r.packages[name].print(r.w)
	}
}

func (r *report) line(line string) {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		fmt.Fprint(r.w, line)
		return
	}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(r.w, e.Output)
	case e.Package == "":
	case e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"):
		r.end(e)
	default:
		r.packageRun(e.Package).add(e)
	}
}

func (r *report) packageRun(name string) *packageRun {
	if r.packages[name] == nil {
		r.packages[name] = &packageRun{tests: make(map[string]*testRun)}
	}
	return r.packages[name]
}

// end prints the result of a package.
func (r *report) end(e event) {
	p := r.packageRun(e.Package)
	delete(r.packages, e.Package)
	if e.Action == "fail" {
		p.print(r.w)
	} else {
		p.printResult(r.w)
	}
	if p.cached() {
		return // the times are those of an earlier run
	}
	for _, t := range p.order {
		if t.parent == nil {
			r.times = append(r.times, testTime{t.seconds(), e.Package + "." + t.name})
		}
	}
}

// printResult prints the line that sums up a package.
func (p *packageRun) printResult(w io.Writer) {
	for _, line := range p.output {
		if isResult(line) {
			fmt.Fprint(w, line)
		}
	}
}

func (p *packageRun) cached() bool {
	return slices.ContainsFunc(p.output, func(line string) bool { return strings.Contains(line, "\t(cached)") })
}

// isResult reports whether a line is the result of a package.
func isResult(line string) bool {
	for _, start := range []string{"ok  \t", "?   \t", "FAIL\t", "---\t"} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// A packageRun is what is known of the tests of a package.
type packageRun struct {
	tests  map[string]*testRun
	order  []*testRun // as they began
	output []string   // of no test
}

// A testRun is a test, or a part of one.
type testRun struct {
	name     string
	action   string // of the last event: pass, fail or skip when it has ended
	elapsed  float64
	output   []string
	parent   *testRun
	children []*testRun
}

func (p *packageRun) add(e event) {
	if e.Test == "" {
		if e.Action == "output" && e.Output != "PASS\n" {
			p.output = append(p.output, e.Output)
		}
		return
	}
	t := p.test(e.Test)
	switch e.Action {
	case "output":
		if !isProgress(e.Output) {
			t.output = append(t.output, e.Output)
		}
	case "pass", "fail", "skip":
		t.action, t.elapsed = e.Action, e.Elapsed
	}
}

// isProgress reports whether "go test" prints a line of a test with -v only, or if
// it is printed otherwise here.
func isProgress(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, start := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ", "--- FAIL: ", "--- SKIP: "} {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// test returns a test by its name, a new one if there is none.
func (p *packageRun) test(name string) *testRun {
	if t := p.tests[name]; t != nil {
		return t
	}
	t := &testRun{name: name}
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		t.parent = p.test(name[:i])
		t.parent.children = append(t.parent.children, t)
	}
	p.tests[name], p.order = t, append(p.order, t)
	return t
}

// print prints the tests that failed and those that had not ended when the program did:
// one of these is the cause. Then it prints the other output of the package.
func (p *packageRun) print(w io.Writer) {
	for _, t := range p.order {
		if t.parent == nil {
			t.printFailure(w, "")
		}
	}
	for _, line := range p.output {
		fmt.Fprint(w, line)
	}
}

func (t *testRun) printFailure(w io.Writer, indent string) {
	switch t.action {
	case "fail":
		fmt.Fprintf(w, "%s--- FAIL: %s (%.2fs)\n", indent, t.name, t.elapsed)
	case "":
		fmt.Fprintf(w, "%s--- not ended: %s\n", indent, t.name)
	default:
		return
	}
	for _, child := range t.children {
		child.printFailure(w, indent+"    ")
	}
	for _, line := range t.output {
		if strings.HasPrefix(line, "    ") { // printed by the test, not by a panic
			line = indent + line
		}
		fmt.Fprint(w, line)
	}
}

// seconds returns how long a test took. The time of a test includes its parts, unless
// these ran in parallel.
func (t *testRun) seconds() float64 {
	parts := 0.0
	for _, child := range t.children {
		parts += child.seconds()
	}
	return max(t.elapsed, parts)
}
