package rulestest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// A junitSuites is the document. These types have the elements and attributes that CI
// servers know; there is no standard.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// A junitSuite has the results of one test file.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// A junitCase is one step.
type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
}

// A junitFailure says how a step failed.
type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// A junitSkipped says why a step was not run.
type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes results as JUnit XML, a suite for each file.
func WriteJUnit(out io.Writer, results []*Result) error {
	sum := Summarize(results)
	doc := junitSuites{Tests: len(results), Failures: sum.Failed, Skipped: sum.Skipped, Time: seconds(elapsed(results))}
	for _, file := range byFile(results) {
		sum := Summarize(file)
		s := junitSuite{Name: file[0].Suite.File, Tests: len(file), Failures: sum.Failed, Skipped: sum.Skipped, Time: seconds(elapsed(file))}
		for _, r := range file {
			s.Cases = append(s.Cases, newJUnitCase(r))
		}
		doc.Suites = append(doc.Suites, s)
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// newJUnitCase returns the form of one result.
func newJUnitCase(r *Result) junitCase {
	c := junitCase{Name: r.Name(), Class: r.Suite.File, File: r.Suite.File, Line: r.Step.Line, Time: seconds(r.Elapsed)}
	switch r.Status {
	case Skipped:
		c.Skipped = &junitSkipped{r.Step.Skip}
	case Failed:
		lines := append([]string{r.Where()}, r.Problems...)
		lines = append(lines, deciding(r), r.Repro)
		c.Failure = &junitFailure{r.Problems[0], strings.Join(lines, "\n")}
	}
	return c
}

// seconds returns a duration as JUnit writes it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
