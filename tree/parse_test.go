package tree

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"null", ` null `, `null`},
		{"leaf", "\t\r\n\"x\"\n", `"x"`},
		{"spaces", ` { "a" : [ 1 , { "b" : true } ] } `, `{"a":{"0":1,"1":{"b":true}}}`},
		{"key order", `{"b":1,"10":2,"a":3,"9":4}`, `{"9":4,"10":2,"a":3,"b":1}`},
		{"key order below", `{"b":{"z":1,"y":2},"a":{"2":1,"1":2}}`, `{"a":{"1":2,"2":1},"b":{"y":2,"z":1}}`},
		{"nulls", `{"a":null,"b":{"c":null},"d":[],"e":{},"f":[null,{}],"g":0}`, `{"g":0}`},
		{"array with holes", `[null,"a",{},"b"]`, `{"1":"a","3":"b"}`},
		{"ten elements", `[0,1,2,3,4,5,6,7,8,9,10]`, `{"0":0,"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"10":10}`},

		{"the last of equal keys", `{"a":1,"a":2}`, `{"a":2}`},
		{"the last of three", `{"a":1,"b":0,"a":{"x":1},"a":3}`, `{"a":3,"b":0}`},
		{"equal keys, the last null", `{"a":1,"a":null}`, `null`},
		{"the same out of order", `{"b":1,"a":2,"b":null}`, `{"a":2}`},
		{"the same between others", `{"b":1,"a":2,"c":3,"b":{},"d":4}`, `{"a":2,"c":3,"d":4}`},
		{"equal keys, the first null", `{"b":1,"a":null,"a":2}`, `{"a":2,"b":1}`},
		{"equal by escape", `{"a":1,"\u0061":2}`, `{"a":2}`},

		{"priority first", `{".priority":1,"a":2}`, `{".priority":1,"a":2}`},
		{"priority between", `{"b":1,".priority":"p","a":2}`, `{".priority":"p","a":2,"b":1}`},
		{"priority last", `{"a":{"b":1,".priority":3},".priority":-0.0}`, `{".priority":0,"a":{".priority":3,"b":1}}`},
		{"null priority", `{"a":1,".priority":null}`, `{"a":1}`},
		{"the last priority", `{".priority":1,"a":1,".priority":2}`, `{".priority":2,"a":1}`},
		{"priority of nothing", `{".priority":1,"a":null}`, `null`},
		{"priority as .value", `{".priority":{".value":7},"a":1}`, `{".priority":7,"a":1}`},

		{".value", `{".value":"x"}`, `"x"`},
		{".value with priority", `{".value":"x",".priority":1}`, `{".priority":1,".value":"x"}`},
		{".value null", `{".value":null,".priority":1}`, `null`},
		{".value null beside children", `{".value":null,"a":1,".priority":1}`, `{".priority":1,"a":1}`},
		{".value empty", `{".value":[null],".priority":1}`, `null`},
		{".value object", `{".value":{"b":1,"a":2},".priority":1}`, `{".priority":1,"a":2,"b":1}`},
		{".value object, priority within", `{".value":{"a":2,".priority":2},".priority":1}`, `{".priority":1,"a":2}`},
		{".value leaf, priority within", `{".value":{".value":2,".priority":2}}`, `2`},
		{"the last .value", `{".value":1,".value":2}`, `2`},

		{"integers", `[0,-0,7,-7,999999999999999,1234567890123456]`, `{"0":0,"1":0,"2":7,"3":-7,"4":999999999999999,"5":1234567890123456}`},
		{"integers of 64 bits", `[9007199254740993,1152921504606846976,9223372036854775807,-9223372036854775808]`, `{"0":9007199254740993,"1":1152921504606846976,"2":9223372036854775807,"3":-9223372036854775808}`},
		{"integers of more bits", `[9223372036854775808,123456789012345678901234567890]`, `{"0":9223372036854776000,"1":1.2345678901234568e+29}`},
		{"fractions", `[1.0,1.50,-0.0,0.1,1e0,1E2,1e+2,12e-1]`, `{"0":1,"1":1.5,"2":0,"3":0.1,"4":1,"5":100,"6":100,"7":1.2}`},
		{"exponents", `[1e20,1e21,1e-6,1e-7,1.5e300,5e-324,1e-400]`, `{"0":100000000000000000000,"1":1e+21,"2":0.000001,"3":1e-7,"4":1.5e+300,"5":5e-324,"6":0}`},

		{"simple escapes", `"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`},
		{"escaped characters", `"\u0061\u00e9\u6f22\ud83d\ude00\u0000\u001F\u007f"`, "\"aé漢😀\\u0000\\u001f\x7f\""},
		{"raw characters", `"aé漢😀/<>&"`, `"aé漢😀/<>&"`},
		{"U+FFFD", `"\ufffd"`, "\"\ufffd\""},
		{"escaped key", `{"\u0022":1,"!":2}`, `{"!":2,"\"":1}`},
	}
	for _, test := range tests {
		for _, dialect := range []Dialect{Strict, Lenient} {
			d, err := Parse(test.in, 0, dialect)
			n, ok := d.Node()
			if err != nil || !ok || n.JSON() != test.want {
				t.Errorf("%s: Parse(%s) = %s, %v, want %s", test.name, test.in, n.JSON(), err, test.want)
			}
			mustBeCanonical(t, n)
		}
	}
}

