package tree

import (
	"strings"
	"testing"
	"unicode/utf8"
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

// TestPrettyPieces: the pieces are what AppendPretty makes, of about the length that is wanted, with
// whole characters. None follows one that was not wanted.
func TestPrettyPieces(t *testing.T) {
	long := `"` + strings.Repeat("ü 😀x", 300) + `"`
	for _, text := range []string{
		`null`, `{}`, `[]`, long, `{"a":{"b":{"c":{}}},"d":[1,2,[3,{"e":4}],[]]}`,
		`{"a":` + long + `,"long":[` + long + `,{"k":` + long + `}],"z":[` + strings.Repeat(`1,`, 500) + `{"a":1}]}`,
		strings.Repeat(`{"a":1,"k":`, 30) + long + strings.Repeat(`}`, 30),
	} {
		want := string(AppendPretty(nil, text))
		for _, size := range []int{4, 7, 100, 1 << 20} {
			var all []string
			for piece := range PrettyPieces(text, size) {
				if all = append(all, string(piece)); !utf8.Valid(piece) {
					t.Errorf("%.40s in pieces of %d: %q ends inside of a character", text, size, piece)
				}
			}
			if got := strings.Join(all, ""); got != want {
				t.Errorf("%.40s in pieces of %d is\n%.200s\nwant\n%.200s", text, size, got, want)
			}
			for stop := range min(len(all), 20) {
				n := 0
				for range PrettyPieces(text, size) {
					if n++; n > stop {
						break
					}
				}
			}
			for _, piece := range all {
				if len(piece) > 2*size+2000 { // 30 objects end together
					t.Errorf("%.40s in pieces of %d: one has %d bytes", text, size, len(piece))
				}
			}
		}
	}
}
