package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

const (
	// maxErrors ends the list of errors of a document.
	maxErrors = 100

	// maxPaths bounds the bytes of the paths that a Ruleset keeps, one for each
	// rule. Many rules below a chain of long keys could otherwise make gigabytes
	// of a document of 1 MiB.
	maxPaths = 16 << 20

	// maxRegexSteps bounds the regular expressions of a document together, by the
	// sum of lang.Regex.Steps. A step is about 40 bytes, and a repeat of a few
	// characters makes a thousand.
	maxRegexSteps = 1 << 20

	// maxIndexes bounds the indexes of a document. Each costs every write below
	// it, and building it reads all that is there.
	maxIndexes = 1000
)

// Parse reads a rules document. The error is of type Errors: either the one
// mistake in its JSON, or everything else that is wrong with it, up to a bound.
func Parse(src string) (*Ruleset, error) { return ParseWith(src, ParseOptions{}) }

// ParseWith is Parse with options.
func ParseWith(src string, o ParseOptions) (*Ruleset, error) {
	doc, err := readDocument(src)
	if err != nil {
		return nil, Errors{err}
	}
	b := builder{doc: doc, options: o, pos: Pos{1, 1}}
	root := b.document()
	if len(b.errs) > 0 {
		return nil, b.errs
	}
	return &Ruleset{
		source:   src,
		strict:   string(jsonc.Strict(doc.root)),
		enforced: true,
		root:     root,
		indexes:  slices.Clip(b.indexes),
		limits:   slices.Clip(b.limits),
		rules:    slices.Clip(b.rules),
	}, nil
}

// A builder makes nodes of a document and collects its errors.
type builder struct {
	doc     *document
	options ParseOptions
	keys    []string // the keys of the node being built, captures as written
	paths   int      // bytes of the rules' paths so far
	steps   int      // of the regular expressions so far
	indexes []IndexDef
	limits  []*Limit
	rules   []*rule
	errs    Errors
	more    int // errors of rules beyond their first
	offset  int // how far posAt has come
	pos     Pos // of offset
}

// fail adds an error at an offset of the text. property is the name inside the
// node being built, or "".
func (b *builder) fail(offset int, property, msg string) { b.failMeant(offset, property, msg, "") }

// failMeant is fail with the name that is likely meant.
func (b *builder) failMeant(offset int, property, msg, meant string) {
	if len(b.errs) == maxErrors {
		return
	}
	err := b.doc.errorAt(offset, msg)
	err.Meant = meant
	if property != "" {
		err.Rule = b.path(property)
	}
	b.errs = append(b.errs, err)
}

// failRule adds what is wrong with the rule at v: the first error, with the others.
func (b *builder) failRule(v *hujson.Value, property string, errs []*lang.Error) {
	before := len(b.errs)
	b.failMeant(b.doc.offsetInString(v, errs[0].Offset), property, errs[0].Msg, errs[0].Meant)
	if len(b.errs) == before || b.more+len(errs) > maxErrors {
		return
	}
	first := b.errs[before]
	for _, e := range errs[1:] {
		err := b.doc.errorAt(b.doc.offsetInString(v, e.Offset), e.Msg)
		err.Rule, err.Meant = first.Rule, e.Meant
		first.More = append(first.More, err)
		b.more++
	}
}

// path returns the path of a property of the node being built.
func (b *builder) path(property string) string {
	return "/" + strings.Join(append(b.keys, property), "/")
}

// posAt returns the place of an offset of the text. The offsets it is asked for
// ascend, so that it goes over the text once.
func (b *builder) posAt(offset int) Pos {
	b.pos = b.pos.after(b.doc.text[b.offset:offset])
	b.offset = offset
	return b.pos
}

// reserve counts the path of a property that is to be kept. It reports whether
// there is room for it, and makes an error of the first that has none.
func (b *builder) reserve(offset int, property string) bool {
	if b.paths > maxPaths {
		return false
	}
	b.paths += 1 + len(property)
	for _, key := range b.keys {
		b.paths += 1 + len(key)
	}
	if b.paths > maxPaths {
		b.fail(offset, property, msgPathsTooLong)
		return false
	}
	return true
}

