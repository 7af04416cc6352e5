package rulestest

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// WriteJUnit writes results as JUnit XML, a suite for each file. It has the elements and
// attributes that CI servers know; there is no standard.
//
// The document is put together by hand: encoding/xml would add 100 KB to the program.
func WriteJUnit(out io.Writer, results []*Result) error {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	sum := Summarize(results)
	fmt.Fprintf(&b, "<testsuites tests=\"%d\" failures=\"%d\" skipped=\"%d\" time=\"%s\">", len(results), sum.Failed, sum.Skipped, seconds(elapsed(results)))
	files := 0
	for _, file := range byFile(results) {
		files++
		sum := Summarize(file)
		fmt.Fprintf(&b, "\n  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\" time=\"%s\">",
			attribute(file[0].Suite.File), len(file), sum.Failed, sum.Skipped, seconds(elapsed(file)))
		for _, r := range file {
			writeCase(&b, r)
		}
		b.WriteString("\n  </testsuite>")
	}
	if files > 0 {
		b.WriteString("\n")
	}
	b.WriteString("</testsuites>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// writeCase writes one result.
func writeCase(b *strings.Builder, r *Result) {
	file := attribute(r.Suite.File)
	fmt.Fprintf(b, "\n    <testcase name=\"%s\" classname=\"%s\" file=\"%[2]s\" line=\"%d\" time=\"%s\">", attribute(r.Name()), file, r.Step.Line, seconds(r.Elapsed))
	switch r.Status {
	case Skipped:
		fmt.Fprintf(b, "\n      <skipped message=\"%s\"></skipped>\n    ", attribute(r.Step.Skip))
	case Failed:
		lines := append([]string{r.Where()}, r.Problems...)
		lines = append(lines, deciding(r), r.Repro)
		fmt.Fprintf(b, "\n      <failure message=\"%s\">%s</failure>\n    ", attribute(r.Problems[0]), content(strings.Join(lines, "\n")))
	}
	b.WriteString("</testcase>")
}

var breaks = strings.NewReplacer("\t", "&#x9;", "\n", "&#xA;")

// attribute returns a text for the value of an attribute, in which readers turn unmarked line
// breaks into blanks.
func attribute(text string) string { return breaks.Replace(content(text)) }

// content returns a text for the content of an element. XML has no way to write most control
// characters.
func content(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF {
			return '\uFFFD'
		}
		return c
	}, text)
	return strings.ReplaceAll(html.EscapeString(text), "\r", "&#xD;") // else it is read as a line break
}

// seconds returns a duration as JUnit writes it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
