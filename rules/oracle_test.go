package rules

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// The oracle decides requests a second way: closures over maps, written from the
// specification alone. It shares nothing with what it is compared with but the
// syntax tree.

// A mapNode is a node of a tree kept in maps. nil is no node.
type mapNode struct {
	leaf     any // bool, float64 or string; nil for an object
	children map[string]*mapNode
	priority any
}

// mapTree makes a mapNode of JSON in export form.
func mapTree(v any) *mapNode {
	object, ok := v.(map[string]any)
	if !ok {
		if v == nil {
			return nil
		}
		return &mapNode{leaf: v}
	}
	n := &mapNode{priority: object[".priority"], children: make(map[string]*mapNode)}
	for key, c := range object {
		switch key {
		case ".priority":
		case ".value":
			n.leaf = c
		default:
			n.children[key] = mapTree(c)
		}
	}
	return n
}

func mapTreeOf(n tree.Node) *mapNode {
	var v any
	if err := json.Unmarshal([]byte(n.JSON()), &v); err != nil {
		panic(err)
	}
	return mapTree(v)
}

func keysOf(p tree.Path) []string {
	return strings.FieldsFunc(p.Clean(), func(r rune) bool { return r == '/' })
}

func (n *mapNode) get(keys []string) *mapNode {
	for _, key := range keys {
		if n == nil {
			return nil
		}
		n = n.children[key]
	}
	return n
}

// with returns a copy of n with v at keys.
func (n *mapNode) with(keys []string, v *mapNode) *mapNode {
	if len(keys) == 0 {
		return v
	}
	c := &mapNode{children: make(map[string]*mapNode)}
	if n != nil {
		c.priority = n.priority
		for key, child := range n.children {
			c.children[key] = child
		}
	}
	if child := c.children[keys[0]].with(keys[1:], v); child != nil {
		c.children[keys[0]] = child
	} else {
		delete(c.children, keys[0])
	}
	switch {
	case len(c.children) > 0:
		return c
	case n != nil && n.leaf != nil:
		return n
	}
	return nil
}

// mapWritten returns the tree after writes: values, then removals, then
// priorities.
func mapWritten(n *mapNode, writes []tree.ResolvedWrite) *mapNode {
	for pass := range 3 {
		for _, w := range writes {
			keys, v := keysOf(w.Path), mapTreeOf(w.Node)
			switch {
			case w.Priority && pass == 2:
				if old := n.get(keys); old != nil {
					c := *old
					c.priority = nil
					if v != nil {
						c.priority = v.leaf
					}
					n = n.with(keys, &c)
				}
			case !w.Priority && pass == 0 && v != nil, !w.Priority && pass == 1 && v == nil:
				n = n.with(keys, v)
			}
		}
	}
	return n
}

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
		return toLower(s)
	case "toUpperCase":
		return toUpper(s)
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

// A mapRules is a node of rules.
type mapRules struct {
	rules    map[string]lang.Expr // by property
	children map[string]*mapRules
	capture  string
	below    *mapRules // the capture's
}

// holds evaluates a rule for the node at keys.
func (w *world) holds(x lang.Expr, keys []string, captures map[string]string) (holds bool) {
	w.at, w.captures = keys, captures
	defer func() {
		switch r := recover().(type) {
		case nil:
		case lapse:
			holds = false
		default:
			panic(r)
		}
	}()
	return oracle(x)(w).(bool)
}

// walk calls f for the rules at the root and at each key of the path.
func (r *mapRules) walk(keys []string, f func(r *mapRules, depth int, captures map[string]string)) {
	captures := make(map[string]string)
	for depth := 0; r != nil; depth++ {
		f(r, depth, captures)
		if depth == len(keys) {
			return
		}
		r, captures = r.next(keys[depth], captures)
	}
}

func (r *mapRules) next(key string, captures map[string]string) (*mapRules, map[string]string) {
	if c := r.children[key]; c != nil {
		return c, captures
	}
	if r.below == nil {
		return nil, nil
	}
	more := map[string]string{r.capture: key}
	for name, key := range captures {
		more[name] = key
	}
	return r.below, more
}

func (w *world) granted(r *mapRules, property string, keys []string) bool {
	granted := false
	r.walk(keys, func(r *mapRules, depth int, captures map[string]string) {
		if x := r.rules[property]; x != nil && w.holds(x, keys[:depth:depth], captures) {
			granted = true
		}
	})
	return granted
}

// valid decides the .validate rules for a write at keys.
func (w *world) valid(r *mapRules, keys []string) bool {
	valid := true
	r.walk(keys, func(r *mapRules, depth int, captures map[string]string) {
		n := w.after.get(keys[:depth])
		if depth == len(keys) {
			valid = valid && w.validBelow(r, keys, captures, n)
		} else if x := r.rules[".validate"]; x != nil && n != nil && !w.holds(x, keys[:depth:depth], captures) {
			valid = false
		}
	})
	return valid
}

func (w *world) validBelow(r *mapRules, keys []string, captures map[string]string, n *mapNode) bool {
	if n == nil || r == nil {
		return true
	}
	if x := r.rules[".validate"]; x != nil && !w.holds(x, keys, captures) {
		return false
	}
	for key, c := range n.children {
		below, more := r.next(key, captures)
		if !w.validBelow(below, append(keys[:len(keys):len(keys)], key), more, c) {
			return false
		}
	}
	return true
}

// decide decides a request.
func (r *mapRules) decide(q *Request) bool {
	w := &world{now: float64(q.Now.UnixMilli()), query: mapQuery(q)}
	if data, ok := q.Data.(stored); ok {
		w.before = mapTreeOf(data.Node)
	}
	if q.Auth.JSON != "" {
		if err := json.Unmarshal([]byte(q.Auth.JSON), &w.auth); err != nil {
			panic(err)
		}
	}
	if q.Op == OpRead {
		return w.granted(r, ".read", keysOf(q.Path))
	}
	w.after = mapWritten(w.before, q.Writes)
	for _, write := range q.Writes {
		if keys := keysOf(write.Path); !w.granted(r, ".write", keys) || !w.valid(r, keys) {
			return false
		}
	}
	return true
}

// mapQuery is the variable query for the queries that drawQuery makes.
func mapQuery(q *Request) map[string]any {
	m := map[string]any{"orderByKey": false, "orderByValue": false, "orderByPriority": false}
	if q.Op != OpRead {
		return m
	}
	switch order := q.Query.OrderBy; order {
	case "":
		bare := q.Query.Limit > 0 && !q.Query.Start.Set && !q.Query.End.Set
		m["orderByKey"], m["orderByPriority"] = bare, !bare
	case tree.ByKey:
		m["orderByKey"] = true
	case tree.ByValue:
		m["orderByValue"] = true
	case tree.ByPriority:
		m["orderByPriority"] = true
	default:
		m["orderByChild"] = order
	}
	if n := q.Query.Limit; n > 0 {
		m["limitToFirst"] = float64(n)
		if q.Query.FromLast {
			m["limitToFirst"], m["limitToLast"] = nil, m["limitToFirst"]
		}
	}
	if b := q.Query.Start; b.Set && !b.Value.IsEmpty() {
		m["startAt"] = mapTreeOf(b.Value).leaf
	}
	if b := q.Query.End; b.Set && !b.Value.IsEmpty() {
		m["endAt"] = mapTreeOf(b.Value).leaf
	}
	if q.Query.Start.Set && q.Query.End.Set && m["startAt"] == m["endAt"] {
		m["equalTo"] = m["startAt"]
	}
	return m
}