// document builds the top value: an object whose only property is rules.
func (b *builder) document() *node {
	top := &b.doc.root
	obj, ok := top.Value.(*hujson.Object)
	if !ok {
		offset := top.StartOffset
		if top.Value.Kind() == '"' {
			offset++ // a document that was encoded twice is known to fail at 1:2
		}
		b.fail(offset, "", msgNoRules)
		return nil
	}
	if len(obj.Members) == 0 {
		b.fail(top.StartOffset+1, "", msgNoRules)
		return nil
	}
	for i := range obj.Members {
		name := &obj.Members[i].Name
		switch {
		case str(name) != "rules":
			b.failMeant(name.StartOffset, "", msgNoRules, lang.Nearest(str(name), []string{"rules"}))
			return nil
		case i > 0:
			b.fail(name.StartOffset, "", fmt.Sprintf(msgDuplicate, "rules"))
			return nil
		}
	}
	rules := &obj.Members[0].Value
	if obj, ok = rules.Value.(*hujson.Object); !ok {
		b.fail(rules.StartOffset, "", msgNoRules)
		return nil
	}
	return b.node(obj)
}

// node builds one node. b.keys says where it is.
func (b *builder) node(obj *hujson.Object) *node {
	n := new(node)
	seen := make(map[string]bool, len(obj.Members))
	for i := range obj.Members {
		name, value := &obj.Members[i].Name, &obj.Members[i].Value
		key := str(name)
		if seen[key] {
			b.fail(name.StartOffset, key, fmt.Sprintf(msgDuplicate, key))
			continue
		}
		seen[key] = true
		switch key {
		case ".read":
			n.grants[OpRead] = b.rule(key, value)
		case ".write":
			n.grants[OpWrite] = b.rule(key, value)
		case ".validate":
			n.validate = b.rule(key, value)
		case ".indexOn":
			n.indexes = b.indexOn(value)
		case ".limit":
			n.limit = b.limit(value)
		default:
			b.child(n, name, value)
		}
	}
	n.sumUp()
	return n
}

// child builds a child node and adds it to n, under its key or as the capture.
func (b *builder) child(n *node, name, value *hujson.Value) {
	key := str(name)
	obj, ok := value.Value.(*hujson.Object)
	if !ok {
		b.failMeant(value.StartOffset, key, msgNoObject, lang.Nearest(key, properties))
		return
	}
	msg := b.keyError(n, key)
	if msg != "" && strings.HasPrefix(key, ".") {
		b.failMeant(name.StartOffset, key, msg, lang.Nearest(key, properties))
	} else if msg != "" {
		b.fail(name.StartOffset, key, msg)
	}
	b.keys = append(b.keys, key)
	c := b.node(obj)
	b.keys = b.keys[:len(b.keys)-1]
	if msg == "" {
		n.add(key, c)
	}
}

// keyError returns what is wrong with the key of a child of n, or "".
func (b *builder) keyError(n *node, key string) string {
	name, isCapture := strings.CutPrefix(key, "$")
	switch {
	case key == "" || len(name) > tree.MaxKeyBytes:
		return fmt.Sprintf(msgKeyLength, tree.MaxKeyBytes)
	case !tree.ValidKey(name):
		return msgBadKey
	case isCapture && n.capture != nil:
		return fmt.Sprintf(msgTwoCaptures, n.captureName, key)
	case isCapture && slices.Contains(b.keys, key):
		return fmt.Sprintf(msgCaptureTwice, key)
	}
	return ""
}

// properties are the names of what a node has beside its children.
var properties = []string{".read", ".write", ".validate", ".indexOn", ".limit"}

// kinds are the properties that are rules.
var kinds = map[string]Kind{".read": ReadRule, ".write": WriteRule, ".validate": ValidateRule}

