package explain_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// Nothing that a terminal would obey gets into what is shown.
func TestControlCharactersAreEscaped(t *testing.T) {
	s := new(script)
	if out := s.parse("{\"rules\":{\"k\u009b\":{\"$a\":{\".write\":\"newData.val() !=\\n 'x\u0085' && $a == 'b'\",\".validate\":false}}}}"); out != "" {
		t.Fatal(out)
	}
	q := &rules.Request{Op: rules.OpWrite, Data: s.world, Auth: rules.NewAuth(`{"uid":"u\u001b[2J\u009b"}`)}
	for _, key := range []string{"a\u009b2J", "b\u0080"} {
		p, err := tree.ParsePath("k\u009b/" + key)
		if err != nil {
			t.Fatal(err)
		}
		q.Writes = append(q.Writes, tree.ResolvedWrite{Target: tree.Target{Path: p}, Node: tree.String("v\u001b[31m\u009b\u007f\n")})
	}
	trace, err := s.rules.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		form string
		want []string
	}{
		{"text", []string{`write /k\u009b/a\u009b2J and 1 more`, `/k\u009b/$a/.write`, `as "u\x1b[2J`}},
		{"values", []string{`\u001b[31m\u009b\u007f`, `at /k\u009b/a\u009b2J`}},
		{"brief", []string{`write /k\u009b/a\u009b2J and 1 more: /k\u009b/$a/.write (`, `for /k\u009b/a\u009b2J`}},
	} {
		text := draw(t, c.form, q, trace)
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
			t.Errorf("%s: raw %+q", c.form, text[i:])
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s:\n%s", c.form, want, text)
			}
		}
	}
	out := s.parse("{\"rules\":{\".read\":\"x\u009b\"}}")
	if strings.Contains(out, "\u009b") || out == "" {
		t.Errorf("error: %+q", out)
	}
}
