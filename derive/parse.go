package derive

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tailscale/hujson"

	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/tree"
)

// maxErrors bounds what is reported of one document: one of 1 MiB may have a mistake in each line.
const maxErrors = 100

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`) })

// later are the kinds that the format has and this version does not. They are refused by name: the
// message about a document of a later version says so, and not that a member is unknown.
var later = []string{"spread", "hook", "land", "history", "tier"}

// members are the other members that a definition of each kind may have.
var members = map[Kind][]string{
	Map:    {"to", "value", "unique", "where", "onConflict"},
	Count:  {"to", "where", "onConflict"},
	Sum:    {"to", "of", "where", "onConflict"},
	Keep:   {"at", "by", "drop", "copyTo"},
	Expire: {"after", "from", "at", "where"},
	Index:  {"by", "state"},
}

var kinds = []Kind{Map, Count, Sum, Keep, Expire, Index}

// A parser makes definitions of a document and collects its errors. Its methods report an error
// with fail and go on with a zero value, such as a nil pattern. A definition with an error is left
// out of definitions.
type parser struct {
	doc         *jsonc.Doc
	definitions []*Definition
	current     string // the definition being read
	errs        Errors
}

// fail adds an error at an offset of the text.
func (p *parser) fail(offset int, format string, args ...any) {
	if len(p.errs) < maxErrors {
		line, col := p.doc.Pos(offset)
		p.errs = append(p.errs, &Error{Pos{line, col}, p.current, fmt.Sprintf(format, args...)})
	}
}

// document reads the top of a document.
func (p *parser) document(v *hujson.Value) {
	top, ok := v.Value.(*hujson.Object)
	if !ok {
		p.fail(v.StartOffset, `a document is an object: {"format": %q, "define": {…}}`, Format)
		return
	}
	var define *hujson.Value
	format := false
	for i := range top.Members {
		name, value := &top.Members[i].Name, &top.Members[i].Value
		switch key, _ := jsonc.Str(name); key {
		case "format":
			format = true
			if text, _ := jsonc.Str(value); text != Format {
				p.fail(value.StartOffset, "the format that this version reads is %q", Format)
			}
		case "define":
			define = value
		case "feed":
			p.fail(name.StartOffset, `"feed" is not supported by this version; take it out`)
		default:
			p.fail(name.StartOffset, `unknown member %q%s; a document has "format" and "define"`, key, meant(key, []string{"format", "define"}))
		}
	}
	if !format {
		p.fail(v.StartOffset, `"format" is missing; add "format": %q`, Format)
	}
	if define == nil {
		p.fail(v.StartOffset, `"define" is missing; it holds the definitions by their names`)
		return
	}
	p.define(define)
}

// meant returns what an unknown name is likely meant to be, as a part of a message.
func meant(name string, known []string) string {
	if near := lang.Nearest(name, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

func (p *parser) define(v *hujson.Value) {
	list, ok := v.Value.(*hujson.Object)
	if !ok {
		p.fail(v.StartOffset, `"define" is an object: {"name": {"count": "/rooms/$room", "to": "/rooms-total"}}`)
		return
	}
	if len(list.Members) > MaxDefinitions {
		p.fail(list.Members[MaxDefinitions].Name.StartOffset, "a document has at most %d definitions", MaxDefinitions)
		return
	}
	for i := range list.Members {
		p.definition(&list.Members[i])
	}
}

// A reader reads the members of one definition into the fields of that: r.source is d.source.
type reader struct {
	*parser
	*Definition
	at      int // where the definition begins
	members map[string]*hujson.Value
	depths  map[string]int // of the captures of the source
}

func (p *parser) definition(m *hujson.ObjectMember) {
	name, _ := jsonc.Str(&m.Name)
	p.current = name
	defer func() { p.current = "" }()
	if len(name) > 64 || !validName().MatchString(name) {
		p.fail(m.Name.StartOffset, "a name is a letter and then up to 63 letters, digits and _")
		return
	}
	obj, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		p.fail(m.Value.StartOffset, "a definition is an object with a kind: map, count, sum, keep, expire or index")
		return
	}
	line, col := p.doc.Pos(m.Name.StartOffset)
	text := m.Value.Clone()
	text.Minimize()
	d := &Definition{Name: name, Pos: Pos{line, col}, position: len(p.definitions), text: string(text.Pack())}
	r := reader{parser: p, Definition: d, at: m.Value.StartOffset, members: make(map[string]*hujson.Value)}
	before := len(p.errs)
	if r.kind(obj) {
		r.read()
	}
	if len(p.errs) == before {
		p.definitions = append(p.definitions, d)
	}
}

// kind finds out which kind a definition is of, and collects its members.
func (r *reader) kind(obj *hujson.Object) bool {
	for i := range obj.Members {
		key, _ := jsonc.Str(&obj.Members[i].Name)
		offset := obj.Members[i].Name.StartOffset
		if slices.Contains(later, key) {
			r.fail(offset, "the kind %q is not supported by this version; take the definition out", key)
			return false
		}
		if slices.Contains(kinds, Kind(key)) {
			if r.Kind != "" {
				r.fail(offset, "a definition has one kind, but this is %q and %q; make two of it", r.Kind, key)
				return false
			}
			r.Kind = Kind(key)
		}
		r.members[key] = &obj.Members[i].Value
	}
	if r.Kind == "" {
		r.fail(r.at, "the kind is missing: map, count, sum, keep, expire or index, with the path it looks at")
		return false
	}
	known := append([]string{string(r.Kind)}, members[r.Kind]...)
	for i := range obj.Members {
		if key, _ := jsonc.Str(&obj.Members[i].Name); !slices.Contains(known, key) {
			r.fail(obj.Members[i].Name.StartOffset, "a definition of the kind %s has no member %q%s; it has %s",
				r.Kind, key, meant(key, known), strings.Join(known[1:], ", "))
		}
	}
	return true
}

// read reads the members of a definition of a known kind.
func (r *reader) read() {
	source := r.members[string(r.Kind)]
	switch r.Kind {
	case Keep:
		r.N = r.number(source, MaxKept)
		r.source = r.list(r.member("at"))
	case Index:
		r.source = r.list(source)
	default:
		r.source = r.pattern(source, true)
	}
	r.depths = r.source.captures()
	delete(r.depths, "*")
	r.where = r.condition(r.members["where"])
	r.Replace = r.choice("onConflict", "", "replace") == "replace"
	switch r.Kind {
	case Map:
		r.readMap()
	case Count:
		r.target = r.to(r.member("to"))
	case Sum:
		r.target = r.to(r.member("to"))
		r.value = r.valueOf(r.member("of"), false)
	case Keep:
		r.readKeep()
	case Expire:
		r.readExpire()
	case Index:
		r.Off = r.choice("state", "on", "off") == "off"
		r.By = r.paths(r.member("by"))
		r.ByOrder, _ = tree.ListOrder(r.By) // of what is wrong, there are errors already
	}
	r.summarize()
}

// summarize computes what follows from the target. A count is whole if each container has one target
// that does not depend on the child: then the child's own capture is not in it.
func (r *reader) summarize() {
	captured := make(map[string]bool)
	r.whole = r.Kind == Count && r.where == nil && len(r.source) > 0 && r.source[len(r.source)-1].capture != ""
	for _, s := range r.target {
		if s.capture != "" {
			captured[s.capture] = true
		}
		if s.expr != nil || s.capture != "" && s.depth == len(r.source)-1 {
			r.whole = false
		}
	}
	r.injective = len(captured) == len(r.depths)
	r.alone = r.Kind == Map && r.injective && !r.Unique && r.target.isFixed()
}

func (r *reader) readMap() {
	r.target = r.to(r.member("to"))
	r.value = &value{constant: tree.Bool(true)}
	if v := r.members["value"]; v != nil {
		r.value = r.valueOf(v, true)
	}
	if v := r.members["unique"]; v != nil {
		switch v.Value.Kind() {
		case 't', 'f':
			r.Unique = v.Value.Kind() == 't'
		default:
			r.fail(v.StartOffset, `"unique" is true or false`)
		}
	}
	if r.value != nil && r.value.fields != nil && len(r.target) == tree.MaxDepth {
		r.fail(r.members["value"].StartOffset, "the fields would be deeper than %d levels; shorten the target", tree.MaxDepth)
	}
}

// readKeep reads the other members of a bounded list. Its children move to a path that is no
// deeper, so that all that is below them stays within the depth of a tree.
func (r *reader) readKeep() {
	r.OrderBy, r.DropLast = tree.ByKey, r.choice("drop", "first", "last") == "last"
	if v := r.members["by"]; v != nil {
		r.OrderBy = r.order(v)
	}
	v := r.members["copyTo"]
	if v == nil || r.source == nil {
		return
	}
	if r.target = r.to(v); len(r.target) >= len(r.source) {
		r.fail(v.StartOffset, `"copyTo" may not be deeper than "at"; shorten the path`)
	}
	r.target = append(r.target, segment{capture: "*", depth: len(r.source) - 1})
}

func (r *reader) readExpire() {
	after, at, from := r.members["after"], r.members["at"], r.members["from"]
	switch {
	case after != nil && at != nil:
		r.fail(at.StartOffset, `"after" and "at" are both given; leave out one of them`)
	case after == nil && at == nil:
		r.fail(r.at, `when does it expire? Give "after" a duration, such as "10s", or "at" a time in milliseconds`)
	case from != nil && after == nil:
		r.fail(from.StartOffset, `"from" needs "after", the duration since then`)
	case at != nil:
		r.value = r.valueOf(at, false)
	default:
		r.After = r.duration(after)
		if from != nil {
			r.value = r.valueOf(from, false)
		}
	}
}

// member returns a member that must be there; nil if it is missing.
func (r *reader) member(name string) *hujson.Value {
	v := r.members[name]
	if v == nil {
		r.fail(r.at, "a definition of the kind %s needs %q", r.Kind, name)
	}
	return v
}

// choice returns a text that is one of two, the first if the member is missing.
func (r *reader) choice(name, usual, other string) string {
	v := r.members[name]
	if v == nil {
		return usual
	}
	text, _ := jsonc.Str(v)
	switch {
	case text == other, text != "" && text == usual:
		return text
	case usual == "":
		r.fail(v.StartOffset, "%q can only be %q", name, other)
	default:
		r.fail(v.StartOffset, "%q is %q or %q", name, usual, other)
	}
	return usual
}

func (r *reader) number(v *hujson.Value, most int) int {
	n, err := strconv.Atoi(r.doc.Text[v.StartOffset:v.EndOffset])
	if err != nil || n < 1 || n > most {
		r.fail(v.StartOffset, "expected a whole number from 1 to %d", most)
	}
	return n
}

// maxDuration is a hundred years.
const maxDuration = 36525 * 24 * time.Hour

// duration reads a duration of Go, or one in days, which Go does not have: "30d", "0.5d". The hours
// of these are bounded before they become a Duration, which would overflow at 292 years.
func (r *reader) duration(v *hujson.Value) time.Duration {
	text, _ := jsonc.Str(v)
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		n, err = strconv.ParseFloat(days, 64)
		d = time.Duration(min(n*24, 1e6) * float64(time.Hour))
	}
	if err != nil || d < time.Millisecond || d > maxDuration {
		r.fail(v.StartOffset, `expected a duration such as "500ms", "10s", "2h" or "30d", at most 100 years`)
	}
	return d
}