// rule builds the rule in a .read, .write or .validate property.
func (b *builder) rule(key string, v *hujson.Value) *rule {
	if !b.reserve(v.StartOffset, key) {
		return nil
	}
	r := &rule{Rule: Rule{Path: b.path(key), Kind: kinds[key], Pos: b.posAt(v.StartOffset)}}
	raw := b.doc.text[v.StartOffset:v.EndOffset]
	switch v.Value.Kind() {
	case 't', 'f':
		r.Source = raw
		r.pos = func(offset int) Pos { return r.Pos.after(raw[:min(offset, len(raw))]) }
	case '"':
		r.Source = str(v)
		r.pos = func(offset int) Pos { return r.Pos.after(raw[:jsonc.OffsetInQuoted(raw, offset)]) }
	default:
		b.fail(v.StartOffset, key, msgBadRule)
		return r
	}
	if b.steps > maxRegexSteps {
		return r
	}
	if errs := r.compile(b.keys, b.options); errs != nil {
		b.failRule(v, key, errs)
	}
	if b.steps += regexSteps(r.Expr); b.steps > maxRegexSteps {
		b.fail(v.StartOffset, key, msgRegexesTooLong)
	}
	b.rules = append(b.rules, r)
	return r
}

// regexSteps returns the size of the regular expressions of a rule, nil for one
// that does not compile.
func regexSteps(x lang.Expr) (steps int) {
	if x == nil {
		return 0
	}
	lang.Walk(x, func(x lang.Expr) bool {
		if re, ok := x.(*lang.Regex); ok {
			steps += re.Steps
		}
		return true
	})
	return steps
}

// indexOn builds the declarations of an .indexOn property.
func (b *builder) indexOn(v *hujson.Value) []IndexDef {
	if !b.reserve(v.StartOffset, ".indexOn") {
		return nil
	}
	orders := []hujson.Value{*v}
	if list, ok := v.Value.(*hujson.Array); ok {
		orders = list.Elements
	}
	pattern := "/" + strings.Join(b.keys, "/")
	start := len(b.indexes)
	seen := make(map[string]bool)
	for i := range orders {
		order, ok := b.order(&orders[i])
		if ok && !seen[order] {
			if len(b.indexes) == maxIndexes {
				b.fail(orders[i].StartOffset, ".indexOn", fmt.Sprintf("Too many indexes. At most %d are allowed.", maxIndexes))
				break
			}
			seen[order] = true
			b.indexes = append(b.indexes, IndexDef{pattern, order})
		}
	}
	return slices.Clone(b.indexes[start:])
}

// order reads what one index orders by: ".value" or a child path.
func (b *builder) order(v *hujson.Value) (string, bool) {
	if v.Value.Kind() != '"' {
		b.fail(v.StartOffset, ".indexOn", msgBadIndex)
		return "", false
	}
	s := str(v)
	if s == tree.ByValue {
		return s, true
	}
	p, err := tree.ParsePath(s)
	if err != nil || p.IsRoot() {
		b.fail(v.StartOffset, ".indexOn", fmt.Sprintf(msgIndexPath, s))
		return "", false
	}
	return p.Clean(), true
}

// str returns the text that a string value stands for.
func str(v *hujson.Value) string { return v.Value.(hujson.Literal).String() }

// limit reads a .limit property.
func (b *builder) limit(v *hujson.Value) *Limit {
	if !b.reserve(v.StartOffset, ".limit") {
		return nil
	}
	n, err := strconv.Atoi(b.doc.text[v.StartOffset:v.EndOffset])
	if err != nil || v.Value.Kind() != '0' || n < 1 || n > MaxLimit {
		b.fail(v.StartOffset, ".limit", fmt.Sprintf(msgBadLimit, MaxLimit))
		return nil
	}
	l := &Limit{b.path(".limit"), n, b.posAt(v.StartOffset)}
	b.limits = append(b.limits, l)
	return l
}

var (
	open   = sync.OnceValue(func() *Ruleset { return standard(`{"rules":{".read":true,".write":true}}`, false) })
	locked = sync.OnceValue(func() *Ruleset { return standard(`{"rules":{".read":false,".write":false}}`, true) })
)

// standard returns the rules of a server that was given none. They are compiled when they are
// first needed: each start of the program, also as a client, would wait for it.
func standard(src string, enforced bool) *Ruleset {
	r, err := Parse(src)
	if err != nil {
		panic("rules: " + err.Error())
	}
	r.enforced = enforced
	return r
}

// Open returns the rules of a development server that was given none: every caller
// may read and write everything.
func Open() *Ruleset { return open() }

// Locked returns the rules of a production server that was given none: no caller may
// read or write anything.
func Locked() *Ruleset { return locked() }
