package metrics

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/sync/histogram"
)

// contentType is that of the text format of Prometheus, which all its successors read, too.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// A page is the answer to a scrape. The format wants all lines of a family together, and
// numbers come database by database, so lines are kept by family.
//
// This is written here because the client library of Prometheus would be a tenth of the
// program, most of it for formats other than this one.
type page struct{ lines map[*family][]byte }

func newPage() *page { return &page{lines: make(map[*family][]byte, len(families))} }

// writeTo writes the families in the order of their declaration.
func (p *page) writeTo(w io.Writer) error {
	var text []byte
	for _, f := range families {
		lines := p.lines[f]
		if len(lines) == 0 {
			continue
		}
		text = append(append(append(append(text, "# HELP "...), f.name...), ' '), helpEscapes.Replace(f.help)...)
		text = append(append(append(append(append(text, "\n# TYPE "...), f.name...), ' '), f.kind...), '\n')
		text = append(text, lines...)
	}
	_, err := w.Write(text)
	return err
}

func (p *page) add(f *family, v float64, labels ...string) {
	p.lines[f] = f.appendLine(p.lines[f], "", v, labels, "")
}

func (p *page) histogram(f *family, s histogram.Snapshot, labels ...string) {
	b := p.lines[f]
	var below uint64
	for i, bound := range s.Bounds {
		below += s.Counts[i]
		b = f.appendLine(b, "_bucket", float64(below), labels, strconv.FormatFloat(bound, 'g', -1, 64))
	}
	b = f.appendLine(b, "_bucket", float64(s.Count()), labels, "+Inf")
	b = f.appendLine(b, "_sum", s.Sum, labels, "")
	p.lines[f] = f.appendLine(b, "_count", float64(s.Count()), labels, "")
}

func (p *page) database(d Database) {
	for _, f := range ofDatabases {
		p.add(f.family, f.value(&d), d.Namespace)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Stats.Definitions)) {
		for _, f := range ofDefinitions {
			p.add(f.family, f.value(d.Stats.Definitions[name]), d.Namespace, name)
		}
	}
}

// Texts in the format: helps have escapes for two characters, labels for three.
var (
	helpEscapes  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// appendLine appends one sample. least is the bound of a bucket, "" for none.
func (f *family) appendLine(b []byte, suffix string, v float64, labels []string, least string) []byte {
	b = append(append(b, f.name...), suffix...)
	between := byte('{')
	for _, i := range f.order {
		b = appendLabel(append(b, between), f.labels[i], labels[i])
		between = ','
	}
	if least != "" {
		b = appendLabel(append(b, between), "le", least)
		between = ','
	}
	if between == ',' {
		b = append(b, '}')
	}
	b = strconv.AppendFloat(append(b, ' '), v, 'g', -1, 64)
	return append(b, '\n')
}

func appendLabel(b []byte, name, value string) []byte {
	return append(append(append(append(b, name...), `="`...), labelEscapes.Replace(value)...), '"')
}
