package rules

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/dogwooddb/dogwood/rules/lang"
)

// A world is what the oracle evaluates expressions in.
type world struct {
	before, after *mapNode
	auth          any
	now           float64
	query         map[string]any
	at            []string
	captures      map[string]string
}

// A spot is a snapshot.
type spot struct {
	root *mapNode
	keys []string
	none bool
}

func (s spot) node() *mapNode {
	if s.none {
		return nil
	}
	return s.root.get(s.keys)
}

// A lapse is what a closure panics with where an expression fails.
type lapse struct{}

// An opinion evaluates an expression.
type opinion func(*world) any

// children is what val() returns for an object: equal to nothing.
type childrenValue struct{}

func oracle(x lang.Expr) opinion {
	switch x := x.(type) {
	case *lang.Literal:
		return func(*world) any { return x.Value }
	case *lang.Variable:
		return oracleVariable(x.Name)
	case *lang.Unary:
		of := oracle(x.X)
		if x.Op == lang.Not {
			return func(w *world) any { return !of(w).(bool) }
		}
		return func(w *world) any { return -wanted[float64](of(w)) }
	case *lang.Binary:
		return oracleBinary(x.Op, oracle(x.X), oracle(x.Y))
	case *lang.Cond:
		test, then, other := oracle(x.Test), oracle(x.Then), oracle(x.Else)
		return func(w *world) any {
			if test(w).(bool) {
				return then(w)
			}
			return other(w)
		}
	case *lang.Member:
		return oracleMember(x)
	case *lang.Index:
		of, key := oracle(x.X), oracle(x.Key)
		return func(w *world) any {
			v, k := of(w), key(w)
			if f, ok := k.(float64); ok {
				k = jsNumber(f)
			}
			return claimMember(v, wanted[string](k))
		}
	case *lang.Call:
		return oracleCall(x)
	}
	panic("the oracle doesn't know this expression")
}

// wanted insists on a type.
func wanted[T any](v any) T {
	t, ok := v.(T)
	if !ok {
		panic(lapse{})
	}
	return t
}

func oracleVariable(name string) opinion {
	switch name {
	case "auth":
		return func(w *world) any { return w.auth }
	case "now":
		return func(w *world) any { return w.now }
	case "root":
		return func(w *world) any { return spot{root: w.before} }
	case "data":
		return func(w *world) any { return spot{root: w.before, keys: w.at} }
	case "newData":
		return func(w *world) any { return spot{root: w.after, keys: w.at} }
	case "newRoot":
		return func(w *world) any { return spot{root: w.after} }
	case "query":
		return func(w *world) any { return w.query }
	}
	return func(w *world) any { return w.captures[name] }
}

func oracleBinary(op lang.Op, x, y opinion) opinion {
	switch op {
	case lang.And:
		return func(w *world) any { return x(w).(bool) && y(w).(bool) }
	case lang.Or:
		return func(w *world) any { return x(w).(bool) || y(w).(bool) }
	case lang.Eq:
		return func(w *world) any { return samePrimitive(x(w), y(w)) }
	case lang.Ne:
		return func(w *world) any { return !samePrimitive(x(w), y(w)) }
	case lang.Add:
		return func(w *world) any { return plus(x(w), y(w)) }
	case lang.Lt, lang.Le, lang.Gt, lang.Ge:
		return func(w *world) any { return ordered(op, x(w), y(w)) }
	}
	return func(w *world) any {
		a, b := x(w), y(w)
		return calculated(op, wanted[float64](a), wanted[float64](b))
	}
}

func calculated(op lang.Op, a, b float64) float64 {
	switch {
	case op == lang.Sub:
		return a - b
	case op == lang.Mul:
		return a * b
	case b == 0:
		return math.NaN()
	case op == lang.Div:
		return a / b
	case math.IsInf(a, 0) || math.IsNaN(a) || math.IsNaN(b):
		return math.NaN()
	case math.IsInf(b, 0):
		return a
	}
	return math.Mod(a, b)
}

func samePrimitive(x, y any) bool {
	switch x.(type) {
	case nil, bool, float64, string:
		switch y.(type) {
		case nil, bool, float64, string:
			return x == y
		}
	}
	return false
}

func ordered(op lang.Op, x, y any) bool {
	c := 0
	if a, ok := x.(float64); ok {
		b := wanted[float64](y)
		if a != a || b != b {
			return false
		}
		switch {
		case a < b:
			c = -1
		case a > b:
			c = 1
		}
	} else {
		c = compareUnits(wanted[string](x), wanted[string](y))
	}
	switch op {
	case lang.Lt:
		return c < 0
	case lang.Le:
		return c <= 0
	case lang.Gt:
		return c > 0
	}
	return c >= 0
}

func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

func compareUnits(a, b string) int {
	x, y := units(a), units(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return int(x[i]) - int(y[i])
		}
	}
	return len(x) - len(y)
}

