package derive

import (
	"slices"
	"sort"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/expression"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// maxPattern bounds the text of a pattern, since finding the end of an expression in it
// takes several attempts.
const maxPattern = 8 << 10

// text returns a text, "" after an error.
func (r *reader) text(v *hujson.Value, what string) string {
	if v == nil {
		return ""
	}
	s, ok := jsonc.Str(v)
	if !ok || s == "" {
		r.fail(v.StartOffset, "expected %s", what)
	}
	return s
}

// failIn adds an error at byte n of a text.
func (r *reader) failIn(v *hujson.Value, n int, format string, args ...any) {
	r.fail(v.StartOffset+jsonc.OffsetInQuoted(r.doc.Text[v.StartOffset:v.EndOffset], n), format, args...)
}

// pattern reads a source: a path of keys and captures. captured says that it needs a capture: a list
// may be one node, "/log", but a map or count of one node has no use.
func (r *reader) pattern(v *hujson.Value, captured bool) (p pattern) {
	text := r.text(v, `a path with captures, such as "/rooms/$room"`)
	if text == "" || !r.slash(v, text) {
		return nil
	}
	at := 1
	for key := range strings.SplitSeq(text[1:], "/") {
		name, isCapture := strings.CutPrefix(key, "$")
		switch {
		case !tree.ValidKey(name):
			r.failIn(v, at, "%q is no key and no capture; a source has keys, and captures such as $room", key)
			return nil
		case !isCapture:
			p = append(p, segment{key: key})
		case !captureName(name):
			r.failIn(v, at, "a capture has letters, digits and _ after the $")
			return nil
		case slices.ContainsFunc(p, func(s segment) bool { return s.capture == key }):
			r.failIn(v, at, "the capture %s is there twice; give the second another name", key)
			return nil
		default:
			p = append(p, segment{capture: key, depth: len(p)})
		}
		at += len(key) + 1
	}
	switch {
	case len(p) > tree.MaxDepth:
		r.fail(v.StartOffset, "a path has at most %d keys", tree.MaxDepth)
	case captured && len(p.captures()) == 0:
		r.fail(v.StartOffset, "a source has at least one capture, such as $room; %s is one node", text)
	}
	return p
}

// slash refuses a path that does not begin with one or is too long.
func (r *reader) slash(v *hujson.Value, text string) bool {
	switch {
	case len(text) > maxPattern:
		r.fail(v.StartOffset, "a path has at most %d bytes", maxPattern)
	case text[0] != '/':
		r.fail(v.StartOffset, "a path begins with a slash: %q", "/"+text[:min(len(text), 40)])
	default:
		return true
	}
	return false
}

// captureName reports whether an expression can have the name of a capture.
func captureName(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// list reads the path of a node and returns the pattern of its children.
func (r *reader) list(v *hujson.Value) pattern {
	p := r.pattern(v, false)
	if p == nil {
		return nil
	}
	if len(p) == tree.MaxDepth {
		r.fail(v.StartOffset, "the children would be deeper than %d levels", tree.MaxDepth)
	}
	return append(p, segment{capture: "*", depth: len(p)})
}

// to reads a target: a path of keys, captures of the source, and expressions in braces.
func (r *reader) to(v *hujson.Value) (p pattern) {
	text := r.text(v, `a path, such as "/users/$user/count"`)
	if text == "" || !r.slash(v, text) {
		return nil
	}
	for at := 1; at <= len(text); {
		rest := text[at:]
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		s := segment{key: rest[:end]}
		switch {
		case strings.HasPrefix(rest, "{"):
			if s, end = r.braces(v, at, rest); end < 0 {
				return nil
			}
		case strings.HasPrefix(rest, "$"):
			depth, ok := r.depths[s.key]
			if !ok {
				r.failIn(v, at, "the source has no capture %s", s.key)
				return nil
			}
			s = segment{capture: s.key, depth: depth}
		case !tree.ValidKey(s.key):
			r.failIn(v, at, "%q is no key, no capture and no {expression}", s.key)
			return nil
		}
		p = append(p, s)
		at += end + 1
	}
	if len(p) > tree.MaxDepth {
		r.fail(v.StartOffset, "a path has at most %d keys", tree.MaxDepth)
	}
	return p
}

// braces reads an expression in braces at the beginning of a segment. It ends at the first
// brace behind which the segment ends and before which there is an expression: an expression may
// have braces and slashes in a text or a regular expression, so only compiling tells. If none of
// the braces will do, the error is that of the shortest attempt, which is most likely what was
// meant. end is -1 after an error.
func (r *reader) braces(v *hujson.Value, at int, rest string) (s segment, end int) {
	var first *lang.Error
	for i := 1; i < len(rest); i++ {
		if rest[i] != '}' || i+1 < len(rest) && rest[i+1] != '/' {
			continue
		}
		x, err := expression.Compile(rest[1:i], r.depths)
		if err == nil {
			return segment{expr: x}, i + 1
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		r.failIn(v, at, "the brace is not closed; an expression in braces is a whole segment")
	} else {
		r.failIn(v, at+1+first.Offset, "%s%s", first.Msg, hint(first))
	}
	return s, -1
}

func hint(err *lang.Error) string {
	if err.Meant != "" {
		return " Did you mean " + err.Meant + "?"
	}
	return ""
}

// condition reads an expression that is true or false.
func (r *reader) condition(v *hujson.Value) *expression.Expression {
	text := r.text(v, "an expression, such as \"data.child('paid').val() == true\"")
	if text == "" {
		return nil
	}
	if strings.HasPrefix(text, "=") {
		r.fail(v.StartOffset, "this is always an expression; leave out the = in front of it")
		return nil
	}
	x, err := expression.CompileCondition(text, r.depths)
	if err != nil {
		r.failIn(v, err.Offset, "%s%s", err.Msg, hint(err))
	}
	return x
}

// valueOf reads a constant, a text that begins with = and is an expression, or an object of
// both.
func (r *reader) valueOf(v *hujson.Value, fields bool) *value {
	if v == nil {
		return nil
	}
	if text, ok := jsonc.Str(v); ok && strings.HasPrefix(text, "=") {
		x, err := expression.Compile(text[1:], r.depths)
		if err != nil {
			r.failIn(v, 1+err.Offset, "%s%s", err.Msg, hint(err))
		}
		return &value{expr: x}
	}
	if obj, ok := v.Value.(*hujson.Object); ok && fields {
		return r.fields(v, obj)
	}
	n, err := tree.ParseNode(string(jsonc.Strict(*v)))
	switch {
	case err != nil, n.IsEmpty(), !n.IsLeaf():
		r.fail(v.StartOffset, "expected a text, a number, true or false, or an expression behind =, such as \"= data.val()\"")
	case fields && r.namesCapture(n):
		name, _ := n.StringValue()
		r.fail(v.StartOffset, "this is the text %q; write \"= %s\" for the capture, or \"= '%[1]s'\" for the text", name, name)
	case !fields && v.Value.Kind() != '0':
		r.fail(v.StartOffset, "expected a number, or an expression behind =, such as \"= data.child('total').val()\"")
	}
	return &value{constant: n}
}

// namesCapture reports whether a constant is the name of a capture, which is a mistake: "$user"
// would be stored as that text at each place.
func (r *reader) namesCapture(n tree.Node) bool {
	name, _ := n.StringValue()
	_, ok := r.depths[name]
	return ok
}

func (r *reader) fields(v *hujson.Value, obj *hujson.Object) *value {
	if len(obj.Members) == 0 || len(obj.Members) > MaxFields {
		r.fail(v.StartOffset, "a value has 1 to %d fields", MaxFields)
		return nil
	}
	var list []field
	for i := range obj.Members {
		key, _ := jsonc.Str(&obj.Members[i].Name)
		if !tree.ValidKey(key) {
			r.fail(obj.Members[i].Name.StartOffset, "%q is no valid key", key)
			continue
		}
		member := &obj.Members[i].Value
		if member.Value.Kind() == '{' {
			r.fail(member.StartOffset, "a field is a constant or an expression, not an object")
		} else if x := r.valueOf(member, true); x != nil {
			list = append(list, field{key, *x})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return tree.CompareKeys(a.key, b.key) < 0
	})
	return &value{fields: list}
}

// paths reads the child paths of an index.
func (r *reader) paths(v *hujson.Value) (list []string) {
	if v == nil {
		return nil
	}
	a, ok := v.Value.(*hujson.Array)
	if !ok || len(a.Elements) == 0 || len(a.Elements) > tree.MaxOrder {
		r.fail(v.StartOffset, `"by" is a list of 1 to 4 child paths: ["owner", "created"]`)
		return nil
	}
	for i := range a.Elements {
		path := r.childPath(&a.Elements[i])
		if slices.Contains(list, path) {
			r.fail(a.Elements[i].StartOffset, "%q is there twice", path)
		}
		list = append(list, path)
	}
	return list
}

// order reads what a list is ordered by.
func (r *reader) order(v *hujson.Value) string {
	if s, _ := jsonc.Str(v); s == tree.ByKey || s == tree.ByValue {
		return s
	}
	return r.childPath(v)
}

func (r *reader) childPath(v *hujson.Value) string {
	s, _ := jsonc.Str(v)
	p, err := tree.ParsePath(s)
	if err != nil || p.IsRoot() {
		r.fail(v.StartOffset, `expected a child path such as "created"; a bounded list can have ".key" and ".value", too`)
	} else if len(r.source)+p.Len() > tree.MaxDepth {
		r.fail(v.StartOffset, "the path would be deeper than %d levels", tree.MaxDepth)
	}
	return p.Clean()
}