func TestParseServerValues(t *testing.T) {
	const now = `{".sv":"timestamp"}`
	const plus = `{".sv":{"increment":2}}`
	tests := []struct{ in, want string }{
		{now, now},
		{` { ".sv" : { "increment" : 2.0 } } `, plus},
		{`{"b":` + now + `,"a":1}`, `{"a":1,"b":` + now + `}`},
		{`[` + plus + `]`, `{"0":` + plus + `}`},
		{`{".value":` + now + `}`, now},
		{`{".value":` + now + `,".priority":1}`, `{".priority":1,".value":` + now + `}`},
		{`{".priority":1,".sv":"timestamp"}`, `{".priority":1,".value":` + now + `}`},
		{`{".priority":` + plus + `,".value":"x"}`, `{".priority":` + plus + `,".value":"x"}`},
		{`{".priority":` + now + `,"a":` + now + `}`, `{".priority":` + now + `,"a":` + now + `}`},
		{`{".priority":1,".value":{".priority":2,".value":` + now + `}}`, `{".priority":1,".value":` + now + `}`},
		{`{".value":{"a":` + now + `},".priority":1}`, `{".priority":1,"a":` + now + `}`},
	}
	for _, test := range tests {
		for _, dialect := range []Dialect{Strict, Lenient} {
			d, err := Parse(test.in, 0, dialect)
			if err != nil || d.Text() != test.want {
				t.Errorf("Parse(%s) = %s, %v, want %s", test.in, d.Text(), err, test.want)
			}
			if _, ok := d.Node(); ok {
				t.Errorf("Parse(%s) is a node, but holds server values", test.in)
			}
			if again, err := Parse(d.Text(), 0, dialect); again != d || err != nil {
				t.Errorf("Parse(%s) = %s, %v", d.Text(), again.Text(), err)
			}
			if DraftFromText(d.Text()) != d {
				t.Errorf("DraftFromText(%s) is another draft", d.Text())
			}
		}
	}
}