func plus(x, y any) any {
	a, numbers := x.(float64)
	b, ok := y.(float64)
	if numbers && ok {
		return a + b
	}
	s := printed(x) + printed(y)
	if len(s) > 1<<20 {
		panic(lapse{})
	}
	return s
}

func printed(v any) string {
	if f, ok := v.(float64); ok {
		return jsNumber(f)
	}
	return wanted[string](v)
}

// jsNumber prints a number as JavaScript's Number::toString says: k digits with
// the decimal point n places from the left.
func jsNumber(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case f == 0:
		return "0"
	case f < 0:
		return "-" + jsNumber(-f)
	case math.IsInf(f, 1):
		return "Infinity"
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exponent)
	n, k := e+1, len(digits)
	switch {
	case k <= n && n <= 21:
		return digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return digits[:n] + "." + digits[n:]
	case -6 < n && n <= 0:
		return "0." + strings.Repeat("0", -n) + digits
	}
	sign := "+"
	if n < 1 {
		sign = ""
	}
	if k > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return digits + "e" + sign + strconv.Itoa(n-1)
}

func oracleMember(x *lang.Member) opinion {
	of := oracle(x.X)
	isClaim := x.X.Type()&lang.Claims != 0
	return func(w *world) any {
		v := of(w)
		if q, ok := v.(map[string]any); ok && !isClaim {
			return q[x.Name]
		}
		if isClaim {
			return claimMember(v, x.Name)
		}
		return float64(len(units(wanted[string](v)))) // the one property of strings
	}
}

func claimMember(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		for i := range v {
			if name == strconv.Itoa(i) {
				return v[i]
			}
		}
	case string:
		if name == "length" {
			return float64(len(units(v)))
		}
	}
	return nil
}

func oracleCall(x *lang.Call) opinion {
	fun := x.Fun.(*lang.Member)
	of := oracle(fun.X)
	var args []opinion
	re := (*regexp.Regexp)(nil)
	for _, arg := range x.Args {
		switch arg := arg.(type) {
		case *lang.Regex:
			text := arg.Pattern
			if arg.IgnoreCase {
				text = "(?i)" + text
			}
			re = regexp.MustCompile(text)
		case *lang.Array:
			for _, item := range arg.Items {
				args = append(args, oracle(item))
			}
		default:
			args = append(args, oracle(arg))
		}
	}
	hasList := len(x.Args) > 0
	return func(w *world) any {
		v := of(w)
		strs := make([]string, len(args))
		for i, arg := range args {
			strs[i] = wanted[string](arg(w))
		}
		if s, ok := v.(spot); ok {
			return s.method(fun.Name, hasList, strs)
		}
		s := wanted[string](v)
		if re != nil {
			return re.MatchString(s)
		}
		return textMethod(s, fun.Name, strs)
	}
}

func textMethod(s, name string, args []string) any {
	switch name {
	case "contains":
		return strings.Contains(s, args[0])
	case "beginsWith":
		return len(s) >= len(args[0]) && s[:len(args[0])] == args[0]
	case "endsWith":
		return len(s) >= len(args[0]) && s[len(s)-len(args[0]):] == args[0]
	case "toLowerCase":
		return strings.ToLower(s)
	case "toUpperCase":
		return strings.ToUpper(s)
	case "replace":
		if args[0] == "" {
			return s
		}
		return strings.Join(strings.Split(s, args[0]), args[1])
	}
	panic("the oracle doesn't know " + name)
}

func (s spot) child(path string) spot {
	keys := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if len(keys) == 0 || strings.ContainsAny(path, ".#$[]") {
		return spot{none: true}
	}
	s.keys = append(s.keys[:len(s.keys):len(s.keys)], keys...)
	return s
}

func (s spot) method(name string, hasList bool, args []string) any {
	n := s.node()
	v := any(nil)
	switch {
	case n != nil && n.leaf == nil:
		v = childrenValue{}
	case n != nil:
		v = n.leaf
	}
	switch name {
	case "val":
		return v
	case "exists":
		return n != nil
	case "isString":
		_, ok := v.(string)
		return ok
	case "isNumber":
		_, ok := v.(float64)
		return ok
	case "isBoolean":
		_, ok := v.(bool)
		return ok
	case "getPriority":
		if n == nil {
			return nil
		}
		return n.priority
	case "child":
		return s.child(args[0])
	case "parent":
		if len(s.keys) == 0 && !s.none {
			panic(lapse{})
		}
		if !s.none {
			s.keys = s.keys[:len(s.keys)-1]
		}
		return s
	case "hasChild", "hasChildren":
		if !hasList {
			return v == childrenValue{}
		}
		for _, arg := range args {
			if s.child(arg).node() == nil {
				return false
			}
		}
		return true
	}
	panic("the oracle doesn't know " + name)
}
