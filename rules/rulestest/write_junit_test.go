package rulestest

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
)

// TestWriteJUnit: what an XML parser reads is what was written, whatever texts are in it.
func TestWriteJUnit(t *testing.T) {
	const nasty = "a<b> & 'c' \"d\"\n\te\r]]> é\u2028 <!-- x -->"
	a, b := &Suite{File: "a&b.test.json"}, &Suite{File: nasty}
	results := []*Result{
		{Suite: a, Group: &Group{Name: nasty}, Step: &Step{Name: "one", Line: 3}, Elapsed: time.Millisecond},
		{Suite: a, Group: &Group{}, Step: &Step{Name: "two", Line: 4, Skip: nasty}, Status: Skipped},
		{Suite: b, Group: &Group{}, Step: &Step{Name: nasty, Line: 5}, Status: Failed, Problems: []string{nasty, "bell \a"}, Repro: "run"},
	}
	var out strings.Builder
	if err := WriteJUnit(&out, results); err != nil {
		t.Fatal(err)
	}
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	var got struct {
		XMLName xml.Name `xml:"testsuites"`
		Tests   int      `xml:"tests,attr"`
		Failed  int      `xml:"failures,attr"`
		Skipped int      `xml:"skipped,attr"`
		Suites  []struct {
			Name  string `xml:"name,attr"`
			Tests int    `xml:"tests,attr"`
			Time  string `xml:"time,attr"`
			Cases []struct {
				Name    string   `xml:"name,attr"`
				Class   string   `xml:"classname,attr"`
				File    string   `xml:"file,attr"`
				Line    int      `xml:"line,attr"`
				Failure *message `xml:"failure"`
				Skipped *message `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if got.Tests != 3 || got.Failed != 1 || got.Skipped != 1 || len(got.Suites) != 2 || got.Suites[0].Time != "0.001000" || len(got.Suites[0].Cases) != 2 {
		t.Fatalf("got %+v", got)
	}
	first, second, third := got.Suites[0].Cases[0], got.Suites[0].Cases[1], got.Suites[1].Cases[0]
	if first.Name != nasty+" / one" || first.Class != a.File || first.File != a.File || first.Line != 3 || first.Failure != nil || first.Skipped != nil {
		t.Errorf("the first is %+v", first)
	}
	if second.Skipped == nil || second.Skipped.Message != nasty {
		t.Errorf("the second is %+v", second)
	}
	text := nasty + ":5\n" + nasty + "\nbell \uFFFD\n\nrun"
	if third.Name != nasty || third.File != nasty || third.Failure == nil || third.Failure.Message != nasty || third.Failure.Text != text {
		t.Errorf("the third is %+v, %+v", third, third.Failure)
	}
	out.Reset()
	if err := WriteJUnit(&out, nil); err != nil || xml.Unmarshal([]byte(out.String()), &got) != nil {
		t.Errorf("without results: %v, %s", err, &out)
	}
}
