package tree

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/internal/tier"
)

// parseScouted is Parse with a scout that starts at a place.
func parseScouted(src string, start, depth int, d Dialect) (Draft, error) {
	p := parser{src: src, dialect: d}
	p.scoutFrom(start)
	defer p.recall()
	return p.run(func() Draft { return p.document(depth) })
}

// TestScoutedTexts reads texts with a scout that starts at each quote of them. What
// comes out is the same as without.
func TestScoutedTexts(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"b":1,"a":`, n) + "1" + strings.Repeat("}", n) }
	texts := []string{
		`{"a":1,"b":2,"c":3}`, `{"c":3,"a":1,"b":2}`, `{"a":1,"b":2,"a":3}`, `{"b":1,"c":2,"a":3,"b":null}`,
		`{"a":null,"b":null}`, `{"a":1,"b":null,"c":null}`, `{"b":1,"a":null,"c":{"x":null}}`,
		`{"a":{"x":1,"y":{"z":2,"w":3}},"b":{"x":1}}`, `{"a":"},\"b\":1,","b":"\"},","c":"x"}`,
		`{".priority":1,"a":1,"b":2}`, `{"a":1,".priority":1,"b":2}`, `{"a":1,"b":2,".priority":"x"}`,
		`{".value":1,".priority":2}`, `{"a":{".value":{"b":1,"c":2},".priority":2},"d":1}`,
		`{"a":{".sv":"timestamp"},"b":{".sv":{"increment":1}}}`, `{"a":1,"b":{".sv":"x"}}`, `{"a":1,".x":2,"b":3}`,
		`{"1":1,"10":2,"2":3}`, `[{"a":1,"b":2},{"c":3,"d":4}]`, `{"a" : 1 , "b" : [1,2] , "c":{"d":true , "e":false}}`,
		`{"a":1,"b":2`, `{"a":1,"b":2,}`, `{"a":1,"b":x}`, `{"a":1,"b":2}}`, `{"a":1,"b/c":2}`, `{"a":1,"b":"` + "\x01" + `"}`,
		deep(MaxDepth), deep(MaxDepth + 1), `{"a":` + deep(MaxDepth-1) + `,"b":` + deep(MaxDepth) + `}`,
		`{"a":1,"b":` + strings.Repeat("[", maxNesting+1) + strings.Repeat("]", maxNesting+1) + `}`,
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		texts = append(texts, randomText(rnd, 0))
	}
	for _, text := range texts {
		for _, dialect := range []Dialect{Strict, Lenient} {
			want, wantErr := Parse(text, 0, dialect)
			for start := range text {
				if text[start] != '"' {
					continue
				}
				got, err := parseScouted(text, start, 0, dialect)
				if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%s with a scout from %d: %v, %v, want %v, %v", text, start, got, err, want, wantErr)
				}
			}
		}
	}
}

// randomText returns a value with keys that come again and in no order.
func randomText(rnd *rand.Rand, level int) string {
	if level > 3 || level > 0 && rnd.IntN(3) == 0 {
		return []string{"null", "1", `"x"`, "{}", `{".sv":"timestamp"}`, `"},\""`, `{".value":1,".priority":2}`}[rnd.IntN(7)]
	}
	var members []string
	for range rnd.IntN(6) {
		key := []string{"a", "b", "c", "10", "9", `\u0061`, ".priority"}[rnd.IntN(7)]
		value := randomText(rnd, level+1)
		if key == ".priority" {
			value = "1"
		}
		members = append(members, `"`+key+`":`+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestScoutTakesOver checks that the guess is right for what is large usually, so
// that the second half is not read twice.
func TestScoutTakesOver(t *testing.T) {
	rows := tier.Pick(15_000, 60_000, 60_000)
	row := `{"n":%d,"tags":{"x":true,"y":true},"text":"some },\" words"}`
	for name, text := range map[string]string{
		"rows":         rowsOf(rows, row, ","),
		"spaced":       rowsOf(rows, row, ",\n  "),
		"below others": `{"a":{"b":` + rowsOf(rows, row, ",") + `},"c":{"d":1}}`,
	} {
		p := parser{src: text}
		at, ok := guessMember(text, len(text)/2, len(text)/64)
		if !ok {
			t.Fatalf("%s: no guess", name)
		}
		p.scoutFrom(at)
		got, err := p.run(func() Draft { return p.document(0) })
		if err != nil || p.scout != nil {
			t.Errorf("%s: %v; the scout at %d of %d was not needed", name, err, at, len(text))
		}
		plain := parser{src: text}
		if want, _ := plain.run(func() Draft { return plain.document(0) }); got != want {
			t.Errorf("%s: what was read differs", name)
		}
	}
}

func rowsOf(n int, format, sep string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(sep)
		}
		fmt.Fprintf(&b, `"r%06d":`+format, i, i)
	}
	return "{" + b.String() + "}"
}
