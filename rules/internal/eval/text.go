package eval

import (
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/expr-lang/expr/ast"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// The extension text: methods of strings that are not in Firebase's language. Those of the extension
// dates are called in the same way.

// words are the words of a text in lower case, with one blank between them, and one at each end.
type words string

// has reports whether a text is one of the words. The text may be several words in a row.
func (w words) has(word string) bool {
	if !plain(word) {
		word = strings.Join(Words(word), " ")
	}
	return word != "" && strings.Contains(string(w), " "+word+" ")
}

// Words returns the words of a text, in lower case.
func Words(s string) []string { return strings.Fields(toLower(s)) }

// plain reports whether a text is one word already, of letters and digits.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// worded is a text whose words were asked for.
type worded struct {
	text  string
	words any // nil: there is none
}

// of returns the words of a text. Of a thousand filters that look at one text, the first
// one finds them.
func (w *worded) of(s string) any {
	if w.words == nil || w.text != s {
		*w = worded{s, words(" " + strings.Join(Words(s), " ") + " ")}
	}
	return w.words
}

// A textMethod is a method of the extension. It charges for what it looks at beyond its
// receiver and arguments.
type textMethod func(e *Evaluation, of any, args []any) any

var textMethods = map[string]textMethod{
	"words": func(e *Evaluation, of any, _ []any) any {
		s, ok := receiver(e, of, lang.Words)
		if !ok {
			return words("")
		}
		return e.worded.of(s)
	},
	"has": func(e *Evaluation, of any, args []any) any {
		return hasWords(e, of, args)
	},
	"hasAll": func(e *Evaluation, of any, args []any) any {
		return hasWords(e, of, args)
	},
	"part": func(e *Evaluation, of any, args []any) any {
		s, ok := receiver(e, of, lang.String)
		separator, isString := args[0].(string)
		n, isNumber := args[1].(float64)
		switch {
		case !ok:
			return nil
		case !isString:
			return e.reject(lang.String, msgArgument, args[0])
		case !isNumber:
			return e.reject(lang.String, msgNumberArg, args[1])
		}
		return part(s, separator, n)
	},
	"toNumber": func(e *Evaluation, of any, _ []any) any {
		s, ok := receiver(e, of, lang.Number)
		if !ok {
			return nil
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || strings.ContainsAny(s, "xX_pP") {
			return e.fail(lang.Number, msgNoNumber)
		}
		return n
	},
	"substring": func(e *Evaluation, of any, args []any) any {
		s, ok := receiver(e, of, lang.String)
		from, isFrom := args[0].(float64)
		to, isTo := args[1].(float64)
		if !ok {
			return nil
		}
		if !isFrom || !isTo {
			return e.fail(lang.String, msgNumberArg)
		}
		return substring(s, from, to)
	},
	"hash": func(e *Evaluation, of any, _ []any) any {
		s, ok := receiver(e, of, lang.Number)
		if !ok {
			return nil
		}
		h := fnv.New32a()
		h.Write([]byte(s))
		return float64(h.Sum32())
	},
	"iso":      dateText(isoLayout),
	"day":      dateText(dayLayout),
	"month":    dateText(monthLayout),
	"toMillis": toMillis,
}

// extension lowers a method of the extension.
func (c *call) extension(f textMethod, of operand, x *lang.Call) ast.Node {
	var operands []operand
	for _, arg := range x.Args {
		if list, ok := arg.(*lang.Array); ok {
			for _, item := range list.Items {
				operands = append(operands, c.operand(item))
			}
			continue
		}
		operands = append(operands, c.operand(arg))
	}
	return c.node(func(e *Evaluation, args []any) any {
		values := make([]any, len(operands))
		for i := range operands {
			values[i] = operands[i].get(e, args)
		}
		return f(e, of.get(e, args), values)
	})
}

// receiver returns the string whose method is called, and charges for it. ok is false if it
// is none, or too much was looked at.
func receiver(e *Evaluation, of any, result lang.Type) (s string, ok bool) {
	s, ok = of.(string)
	if !ok {
		e.reject(result, msgNoString, of)
		return "", false
	}
	return s, e.charge(len(s))
}

// hasWords reports whether each argument is one of the words.
func hasWords(e *Evaluation, of any, args []any) any {
	w, ok := of.(words)
	if !ok || w == "" { // there is a fault already
		return e.fail(lang.Boolean, msgNoString)
	}
	for _, arg := range args {
		word, ok := arg.(string)
		if !ok {
			return e.reject(lang.Boolean, msgArgument, arg)
		}
		if !e.charge(len(w) - len("  ") + len(word)) {
			return false
		}
		if !w.has(word) {
			return false
		}
	}
	return true
}

// part returns the nth part between separators, from 0 on; "" if there is none. The parts of
// an empty separator are the whole text.
func part(s, separator string, n float64) string {
	if n < 0 || n != math.Trunc(n) || n > float64(len(s)) {
		return ""
	}
	for ; n > 0; n-- {
		_, rest, found := strings.Cut(s, separator)
		if !found || separator == "" {
			return ""
		}
		s = rest
	}
	if separator != "" {
		s, _, _ = strings.Cut(s, separator)
	}
	return s
}

// substring returns the text between two places, counted in UTF-16 code units as length is.
// They may be given in any order, and those outside of the text are its ends.
func substring(s string, from, to float64) string {
	units := utf16.Encode([]rune(s))
	place := func(f float64) int {
		if math.IsNaN(f) {
			return 0
		}
		return int(max(0, min(f, float64(len(units)))))
	}
	ends := []int{place(from), place(to)}
	slices.Sort(ends)
	return string(utf16.Decode(units[ends[0]:ends[1]]))
}
