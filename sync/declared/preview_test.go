package declared_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/derive"
	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/sync/declared"
)

// preview returns what a document would find, as JSON.
func (d *db) preview(t *testing.T, define string) (list []declared.Preview, text string) {
	t.Helper()
	document, err := derive.Parse(documentOf(define))
	if err != nil {
		t.Fatal(err)
	}
	if list, err = d.PreviewData(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return list, string(b)
}

// TestPreview: a preview tells of each definition what becomes of it when it is deployed, and
// changes nothing.
func TestPreview(t *testing.T) {
	for name, c := range map[string]struct{ define, want string }{
		"map":        {`"m": {"map": "/a/$k", "to": "/new/$k"}`, `{"name":"m","nodes":3,"writes":3,"bytes":27}`},
		"copy":       {`"m": {"map": "/a/$k", "to": "/b/$k", "value": "= data.val()"}`, `{"name":"m","nodes":3,"writes":1,"bytes":4,"conflicts":["/b/y holds something else than follows from /a/y","/b/w holds a value that follows from nothing"],"conflictsTotal":2}`},
		"replace":    {`"m": {"map": "/a/$k", "to": "/b/$k", "value": "= data.val()", "onConflict": "replace"}`, `{"name":"m","nodes":3,"writes":1,"removes":2,"bytes":4}`},
		"unique":     {`"m": {"map": "/same/$k", "to": "/by/{data.val()}", "value": "= $k", "unique": true}`, `{"name":"m","nodes":3,"writes":2,"bytes":14,"conflicts":["/by/u would have several sources, one of them /same/q"],"conflictsTotal":1}`},
		"count":      {`"c": {"count": "/a/$k", "to": "/size"}`, `{"name":"c","nodes":1,"writes":1,"bytes":6}`},
		"sum":        {`"c": {"sum": "/a/$k", "of": "= data.val()", "to": "/n"}`, `{"name":"c","nodes":3,"writes":1,"bytes":3,"conflicts":["/n holds something else than follows"],"conflictsTotal":1}`},
		"large sum":  {`"c": {"sum": "/large/$k", "of": "= data.val()", "to": "/sum"}`, `{"name":"c","nodes":1,"writes":1,"bytes":5,"conflicts":["/sum would be beyond 9007199254740991 with /large/x"],"conflictsTotal":1}`},
		"keep":       {`"k": {"keep": 2, "at": "/lists/$l"}`, `{"name":"k","nodes":2,"removes":1}`},
		"expire":     {`"e": {"expire": "/a/$k", "after": "30d"}`, `{"name":"e","nodes":3,"bytes":90}`},
		"index":      {`"i": {"index": "/people", "by": ["name", "age"]}`, `{"name":"i","nodes":2,"bytes":36}`},
		"nothing":    {``, ``},
		"no matches": {`"m": {"map": "/none/$k", "to": "/new/$k"}`, `{"name":"m","nodes":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := openDB(t, open)
			d.set(`a {"x": 1, "y": 2, "z": 4}`, `b {"x": 1, "y": 3, "w": 5}`, `n 5`, `large {"x": 1e17}`, `same {"p": "u", "q": "u", "r": "v"}`, `people {"p": {"name": "ann", "age": 7}, "q": 1}`, `lists {"one": {"a": 1, "b": 2, "c": 3}, "two": {"a": 1}}`)
			before := d.revision()
			list, text := d.preview(t, c.define)
			if text != "["+c.want+"]" {
				t.Errorf("%s\nwant [%s]", text, c.want)
			}
			if d.revision() != before {
				t.Error("a preview has changed something")
			}
			d.deploy(c.define)
			for i, s := range d.settled() {
				if fails := list[i].Total > 0; fails != (s.State == declared.Failed) {
					t.Errorf("%+v, and the preview says %s", s, text)
				}
			}
			if _, text := d.preview(t, c.define); text != "[]" {
				t.Errorf("of a document that is in force: %s", text)
			}
		})
	}
}

// TestPreviewIsBounded: of a definition with many nodes a preview looks at some.
func TestPreviewIsBounded(t *testing.T) {
	tier.Unraced(t)
	d := openDB(t, open)
	d.set(`many ` + numbered(declared.MaxPreviewed+1, func(int) string { return "1" }))
	list, text := d.preview(t, `"m": {"map": "/many/$k", "to": "/new/$k"}`)
	if p := list[0]; !p.More || p.Nodes > declared.MaxPreviewed || p.Nodes < declared.MaxPreviewed-1000 || strings.Contains(text, "conflict") {
		t.Errorf("%.300s", text)
	}
}
