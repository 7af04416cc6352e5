package sync

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/sync/fault"
	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/tree"
)

// FuzzParseQuery: whatever a client sends as a query is refused or can be
// answered, and what is answered lies within the limit.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"l":2,"vf":"r"}`,
		`{"sp":1,"sin":true,"ep":"x","ein":true,"i":"a/b"}`,
		`{"sp":"h","sn":"k1","sin":false,"i":".value"}`,
		`{"sp":"a","sn":"[MAX_NAME]","sin":false,"ep":"z","en":"[MIN_NAME]","ein":false,"i":"m"}`,
		`{"sp":"a","sin":true,"l":3,"vf":"l","i":".key"}`,
		`{"sp":null,"ep":null,"l":1}`,
		`{"i":".priority","sp":1,"en":"x"}`,
		`{"i":["m","b/c"],"sp":["h"],"ep":["h",5],"en":"x","l":2}`,
		`{"i":["m"],"sp":["h"],"sin":false,"sn":"[MAX_NAME]"}`,
		`{"i":["m","b"],"sp":["h",{"x":1}],"ep":[1,2,3]}`,
		`{"i":"a","i":5,"l":1e9,"vf":{}}`,
	} {
		f.Add(seed)
	}
	n := tree.MustParseNode(`{"a":{"b":1,"m":"h",".priority":1},"b":2,"c":{".value":"x",".priority":"p"},"1":true,"é":"a"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if !gjson.Valid(raw) || raw[0] != '{' {
			return // package wire refuses it
		}
		q, err := query.Parse(raw)
		if err != nil {
			if status, text := fault.Status(err); status != "invalid_parameters" || text == "" {
				t.Errorf("%s is refused with %s, %q", raw, status, text)
			}
			return
		}
		entries := q.Entries(n)
		if q.Limit > 0 && len(entries) > q.Limit || q.IsAll() && len(entries) != n.NumChildren() {
			t.Errorf("%s selects %d of %d children", raw, len(entries), n.NumChildren())
		}
		if again, err := query.Parse(raw); err != nil || again.ID() != q.ID() {
			t.Errorf("%s is %s, then %s (%v)", raw, q.ID(), again.ID(), err)
		}
	})
}