// A server value that does not end up in the draft leaves no trace.
func TestParseUnusedServerValues(t *testing.T) {
	for in, want := range map[string]string{
		`{".priority":{".sv":"timestamp"}}`:         `null`,
		`{"a":{".sv":"timestamp"},"a":1}`:           `{"a":1}`,
		`{"a":{".sv":"timestamp"},"a":null}`:        `null`,
		`{".value":1,"a":{".sv":"timestamp"}}`:      `1`,
		`{".value":1,".sv":"timestamp"}`:            `1`,
		`{".foo":{".sv":"timestamp"},"a":1}`:        `{"a":1}`,
		`{".value":{},"a":1}`:                       `null`,
		`{".sv":"timestamp",".sv":{"increment":1}}`: ``,
	} {
		d, err := Parse(in, 0, Lenient)
		n, ok := d.Node()
		if err != nil || ok != (want != "") || ok && n.JSON() != want {
			t.Errorf("Parse(%s) = %s, %v, want %s", in, d.Text(), err, want)
		}
		if _, err := d.Resolve(1, func(Path) (Node, error) { return Empty, nil }); err != nil {
			t.Errorf("Resolve(%s): %v", in, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		in   string
		kind ParseKind
		want string
	}{
		{"", BadJSON, "1:1: expected a value, found the end of the text"},
		{" \n ", BadJSON, "2:2: expected a value, found the end of the text"},
		{"nul", BadJSON, "1:1: expected a value, found 'n'"},
		{"truee", BadJSON, "1:5: unexpected text after the value"},
		{"1 2", BadJSON, "1:3: unexpected text after the value"},
		{"\x00", BadJSON, `1:1: expected a value, found '\x00'`},
		{"NaN", BadJSON, "1:1: expected a value, found 'N'"},
		{"'a'", BadJSON, `1:1: expected a value, found '\''`},
		{"\ufeff1", BadJSON, `1:1: expected a value, found '\ufeff'`},

		{"{bad", BadJSON, "1:2: expected a key, found 'b'"},
		{`{"a":1,}`, BadJSON, "1:8: expected a key, found '}' after a comma"},
		{`{,"a":1}`, BadJSON, "1:2: expected a key, found ','"},
		{`{"a"}`, BadJSON, `1:5: expected ':', found '}'`},
		{`{"a" 1}`, BadJSON, `1:6: expected ':', found '1'`},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", BadJSON, `3:3: expected ',' or '}', found '"'`},
		{`{"a":1`, BadJSON, `1:7: expected ',' or '}', found the end of the text`},
		{`{"a":}`, BadJSON, "1:6: expected a value, found '}'"},
		{`[1,]`, BadJSON, "1:4: expected a value, found ']' after a comma"},
		{`[1 2]`, BadJSON, `1:4: expected ',' or ']', found '2'`},
		{`[1`, BadJSON, `1:3: expected ',' or ']', found the end of the text`},
		{`[1}`, BadJSON, `1:3: expected ',' or ']', found '}'`},

		{"-", BadJSON, "1:2: expected a digit"},
		{"+1", BadJSON, "1:1: expected a value, found '+'"},
		{"01", BadJSON, "1:2: unexpected text after the value"},
		{"1.", BadJSON, "1:3: expected a digit"},
		{".5", BadJSON, "1:1: expected a value, found '.'"},
		{"1e", BadJSON, "1:3: expected a digit"},
		{"1e+", BadJSON, "1:4: expected a digit"},
		{"[1,\n1e400]", BadJSON, "2:1: number out of range"},
		{"-1e309", BadJSON, "1:1: number out of range"},
		{strings.Repeat("9", 400), BadJSON, "1:1: number out of range"},

		{`"abc`, BadJSON, "1:1: string does not end"},
		{`"a\`, BadJSON, "1:3: string does not end"},
		{`"a\u12`, BadJSON, "1:3: string does not end"},
		{"\"a\nb\"", BadJSON, "1:3: control character in string"},
		{"\"\\n\x01\"", BadJSON, "1:4: control character in string"},
		{`"\x"`, BadJSON, "1:2: unknown escape"},
		{`"\u12g4"`, BadJSON, `1:2: bad \u escape`},
		{`"\u+123"`, BadJSON, `1:2: bad \u escape`},
		{`"ab\ud800"`, BadJSON, "1:4: unpaired surrogate"},
		{`"\udc00"`, BadJSON, "1:2: unpaired surrogate"},
		{`"\ud83dx"`, BadJSON, "1:2: unpaired surrogate"},
		{`"\ud83d\n"`, BadJSON, "1:2: unpaired surrogate"},
		{`"\ud83d\u0041"`, BadJSON, "1:2: unpaired surrogate"},
		{`{"\ud83d\ud83d":1}`, BadJSON, "1:3: unpaired surrogate"},
		{"\"\xff\"", BadJSON, "1:1: string is not valid UTF-8"},
		{"\"\\n\xff\"", BadJSON, "1:1: string is not valid UTF-8"},
		{"\"\xed\xa0\x80\"", BadJSON, "1:1: string is not valid UTF-8"},

		{`{"":1}`, BadKey, `1:2: invalid key ""`},
		{`{"a":{"b.c":1}}`, BadKey, `1:7: invalid key "b.c"`},
		{`{"a/b":1}`, BadKey, `1:2: invalid key "a/b"`},
		{"{\n\t\"$x\": 1}", BadKey, `2:2: invalid key "$x"`},
		{`{"\u007f":1}`, BadKey, `1:2: invalid key "\x7f"`},
		{`{"` + strings.Repeat("k", MaxKeyBytes+1) + `":null}`, LongKey, "1:2: a key has at most 768 bytes, and this one has 769"},

		{`{".priority":true,"a":1}`, BadPriority, "1:14: a priority must be a string or a number"},
		{`{".priority":{"a":1},"a":1}`, BadPriority, "1:14: a priority must be a string or a number"},
		{`{".priority":[1],"a":1}`, BadPriority, "1:14: a priority must be a string or a number"},
		{`{".priority":{".value":1,".priority":2},"a":1}`, BadPriority, "1:14: a priority must be a string or a number"},
		{`{".sv":"now"}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":1}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":null}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":{"increment":"1"}}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":{"increment":1,"x":1}}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":{"increment":1,".priority":1}}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":{"increment":{".value":1,".priority":1}}}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":{".sv":"timestamp"}}`, BadServerValue, "1:8: unknown server value"},
		{`{".sv":{"increment":{".sv":"timestamp"}}}`, BadServerValue, "1:8: unknown server value"},
	}
	for _, test := range tests {
		for _, dialect := range []Dialect{Strict, Lenient} {
			mustFail(t, test.in, dialect, test.kind, test.want)
		}
	}
}

func mustFail(t *testing.T, in string, dialect Dialect, kind ParseKind, want string) {
	t.Helper()
	d, err := Parse(in, 0, dialect)
	var e *ParseError
	if !errors.As(err, &e) || e.Kind != kind || e.Error() != want || d != (Draft{}) {
		t.Errorf("Parse(%s) = %q, %v, want %q", abbreviate(in), abbreviate(d.Text()), err, want)
	}
}

func TestParseDialects(t *testing.T) {
	for _, test := range []struct {
		in, lenient string
		kind        ParseKind
		err         string // of the strict dialect
	}{
		{`{"a":1,".foo":{"b":2}}`, `{"a":1}`, BadKey, `1:8: invalid key ".foo"`},
		{`{".":1}`, `null`, BadKey, `1:2: invalid key "."`},
		{`{"a":1,".value":"x"}`, `"x"`, BadValue, "1:20: .value or .sv beside other keys"},
		{`{".value":"x","b":1,"a":2}`, `"x"`, BadValue, "1:26: .value or .sv beside other keys"},
		{`{".value":{"b":1},"a":2}`, `{"b":1}`, BadValue, "1:24: .value or .sv beside other keys"},
		{`{".sv":"timestamp","a":1}`, `{".sv":"timestamp"}`, BadValue, "1:25: .value or .sv beside other keys"},
		{`{".sv":"timestamp",".value":1}`, `1`, BadValue, "1:30: .value or .sv beside other keys"},
		{`{".value":1,".sv":"timestamp"}`, `1`, BadValue, "1:30: .value or .sv beside other keys"},
		{`{".value":"x","a":null}`, `"x"`, -1, ""},
	} {
		d, err := Parse(test.in, 0, Lenient)
		if got := d.Text(); err != nil || got != test.lenient && test.lenient != "null" {
			t.Errorf("Parse(%s, Lenient) = %s, %v, want %s", test.in, got, err, test.lenient)
		}
		if test.err != "" {
			mustFail(t, test.in, Strict, test.kind, test.err)
		} else if _, err := Parse(test.in, 0, Strict); err != nil {
			t.Errorf("Parse(%s, Strict): %v", test.in, err)
		}
	}
}

func TestParseDepth(t *testing.T) {
	nested := func(levels int) string { return strings.Repeat(`{"k":`, levels) + "1" + strings.Repeat("}", levels) }
	array := func(levels int) string { return strings.Repeat("[", levels) + "1" + strings.Repeat("]", levels) }
	values := func(levels int) string {
		return strings.Repeat(`{".value":`, levels) + "1" + strings.Repeat("}", levels)
	}
	servers := func(levels int) string { return strings.Repeat(`{".sv":`, levels) + "1" + strings.Repeat("}", levels) }
	for _, test := range []struct {
		name, in string
		depth    int
		ok       bool
	}{
		{"object", nested(MaxDepth), 0, true},
		{"object too deep", nested(MaxDepth + 1), 0, false},
		{"object below others", nested(2), MaxDepth - 2, true},
		{"object below others, too deep", nested(2), MaxDepth - 1, false},
		{"leaf at the limit", "1", MaxDepth, true},
		{"array", array(MaxDepth), 0, true},
		{"array too deep", array(MaxDepth + 1), 0, false},
		{"array below others, too deep", "[null]", MaxDepth, false},
		{".value does not count", `{".value":` + nested(MaxDepth) + "}", 0, true},
		{"nested .value", values(MaxDepth), 0, true},
		{"any number of .value", values(1e6), 0, false},
		{"any number of .sv", servers(1e6), 0, false},
		{"any number of .priority", strings.Repeat(`{".priority":`, 1e6), 0, false},
		{"any number of unknown keys", strings.Repeat(`{".x":`, 1e6), 0, false},
		{"any number of arrays", strings.Repeat(`[`, 1e6), 0, false},
	} {
		_, err := Parse(test.in, test.depth, Lenient)
		var e *ParseError
		if (err == nil) != test.ok || err != nil && (!errors.As(err, &e) || e.Kind != TooDeep) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	long := strings.Repeat("x", MaxStringBytes)
	if _, err := Parse(`"`+long+`"`, 0, Strict); err != nil {
		t.Errorf("a string of MaxStringBytes: %v", err)
	}
	mustFail(t, `"`+long+`x"`, Strict, TooLong, "1:1: string of 10485761 bytes exceeds the maximum of 10485760")
	mustFail(t, `{"a":"`+long+`\u0078"}`, Strict, TooLong, "1:6: string of 10485761 bytes exceeds the maximum of 10485760")
	key := strings.Repeat("k", MaxKeyBytes)
	if n, err := ParseNode(`{"` + key + `":1}`); err != nil || n.Child(key) != Number(1) {
		t.Errorf("a key of MaxKeyBytes: %v", err)
	}
}

func TestParseNode(t *testing.T) {
	for in, kind := range map[string]ParseKind{`{".sv":"timestamp"}`: BadServerValue, `{"a":`: BadJSON, `{".x":1}`: BadKey} {
		n, err := ParseNode(in)
		var e *ParseError
		if !errors.As(err, &e) || e.Kind != kind || !n.IsEmpty() {
			t.Errorf("ParseNode(%s) = %s, %v", in, n.JSON(), err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustParseNode does not panic")
		}
	}()
	MustParseNode(`{`)
}

// The text, the output, the members and their order.
func TestParseAllocations(t *testing.T) {
	if len(message) < 200 || len(message) > 250 {
		t.Fatalf("the message has %d bytes", len(message))
	}
	if got := testing.AllocsPerRun(100, func() { Parse(message, 0, Lenient) }); got > 4 {
		t.Errorf("Parse allocates %v times, want at most 4", got)
	}
	if got := testing.AllocsPerRun(100, func() { Parse(`"hello"`, 0, Lenient) }); got > 2 {
		t.Errorf("Parse of a leaf allocates %v times, want at most 2", got)
	}
}

// FuzzParse: no text is too strange, and what was read is valid JSON that reads
// as itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"a":1,"b":[true,null,"x"],"c":{}}`, `{"10":1,"9":2,"a":{".value":"x",".priority":1}}`,
		`{"b":1,"a":2,"b":null}`, `{".priority":"p","é":"\ud83d\ude00\n"}`, `{".value":{"a":1},".priority":2}`,
		`{"t":{".sv":"timestamp"},".priority":{".sv":{"increment":1}}}`, `{".sv":{".sv":{".sv":1}}}`,
		`[1e400,-0.0,1e21,9007199254740993,0.1]`, `{".value":{".priority":1,".value":{".sv":"timestamp"}},".priority":2}`,
		`{".foo":[{}],"":1}`, "{\"a\":\"\xff\"}", `"\ud800"`, `[[[[[[]]]]]]`, message,
	} {
		f.Add(seed, 0)
	}
	f.Add(`{"a":{"b":1}}`, 30)
	f.Fuzz(func(t *testing.T, src string, depth int) {
		depth = max(0, min(depth, MaxDepth))
		for _, dialect := range []Dialect{Strict, Lenient} {
			d, err := Parse(src, depth, dialect)
			if err != nil {
				if e := new(ParseError); !errors.As(err, &e) || e.Line < 1 || e.Col < 1 {
					t.Fatalf("Parse(%q) fails with %#v", src, err)
				}
				continue
			}
			if again, err := Parse(d.Text(), depth, Strict); !d.IsEmpty() && (again != d || err != nil) {
				t.Fatalf("Parse(%q) = %s, which reads as %s, %v", src, d.Text(), again.Text(), err)
			}
			if !json.Valid([]byte(src)) {
				t.Fatalf("Parse(%q) = %s, but that is not JSON", src, d.Text())
			}
			n, err := d.Resolve(1700000000000, func(Path) (Node, error) { return Number(1), nil })
			if err != nil {
				continue
			}
			if !json.Valid([]byte(n.JSON())) {
				t.Fatalf("Parse(%q) = %s", src, n.JSON())
			}
			mustBeCanonical(t, n)
		}
	})
}
