package rulecmd

import (
	"bytes"
	"fmt"
	"os"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/coverage"
	"github.com/dogwooddb/dogwood/rules/rulestest"
)

// coverFlags ask how much of the rules the tests reach.
type coverFlags struct {
	Cover     bool    `help:"Print how much of each rules file is covered, and what is not." env:"-"`
	CoverMin  float64 `name:"cover-min" aliases:"min-coverage" help:"Fail if less than this percentage of the outcomes of a rules file was seen: true and false, of each rule and each expression in it." placeholder:"PERCENT" env:"-"`
	CoverRule float64 `name:"cover-min-rules" help:"Fail if less than this percentage of the rules was evaluated." placeholder:"PERCENT" env:"-"`
	CoverHTML string  `name:"cover-html" help:"Write a page that shows the rules with what was covered." placeholder:"FILE" env:"-"`
}

// wanted reports whether coverage was asked for: counting slows the tests down.
func (f *coverFlags) wanted() bool {
	return f.Cover || f.CoverMin > 0 || f.CoverRule > 0 || f.CoverHTML != ""
}

// coverages are the rules files of a run, compiled once, with what was reached.
// Suites that share a rules file share its counts, as they test it together.
type coverages struct {
	files []string
	by    map[string]*covered
}

// covered is a compiled rules file and what its tests have reached.
type covered struct {
	rules *rules.Ruleset
	count *rules.Coverage
}

func newCoverages() *coverages { return &coverages{by: make(map[string]*covered)} }

// of returns the rules of a suite and what counts their decisions. Rules that
// stand in a test file are not reported on.
func (c *coverages) of(e *console.Env, s *rulestest.Suite) (*covered, error) {
	name := s.Rules.File
	if name == "" {
		name = s.File
	}
	if cov := c.by[name]; cov != nil {
		return cov, nil
	}
	rs, err := compile(e, &rulestest.Source{File: name, Text: s.Rules.Text, Options: s.Rules.Options})
	if err != nil {
		return nil, err
	}
	cov := &covered{rs, rules.NewCoverage(rs)}
	cov.count.CountLimits(rs)
	c.by[name] = cov
	if s.Rules.File != "" {
		c.files = append(c.files, name)
	}
	return cov, nil
}

// report writes what was asked for, and fails if too little is covered.
func (f *coverFlags) report(e *console.Env, c *coverages) error {
	if !f.wanted() {
		return nil
	}
	low := ""
	var documents []coverage.Document
	for _, file := range c.files {
		d := coverage.Document{Name: file, Report: c.by[file].count.Report()}
		documents = append(documents, d)
		tooLow := f.tooLow(d)
		if low == "" {
			low = tooLow
		}
		if f.Cover || tooLow != "" {
			if err := coverage.WriteText(e.Stdout, d); err != nil {
				return err
			}
		}
	}
	if f.CoverHTML != "" {
		var b bytes.Buffer
		if err := coverage.WriteHTML(&b, documents...); err != nil {
			return err
		}
		if err := os.WriteFile(f.CoverHTML, b.Bytes(), 0o666); err != nil {
			return console.Unusable(err)
		}
	}
	if low != "" {
		return console.Failed("%s", low)
	}
	return nil
}

// tooLow says what of a document is covered too little, "" if nothing is.
func (f *coverFlags) tooLow(d coverage.Document) string {
	switch {
	case d.Report.Outcomes < f.CoverMin:
		return fmt.Sprintf("%s: %.1f %% of the outcomes were seen, %.1f %% are asked for", d.Name, d.Report.Outcomes, f.CoverMin)
	case d.Report.Evaluated < f.CoverRule:
		return fmt.Sprintf("%s: %.1f %% of the rules were evaluated, %.1f %% are asked for", d.Name, d.Report.Evaluated, f.CoverRule)
	}
	return ""
}
