package tree

import (
	"strings"
	"testing"
)

func TestAppendPlain(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                         `null`,
		`"x"`:                          `"x"`,
		`{".value":"x",".priority":1}`: `"x"`,
		`{"b":{".value":1,".priority":1},"a":{"c":2,".priority":"p"},".priority":3}`: `{"a":{"c":2},"b":1}`,
		`{"0":{"1":true},"1":{".value":2,".priority":3}}`:                            `[[null,true],2]`,
		`{"0":"a","5":"b"}`:                       `{"0":"a","5":"b"}`,
		`{"0":"a","1":"b","3":"d",".priority":1}`: `["a","b",null,"d"]`,
		`{"999999999":1}`:                         `{"999999999":1}`,
		`{"0":1,"1e0":1}`:                         `{"0":1,"1e0":1}`,
		`{"0":1,"-1":1}`:                          `{"-1":1,"0":1}`,
	} {
		if got := plainText(MustParseNode(in)); got != want {
			t.Errorf("AppendPlain(%s) = %s, want %s", in, got, want)
		}
	}
	n := MustParseNode(`{"a":{"0":1,".priority":2}}`)
	if got, want := string(AppendExport([]byte("x="), n)), `x={"a":{".priority":2,"0":1}}`; got != want {
		t.Errorf("AppendExport = %s, want %s", got, want)
	}
}

func TestAppendPretty(t *testing.T) {
	tests := []struct{ in, want string }{
		{`null`, `null`},
		{`-1.5e+300`, `-1.5e+300`},
		{`"a,b]}\""`, `"a,b]}\""`},
		{`{}`, `{ }`},
		{`[]`, `[ ]`},
		{`{"error":"Permission denied"}`, `
{
  "error" : "Permission denied"
}`},
		{`{"a":1,"b":{"c":"x","d":{}},"e":[],"f":true}`, `
{
  "a" : 1,
  "b" : {
    "c" : "x",
    "d" : { }
  },
  "e" : [ ],
  "f" : true
}`},
		{`["a","b",null]`, `[ "a", "b", null ]`},
		{`{"l":[1,[2,3],{"a":1},{"b":[{"c":2}]}]}`, `
{
  "l" : [ 1, [ 2, 3 ], {
    "a" : 1
  }, {
    "b" : [ {
      "c" : 2
    } ]
  } ]
}`},
	}
	for _, test := range tests {
		if got, want := string(AppendPretty(nil, test.in)), strings.TrimPrefix(test.want, "\n"); got != want {
			t.Errorf("AppendPretty(%s) =\n%s\nwant\n%s", test.in, got, want)
		}
	}
}
