package server

import (
	"net/url"
	"strings"
	"testing"
)

// TestOrderByList: children are ordered by several child paths. The pages of children show the
// order, since an object has its children in the order of their keys.
func TestOrderByList(t *testing.T) {
	ts := serveTest(t, Options{Namespaces: []string{"shop"}, AdminSecrets: []string{"sesame"}})
	ts.secret("PUT", "/groups.json", `{"a":{"owner":"u1","at":{"day":3}},"b":{"owner":"u2","at":{"day":1}},"c":{"owner":"u1","at":{"day":1}},
		"d":{"owner":"u1"},"e":{"at":{"day":7}},"f":{"owner":"u1","at":{"day":1}},"g":{"pad":"`+strings.Repeat("p", 5000)+`"}}`)
	ts.secret("PUT", "/.settings/data.json", `{"format": "dogwood-data/1", "define": {
		"byOwner": {"index": "/groups", "by": ["owner", "at/day"]}, "off": {"index": "/groups", "by": ["at/day", "owner"], "state": "off"}}}`)
	waitFor(t, "the index", func() bool { return ts.statusOfData("sesame") == "byOwner index ready, off index off, " })
	const order = `orderBy=["owner","at/day"]`
	for params, want := range map[string]string{
		"":                              "g e d c f a b",
		`&equalTo=["u1"]`:               "d c f a",
		`&equalTo=["u1"]&limitToLast=2`: "f a",
		`&equalTo=["u1"]&limitToLast=2&descending=true`:      "a f",
		`&equalTo=["u1",1]`:                                  "c f",
		`&equalTo=["u1",null]`:                               "d",
		`&startAt=["u1",1]&endAt=["u1"]`:                     "c f a",
		`&startAfter=["u1",1]`:                               "a b",
		`&startAfter=["u1"]`:                                 "b",
		`&endBefore=["u1"]&limitToFirst=1`:                   "g",
		`&endBefore=["u1",3]`:                                "g e d c f",
		`&equalTo=["u1"]&where=data.child('at/day').val()>1`: "a",
	} {
		r := ts.secret("GET", "/groups.json?children=true&"+order+strings.ReplaceAll(params, ">", "%3E"), "")
		var got []string
		for _, part := range strings.Split(r.body, `{"k":"`)[1:] {
			got = append(got, part[:1])
		}
		if keys := strings.Join(got, " "); r.StatusCode != 200 || keys != want {
			t.Errorf("%s: %d, %s, want %s", params, r.StatusCode, keys, want)
		}
	}
	for params, want := range map[string]string{
		`count=true&` + order + `&equalTo=["u1"]`:                      `4`,
		`orderBy=[ "owner" , "/at/day/" ]&equalTo=[ "u2" ]`:            `{"b":{"at":{"day":1},"owner":"u2"}}`,
		`explain=true&` + order + `&equalTo=["u1"]&limitToLast=1`:      `"query":{"orderBy":"[\"owner\",\"at/day\"]","equalTo":["u1"],"limitToLast":1},"plan":"index","index":"[\"owner\",\"at/day\"]"`,
		`explain=true&` + order + `&startAt=["u1",2]&endBefore=["u2"]`: `"startAt":["u1",2],"endBefore":["u2"]},"plan":"index"`,
		`explain=true&orderBy=["at/day","owner"]`:                      `"missingIndexOn":{"path":"/groups","indexOn":[],"paste":"\"NAME\": { \"index\": \"/groups\", \"by\": [\"at/day\",\"owner\"] }"}`,
		`orderBy=["at/day","owner"]`:                                   `Index not defined, add a definition {\"index\": \"PATTERN\", \"by\": [\"at/day\",\"owner\"]} for path \"/groups\" to the data document`,
		`orderBy=["a","b","c","d","e"]`:                                `orderBy: a list has at most 4 elements`,
		`orderBy=[]`:                                                   `orderBy: an order has 1 to 4 child paths, and not 0`,
		`orderBy=["a","$key"]`:                                         `orderBy: \"$key\" is no child path; an order by several has only such`,
		`orderBy=["a","a/"]`:                                           `orderBy: the order has \"a\" twice`,
		`orderBy=["a",["b"]]`:                                          `orderBy: a list has strings, which are child paths`,
		`orderBy=["a"`:                                                 `orderBy: the list is no valid JSON`,
		order + `&startAt="u1"`:                                        `startAt: the order has 2 child paths, so a bound is a list of values`,
		order + `&endBefore=["u1",1,2]`:                                `endBefore: the bound has 3 values, and the order has 2 child paths`,
		order + `&equalTo=[]`:                                          `equalTo: a bound that is a list has at least one value`,
		order + `&startAfter=["u1",{"x":1}]`:                           `startAfter: the values of a bound are null, booleans, numbers or strings`,
		order + `&endAt=["u1",[1]]`:                                    `endAt: the values of a bound are null, booleans, numbers or strings`,
		order + `&endAt=[1,2,3,4,5,6]`:                                 `endAt: a list has at most 4 elements`,
		`orderBy="owner"&startAt=["u1"]`:                               `Constraint index field must be a JSON primitive`,
	} {
		r := ts.secret("GET", "/groups.json?"+params, "")
		if !strings.Contains(r.body, want) {
			t.Errorf("%s: %d %s, want %s", params, r.StatusCode, r.body, want)
		}
	}
}

// secret sends a request as the administrator with the secret sesame. Characters of the query
// that a URL can't have are escaped.
func (ts *testServer) secret(method, target, body string) result {
	ts.t.Helper()
	path, query, ok := strings.Cut(target, "?")
	if ok {
		path += "?" + strings.NewReplacer("%3D", "=", "%26", "&", "%253E", "%3E").Replace(url.PathEscape(query))
	}
	return ts.do(call{method, path, bearer("sesame"), body})
}
