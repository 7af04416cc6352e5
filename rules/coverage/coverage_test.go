package coverage

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// document decides some reads and returns what was counted.
func document(t *testing.T) Document {
	t.Helper()
	rs, err := rules.Parse(`{"rules": {
		"a": {".read": "auth != null && (now > 5 || auth.uid == '<b>')"},
		"b": {".read": true},
		"c": {".read": "auth.x.length > 3"},
		"d": {".write": false}
	}}`)
	if err != nil {
		t.Fatal(err)
	}
	c := rules.NewCoverage(rs)
	for _, q := range []rules.Request{
		{Path: tree.MustParsePath("/a"), Now: time.UnixMilli(10), Auth: rules.NewAuth(`{"uid":"x"}`)},
		{Path: tree.MustParsePath("/a")},
		{Path: tree.MustParsePath("/b")},
		{Path: tree.MustParsePath("/c")},
	} {
		trace, err := rs.Explain(t.Context(), &q)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(trace)
	}
	return Document{"rules.json", c.Report()}
}

func TestWriteText(t *testing.T) {
	var b strings.Builder
	if err := WriteText(&b, document(t)); err != nil {
		t.Fatal(err)
	}
	want := `rules.json: 75.0 % of the rules evaluated, 50.0 % of the outcomes seen
  rules.json:2:36: /a/.read: never false: now > 5 || auth.uid == '<b>'
  rules.json:2:36: /a/.read: never false: now > 5
  rules.json:2:47: /a/.read: never evaluated: auth.uid == '<b>'
  rules.json:4:19: /c/.read: only failed: auth.x.length > 3
  rules.json:5:19: /d/.write never evaluated
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWriteHTML(t *testing.T) {
	var b strings.Builder
	if err := WriteHTML(&b, document(t)); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		`<span class="x part both" title="true 1, false 1, error 0"><span class="x leaf both" title="true 1, false 1, error 0">auth != null</span> &amp;&amp; (` +
			`<span class="x part true" title="true 1, false 0, error 0"><span class="x leaf true" title="true 1, false 0, error 0">now &gt; 5</span> || ` +
			`<span class="x leaf never" title="true 0, false 0, error 0">auth.uid == &#39;&lt;b&gt;&#39;</span></span>)</span>`,
		`<span class="x leaf true">true</span>`,
		`75.0 % of the rules were evaluated`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, never := range []string{"<b>", "<script", "http://", "https://", "src="} {
		if strings.Contains(got, never) {
			t.Errorf("the page contains %q", never)
		}
	}
}
