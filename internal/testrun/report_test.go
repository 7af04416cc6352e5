package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// events are lines of "go test -json" about a package.
func events(name string, lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, `{"Package":%q,%s}`+"\n", name, line)
	}
	return b.String()
}

var (
	good = events("m/good",
		`"Action":"start"`,
		`"Action":"run","Test":"TestSlow"`,
		`"Action":"output","Test":"TestSlow","Output":"=== RUN   TestSlow\n"`,
		`"Action":"output","Test":"TestSlow","Output":"    a_test.go:3: of no interest\n"`,
		`"Action":"output","Test":"TestSlow","Output":"--- PASS: TestSlow (2.00s)\n"`,
		`"Action":"pass","Test":"TestSlow","Elapsed":2`,
		`"Action":"run","Test":"TestParts"`,
		`"Action":"run","Test":"TestParts/a"`,
		`"Action":"pass","Test":"TestParts/a","Elapsed":1.5`,
		`"Action":"pass","Test":"TestParts/b","Elapsed":1.5`,
		`"Action":"pass","Test":"TestParts","Elapsed":0.1`,
		`"Action":"output","Output":"PASS\n"`,
		`"Action":"output","Output":"a line of the program\n"`,
		`"Action":"output","Output":"ok  \tm/good\t3.5s\n"`,
		`"Action":"pass","Elapsed":3.5`)
	cached = events("m/cached",
		`"Action":"pass","Test":"TestEarlier","Elapsed":9`,
		`"Action":"output","Output":"ok  \tm/cached\t(cached)\n"`,
		`"Action":"pass","Elapsed":0`)
	bad = events("m/bad",
		`"Action":"run","Test":"TestFine"`,
		`"Action":"output","Test":"TestFine","Output":"    a_test.go:3: of no interest\n"`,
		`"Action":"pass","Test":"TestFine","Elapsed":0`,
		`"Action":"run","Test":"TestBad"`,
		`"Action":"output","Test":"TestBad","Output":"=== RUN   TestBad\n"`,
		`"Action":"run","Test":"TestBad/part"`,
		`"Action":"output","Test":"TestBad/part","Output":"    b_test.go:7: 1, want 2\n"`,
		`"Action":"output","Test":"TestBad/part","Output":"    --- FAIL: TestBad/part (0.25s)\n"`,
		`"Action":"fail","Test":"TestBad/part","Elapsed":0.25`,
		`"Action":"output","Test":"TestBad","Output":"    b_test.go:9: after the part\n"`,
		`"Action":"output","Test":"TestBad","Output":"--- FAIL: TestBad (0.50s)\n"`,
		`"Action":"fail","Test":"TestBad","Elapsed":0.5`,
		`"Action":"run","Test":"TestHangs"`,
		`"Action":"output","Test":"TestHangs","Output":"panic: test timed out\n"`,
		`"Action":"output","Output":"FAIL\tm/bad\t0.75s\n"`,
		`"Action":"fail","Elapsed":0.75`)
	broken = `{"ImportPath":"m/broken","Action":"build-output","Output":"# m/broken\n"}
{"ImportPath":"m/broken","Action":"build-output","Output":"x.go:1:1: no\n"}
{"ImportPath":"m/broken","Action":"build-fail"}
` + events("m/broken",
		`"Action":"output","Output":"FAIL\tm/broken [build failed]\n"`,
		`"Action":"fail","Elapsed":0,"FailedBuild":"m/broken"`)
)

const printed = `ok  	m/good	3.5s
ok  	m/cached	(cached)
--- FAIL: TestBad (0.50s)
    --- FAIL: TestBad/part (0.25s)
        b_test.go:7: 1, want 2
    b_test.go:9: after the part
--- not ended: TestHangs
panic: test timed out
FAIL	m/bad	0.75s
# m/broken
x.go:1:1: no
FAIL	m/broken [build failed]
no event at all
`

// A report prints the same as "go test": the results of packages, all output of tests that
// failed, and no output of tests that passed.
func TestReport(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(good + cached + bad + broken + "no event at all\n")); err != nil {
		t.Fatal(err)
	}
	if out.String() != printed {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), printed)
	}

	out.Reset()
	times := filepath.Join(t.TempDir(), "times")
	for _, part := range [][]testTime{r.times[:1], r.times[1:]} {
		if err := appendTimes(times, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := printSlowest(&out, times, 3); err != nil {
		t.Fatal(err)
	}
	want := "   3.00 s  m/good.TestParts\n   2.00 s  m/good.TestSlow\n   0.50 s  m/bad.TestBad\n"
	if out.String() != want {
		t.Errorf("the slowest:\n%swant:\n%s", out.String(), want)
	}
}

// Nothing is lost if a package never ends, as when "go test" is killed.
func TestReportIsCut(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(events("m/bad", `"Action":"output","Test":"TestBad","Output":"the cause\n"`))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "the cause") {
		t.Errorf("printed %q", out.String())
	}
}
