package wire

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// validTexts are texts at the borders of the grammar.
var validTexts = []string{
	``, ` `, `{}`, `[]`, ` { } `, `[ ]`, `{"a":1}`, `{"a" : [1 , 2.5e-3,-0,0.1,1E+9,true,false,null]}`, `"x"`, `null`,
	`{`, `}`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`, `{a:1}`, `{"a":1}}`, `{} {}`,
	`01`, `-`, `-01`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `00`, `-0`, `0e0`, `1x`, `tru`, `truex`, `nul`, `nulll`,
	`"`, `"a`, `"\`, `"\"`, `"\\"`, `"\u"`, `"\u12"`, `"\u12g4"`, `"\u12aF"`, `"\u12aF`, `"\u123"`, `"\x"`, `"\/\b\f\n\r\t\""`,
	"\"\n\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"1234567\x1f\"", "\"12345678\\\"", "\"é€😀\"", "\v{}", "\f1", "{}\x00",
	`{"12345678901234567890":"the quick brown fox \" jumps \\"}`, `{"a":"b","a":"b"}`, `{"":""}`,
}

// TestIsJSON compares with the standard library.
func TestIsJSON(t *testing.T) {
	for _, text := range validTexts {
		sameAsStandard(t, text)
	}
	for range 20_000 { // texts that differ in few bytes from good ones
		text := []byte(validTexts[rand.IntN(len(validTexts))])
		for range 1 + rand.IntN(2) {
			const bytes = "{}[]\",:\\ \n\x1f0123e+-.tfnua"
			if at := rand.IntN(len(text) + 1); at == len(text) {
				text = append(text, bytes[rand.IntN(len(bytes))])
			} else {
				text[at] = bytes[rand.IntN(len(bytes))]
			}
		}
		sameAsStandard(t, string(text))
	}
}

func FuzzIsJSON(f *testing.F) {
	for _, text := range validTexts {
		f.Add(text)
	}
	f.Fuzz(sameAsStandard)
}

func sameAsStandard(t *testing.T, text string) {
	t.Helper()
	if jsontext.IsDeep(text, maxNesting) {
		return
	}
	if got, want := isJSON(text), json.Valid([]byte(text)) && utf8.ValidString(text); got != want {
		t.Errorf("isJSON(%q) = %v, want %v", text, got, want)
	}
}

// TestParseMessageMembers: a body has as many members as it likes, and the last of equal
// ones counts, also of the objects around it.
func TestParseMessageMembers(t *testing.T) {
	const many = `"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,`
	m, err := ParseMessage(`{"t":"c","d":{"r":1,"a":"m","b":{"h":"gone"}},"t":"d",` +
		`"d":{"a":"q","b":{"p":"/gone"},"b":{` + many + `"p":"/a","d":1,"p":"/b"},"r":2,"a":"p"}}`)
	if r := m.Request; err != nil || r.ID != 2 || r.Action != "p" || r.Body.Path != "/b" || r.Body.Data != "1" || r.Body.HasHash {
		t.Errorf("read %+v, %v", r, err)
	}
	if _, err := ParseMessage(`{"t":"d","d":{"r":2,"a":"p","b":{` + many + `"v":2}}}`); err == nil || !strings.HasSuffix(err.Error(), "b.v is 2, want 1") {
		t.Errorf("a wrong member behind many others: %v", err)
	}
	if _, err := ParseMessage(`{"t":"d","d":{"r":2},"d":{"a":"p","b":{}}}`); err == nil {
		t.Error("members of an object that comes again are still there")
	}
}
