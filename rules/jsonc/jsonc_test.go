package jsonc

import (
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`{"a":1}`, `{"a":1}`},
		{"\uFEFF// head\n{ /* x */ \"a\": [1, 2,], // tail\n}", `{"a":[1,2]}`},
		{"{\"a\": \"x\n\ty\r\nz\"}", `{"a":"x\n\ty\r\nz"}`},
		{"\"a // no comment\"", `"a // no comment"`},
		{"[\"\\\"/*\", 1] // at the end", `["\"/*",1]`},
	} {
		d, err := Parse(c.src)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.src, err)
			continue
		}
		if got := string(Strict(d.Root)); got != c.want {
			t.Errorf("Parse(%q) is %s, want %s", c.src, got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"{\n  \"a\" 1}", `2:7: expected ':', found '1'`},
		{"{\"a\": \"x\ny\", b}", `2:5: expected a key in double quotes or '}', found 'b'`},
		{"", `1:1: expected a value, found the end of the text`},
		{`{`, `1:2: expected a key in double quotes or '}', found the end of the text`},
		{`{a:1}`, `1:2: expected a key in double quotes or '}', found 'a'`},
		{`{"a"`, `1:5: expected ':', found the end of the text`},
		{`{"a":`, `1:6: expected a value, found the end of the text`},
		{`{"a":tru}`, `1:6: expected a value, found 't'`},
		{`{"a":{]}`, `1:7: expected a key in double quotes or '}', found ']'`},
		{`{"a":true "b":1}`, `1:11: expected ',' or '}', found '"'`},
		{`{"a":{}`, `1:8: expected ',' or '}', found the end of the text`},
		{`{"a":1}}`, `1:8: unexpected text after the value`},
		{`[`, `1:2: expected a value or ']', found the end of the text`},
		{`[1 2]`, `1:4: expected ',' or ']', found '2'`},
		{`[1`, `1:3: expected ',' or ']', found the end of the text`},
		{`{"a":"x`, `1:8: string does not end`},
		{`{"a":"\x"}`, `1:6: invalid escape or control character in string`},
		{`{"a":1 /* x`, `1:8: comment does not end`},
		{"{} // \u2029", `1:7: invalid character in comment`},
		{"{\"a\":1,\n\"b\":{\"c\":1,\"c\":2}}", `2:12: duplicate key "c"`},
		{"\"\xff\"", "1:2: invalid UTF-8"},
	} {
		_, err := Parse(c.src)
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q): %v, want %s", c.src, err, c.want)
		}
	}
	deep := make([]byte, maxDepth+1)
	for i := range deep {
		deep[i] = '['
	}
	if _, err := Parse(string(deep)); err == nil || err.Error() != "1:201: more than 200 levels of brackets" {
		t.Errorf("%d brackets: %v", len(deep), err)
	}
}

// TestOffsets holds values to standing where their offsets say.
func TestOffsets(t *testing.T) {
	src := "{\n  \"k\": \"a\nb\", // c\n  \"l\": true\n}"
	d, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	v := d.Root.Find("/l")
	if got := d.Text[v.StartOffset:v.EndOffset]; got != "true" {
		t.Errorf("the offsets of l are those of %q", got)
	}
	if line, col := d.Pos(v.StartOffset); line != 4 || col != 8 {
		t.Errorf("l is at %d:%d, want 4:8", line, col)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("{\"a\": [1, \"x\ny\"], /* c */}")
	f.Add("// x\n\"\\u00e9\"")
	f.Fuzz(func(t *testing.T, src string) {
		d, err := Parse(src)
		if err != nil {
			return
		}
		strict := string(Strict(d.Root))
		again, err := Parse(strict)
		if err != nil {
			t.Fatalf("%q: the strict form %q: %v", src, strict, err)
		}
		if got := string(Strict(again.Root)); got != strict {
			t.Errorf("%q: %q, and again %q", src, strict, got)
		}
	})
}
