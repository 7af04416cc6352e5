package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogwooddb/dogwood/internal/tier"
	"github.com/dogwooddb/dogwood/tree"
)

// hiddenRules let every caller write everywhere, and read only what is open.
const hiddenRules = `{"rules":{".write":true,
  "w":{"open":{".read":true},"late":{".read":"data.child('on').val() === true"}},
  "rw":{".read":true},
  "mine":{".read":"auth.uid === 'ana'"}}}`

// TestHiddenIncrements: an answer to a write has no increment, and no ETag of one, unless
// the caller may read it after the write.
func TestHiddenIncrements(t *testing.T) {
	const zero = `{".sv":{"increment":0}}`
	prior := tree.Number(1234).WithPriority(tree.Number(7)).Hash()
	ana := "auth=" + unsigned(`{"sub":"ana","iat":0,"exp":3600}`)
	for _, test := range []struct{ name, method, target, body, want, tag string }{
		{"a value", "PUT", "/w/pin.json", zero, "null", ""},
		{"a silent answer", "PUT", "/w/pin.json?print=silent", zero, "", ""},
		{"a pretty answer", "PUT", "/w/pin.json?print=pretty", zero, "null\n", ""},
		{"an override", "POST", "/w/pin.json?x-http-method-override=PUT", zero, "null", ""},
		{"a value with a priority", "PUT", "/w/pin.json", `{".value":` + zero + `,".priority":1}`, "null", ""},
		{"a priority", "PUT", "/w/pin/.priority.json", zero, "null", ""},
		{"a priority beside a value", "PUT", "/w/pin.json", `{".value":5,".priority":` + zero + `}`, "5", ""},
		{"a silent priority", "PUT", "/w/pin.json?print=silent", `{".value":5,".priority":` + zero + `}`, "", ""},
		{"children", "PUT", "/w.json", `{"pin":` + zero + `,"a":{"pin":` + zero + `},"b":1,"c":{"n":` + zero + `,"t":{".sv":"timestamp"},".priority":2}}`, `{"b":1,"c":{"t":1700000000123}}`, ""},
		{"some children", "PUT", "/w.json", `{"open":{"n":` + zero + `},"pin":` + zero + `}`, `{"open":{"n":5}}`, ""},
		{"a list", "PUT", "/w/list.json", `[` + zero + `,2]`, `[null,2]`, ""},
		{"an update of children", "PATCH", "/w.json", `{"pin":` + zero + `,"b/c":{"n":` + zero + `},"d":null,"e":{"n":` + zero + `,"x":1},"open/n":` + zero + `}`, `{"d":null,"e":{"x":1},"open/n":5}`, ""},
		{"an update of one", "PATCH", "/w.json", `{"pin":` + zero + `}`, `{}`, ""},
		{"an update of a priority", "PATCH", "/w.json", `{"pin/.priority":` + zero + `}`, `{}`, ""},
		{"a silent update", "PATCH", "/w.json?print=silent", `{"pin":` + zero + `}`, ``, ""},
		{"another user", "PUT", "/mine/n.json", zero, "null", ""},
		{"a timestamp", "PUT", "/w/pin.json", `{".sv":"timestamp"}`, "1700000000123", tree.Number(1700000000123).Hash()},

		{"a value, readable", "PUT", "/rw/pin.json", zero, "1234", tree.Number(1234).Hash()},
		{"a priority, readable", "PUT", "/rw/pin.json", `{".value":` + zero + `,".priority":` + zero + `}`, "1234", prior},
		{"a silent answer, readable", "PUT", "/rw/pin.json?print=silent", zero, "", tree.Number(1234).Hash()},
		{"an update, readable", "PATCH", "/rw.json", `{"pin":` + zero + `,"d":null}`, `{"d":null,"pin":1234}`, ""},
		{"an update of several, readable", "PATCH", "/.json", `{"rw/pin":` + zero + `,"w/open/n":` + zero + `}`, `{"rw/pin":1234,"w/open/n":5}`, ""},
		{"this user", "PUT", "/mine/n.json?" + ana, zero, "9", tree.Number(9).Hash()},
		{"readable from now on", "PUT", "/w/late.json", `{"n":` + zero + `,"on":true}`, `{"n":3,"on":true}`, "any"},
		{"readable until now", "PATCH", "/w/late.json", `{"n":` + zero + `,"on":false}`, `{"on":false}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			ts := serveTest(t, Options{Dev: true, Now: func() time.Time { return time.UnixMilli(1700000000123) }})
			ts.want("PUT", "/.settings/rules.json", hiddenRules, 200, `{"status":"ok"}`)
			before := `{"w":{"pin":{".value":1234,".priority":7},"open":{"n":5},"late":{"n":3}},"rw":{"pin":{".value":1234,".priority":7}},"mine":{"n":9}}`
			if strings.HasPrefix(test.name, "readable until") {
				before = strings.Replace(before, `"n":3`, `"n":3,"on":true`, 1)
			}
			ts.want("PUT", "/.json?print=silent", before, 204, "")
			h := http.Header{"X-Firebase-ETag": {"true"}}
			if test.method == "PATCH" {
				h = nil
			}
			status := 200
			if strings.Contains(test.target, "silent") {
				status = 204
			}
			r := ts.do(call{test.method, test.target, h, test.body})
			if r.StatusCode != status || status == 200 && r.body != test.want {
				t.Errorf("%s %s: %d %s, want %d %s", test.method, test.target, r.StatusCode, r.body, status, test.want)
			}
			if tag := r.Header.Get("ETag"); tag != test.tag && (test.tag != "any" || tag == "") {
				t.Errorf("the ETag is %q, want %q", tag, test.tag)
			}
		})
	}
}

// An answer to a large write hides increments, too, and too many to decide about each.
func TestHiddenIncrementsOfLargeWrites(t *testing.T) {
	tier.Unraced(t)
	large := strings.Repeat(`"some text",`, 100_000) + `{"n":{".sv":{"increment":7}}}`
	many := strings.TrimSuffix(strings.Repeat(`{".sv":{"increment":7}},`, 1001), ",")
	for _, test := range []struct {
		name, method, target, body string
		told                       bool
	}{
		{"large", "PUT", "/w/big.json", "[" + large + "]", false},
		{"large, readable", "PUT", "/rw/big.json", "[" + large + "]", true},
		{"many", "PUT", "/w/open.json?x=1", "[" + many + "]", true},
		{"many, some readable", "PUT", "/w.json", `{"open":[` + many + `],"x":1}`, false},
		{"many in an update", "PATCH", "/w.json", `{"open":[` + many + `],"x":1}`, false},
		{"some in an update", "PATCH", "/w.json", `{"open":[` + strings.Replace(many, `{".sv":{"increment":7}},`, "", 1) + `],"x":1}`, true},
	} {
		ts := serveTest(t, Options{Dev: true})
		ts.want("PUT", "/.settings/rules.json", hiddenRules, 200, `{"status":"ok"}`)
		r := ts.do(call{test.method, test.target, nil, test.body})
		if r.StatusCode != 200 || strings.Contains(r.body, "7") != test.told {
			t.Errorf("%s: %d %.200s", test.name, r.StatusCode, r.body)
		}
	}
}
