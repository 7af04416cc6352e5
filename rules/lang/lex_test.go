package lang

import (
	"fmt"
	"strings"
	"testing"
)

// tokens lexes all of src and prints the tokens as kind:text.
func tokens(src string) (out string, err *Error) {
	defer func() { err, _ = recover().(*Error) }()
	x := lexer{src: src}
	var list []string
	for {
		t := x.next()
		if t.kind == endToken {
			return strings.Join(list, " "), nil
		}
		text := t.text
		if t.kind == numberToken {
			text = fmt.Sprint(t.num)
		}
		kind := [...]string{"", "name", "num", "str", "op", "foreign", "assign"}[t.kind]
		list = append(list, kind+":"+text)
		out = strings.Join(list, " ")
	}
}

func TestLexer(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", ""},
		{" \t\r\n\v\f\u00a0\ufeff\u2028 a", "name:a"},
		{"a // b\n c /* d \n */ e // f", "name:a name:c name:e"},
		{"a//\rb", "name:a name:b"},
		{"$x _y $ été x1 a\u0301", "name:$x name:_y name:$ name:été name:x1 name:a\u0301"},
		{"true null typeof", "name:true name:null name:typeof"},
		{"0 1 1.5 1. .5 1e3 1E+3 1e-3 1.e1", "num:0 num:1 num:1.5 num:1 num:0.5 num:1000 num:1000 num:0.001 num:10"},
		{"0x10 0XfF 0x1e", "num:16 num:255 num:30"},
		{"0.1+0.2", "num:0.1 op:+ num:0.2"},
		{"1-1", "num:1 op:- num:1"},
		{`'a' "b" 'it\'s' "\"" '"'`, `str:a str:b str:it's str:" str:"`},
		{`'\n\r\t\b\f\v\0\\\/\q'`, "str:\n\r\t\b\f\v\x00\\/q"},
		{`'\x41\u0041\u00e9'`, "str:AAé"},
		{`'\ud83d\ude00' '\ud83d' '\ude00\ud83d' '\ud83dx' '\ud83d\u0041'`, "str:😀 str:\ufffd str:\ufffd\ufffd str:\ufffdx str:\ufffdA"},
		{"a===b!==c==d!=e", "name:a op:=== name:b op:!== name:c op:== name:d op:!= name:e"},
		{"<=>=<>&&||!?:.,;()[]+-*/%", "op:<= op:>= op:< op:> op:&& op:|| op:! op:? op:: op:. op:, op:; op:( op:) op:[ op:] op:+ op:- op:* op:/ op:%"},
		{"a &&& b", "name:a op:&& foreign:& name:b"},
		{"++ -- ** << >> >>> | ^ ~", "foreign:++ foreign:-- foreign:** foreign:<< foreign:>> foreign:>>> foreign:| foreign:^ foreign:~"},
		{"= += -= *= /= %= &= |= ^= <<= >>= >>>= **= &&= ||=", "assign:= assign:+= assign:-= assign:*= assign:/= assign:%= assign:&= assign:|= assign:^= assign:<<= assign:>>= assign:>>>= assign:**= assign:&&= assign:||="},
	} {
		got, err := tokens(c.src)
		if err != nil || got != c.want {
			t.Errorf("%q: %s (%v), want %s", c.src, got, err, c.want)
		}
	}
}

func TestLexerErrors(t *testing.T) {
	for _, c := range []struct {
		src    string
		offset int
		msg    string
	}{
		{"a 'b", 2, msgOpenString},
		{"'b\"", 0, msgOpenString},
		{"'a\nb'", 0, msgOpenString},
		{`'a\`, 0, msgOpenString},
		{`'a\x4'`, 2, msgBadEscape},
		{`'a\u12'`, 2, msgBadEscape},
		{`'\u{41}'`, 1, msgBadEscape},
		{`'\x+1'`, 1, msgBadEscape},
		{"a /* b", 2, msgOpenComment},
		{"1a", 0, msgBadNumber},
		{"1.foo", 0, msgBadNumber},
		{" 010", 1, msgBadNumber},
		{"1e", 0, msgBadNumber},
		{"1e+", 0, msgBadNumber},
		{"0x", 0, msgBadNumber},
		{"0xg", 0, msgBadNumber},
		{"1e999", 0, msgBadNumber},
		{"1_000", 0, msgBadNumber},
		{"0x1_0", 0, msgBadNumber},
		{"a # b", 2, msgSyntax},
		{"a { b", 2, msgSyntax},
		{"`a`", 0, msgSyntax},
		{"\x00", 0, msgSyntax},
	} {
		_, err := tokens(c.src)
		if err == nil || err.Offset != c.offset || err.Msg != c.msg {
			t.Errorf("%q: %+v, want %d: %s", c.src, err, c.offset, c.msg)
		}
	}
}
