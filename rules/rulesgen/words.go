// Package rulesgen makes up operations to ask rules about: around what the rules
// mention (Words), and around operations of test files (Varier). Tools
// look among them for one on which two rulesets differ: rulesdiff between an old and a new
// document, rulesmutate between a document and one with a mistake put into it. ruleslint looks
// for one that a stranger may do. Nothing here evaluates a rule.
package rulesgen

import (
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/rules/jsonc"
	"github.com/dogwooddb/dogwood/rules/lang"
	"github.com/dogwooddb/dogwood/rules/rulestest"
	"github.com/dogwooddb/dogwood/tree"
)

// Bounds of what is made up for one node of the rules.
const (
	maxKeys   = 4 // that a capture stands for
	maxPaths  = 12
	maxValues = 24
)

// Words are what rulesets mention.
//
// They are collected from all rulesets that are compared, so that a literal
// which only the new rules have is tried, too. Words never change once they are collected.
type Words struct {
	nodes   []string // paths of rules' nodes, with captures, "" for the root
	texts   []string // string literals
	numbers []float64
	claims  []string   // NAME of auth.token.NAME
	lists   [][]string // of hasChildren
}

// NewWords collects the words of rulesets.
func NewWords(rulesets ...*rules.Ruleset) *Words {
	w := &Words{}
	for _, rs := range rulesets {
		for r := range rs.Rules() {
			w.node(r.Path)
			w.expression(r.Expr)
		}
		for _, l := range rs.AllLimits() {
			w.node(l.Path)
		}
	}
	slices.Sort(w.nodes)
	return w
}

// node adds the node of a rule's path, and those above it: "/rooms/$room/.read" adds
// "/rooms/$room", "/rooms" and "". Writes above a rule are tried, too, since a .validate is asked
// of them.
func (w *Words) node(rule string) {
	node := rule[:strings.LastIndexByte(rule, '/')]
	for w.nodes = appendNew(w.nodes, node); node != ""; {
		node = node[:strings.LastIndexByte(node, '/')]
		w.nodes = appendNew(w.nodes, node)
	}
}

// Nodes returns the patterns of the nodes that have rules or a .limit, and of those above
// them: "", "/rooms", "/rooms/$room".
func (w *Words) Nodes() []string { return w.nodes }

// expression collects the words of an expression.
func (w *Words) expression(x lang.Expr) {
	lang.Walk(x, func(x lang.Expr) bool {
		switch x := x.(type) {
		case *lang.Literal:
			switch v := x.Value.(type) {
			case string:
				w.texts = appendNew(w.texts, v)
			case float64:
				w.numbers = appendNew(w.numbers, v)
			}
		case *lang.Member:
			if x.Type() != lang.Method && strings.HasPrefix(x.String(), "auth.token.") {
				w.claims = appendNew(w.claims, x.Name)
			}
		case *lang.Array:
			w.lists = append(w.lists, texts(x))
		}
		return true
	})
}

// texts returns the string literals in a list, sorted.
func texts(x *lang.Array) []string {
	var list []string
	for _, item := range x.Items {
		if lit, ok := item.(*lang.Literal); ok {
			if s, ok := lit.Value.(string); ok {
				list = appendNew(list, s)
			}
		}
	}
	tree.SortKeys(list)
	return list
}

func appendNew[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}

// Actors returns callers: a signed-out one, a user, for each claim that user with the claim set to
// true, and one for each text, which may be a uid. Their number grows with the rules, so callers
// bound it.
func (w *Words) Actors() []rulestest.Actor {
	texts := []string{`null`, `{"uid":"somebody","token":{}}`}
	for _, claim := range w.claims {
		texts = append(texts, `{"uid":"somebody","token":{`+jsonc.Quote(claim)+`:true}}`)
	}
	for _, uid := range w.texts {
		texts = append(texts, `{"uid":`+jsonc.Quote(uid)+`,"token":{}}`)
	}
	var list []rulestest.Actor
	for _, text := range texts {
		if a, err := rulestest.ParseActor(text); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// Operations returns reads and writes of paths that match a pattern, such as "/rooms/$room". They
// have no actor: callers try each with several. There are at most maxPaths paths
// with maxValues writes and about as many reads each, in an order that does not change.
func (w *Words) Operations(pattern string, world rulestest.World, now int64) []rulestest.Op {
	var list []rulestest.Op
	add := func(t rulestest.OpText) {
		if op, err := t.Parse(); err == nil {
			op.Now = now
			list = append(list, op)
		}
	}
	for _, p := range w.paths(pattern, world.Root) {
		add(rulestest.OpText{Kind: "read", Path: p.String()})
		for _, q := range w.queries() {
			add(rulestest.OpText{Kind: "read", Path: p.String(), Query: q})
		}
		for _, v := range w.values(world.Root.Get(p)) {
			add(rulestest.OpText{Kind: "write", Path: p.String(), Value: v})
		}
	}
	return list
}

// paths returns paths that match a pattern: captures stand for keys of the data,
// for a new key, and for texts that the rules mention.
func (w *Words) paths(pattern string, root tree.Node) []tree.Path {
	list := []tree.Path{tree.Root}
	for _, key := range strings.Split(strings.TrimPrefix(pattern, "/"), "/") {
		if key == "" {
			continue
		}
		var next []tree.Path
		for _, p := range list {
			keys := []string{key}
			if strings.HasPrefix(key, "$") {
				keys = w.keys(root.Get(p))
			}
			for _, k := range keys {
				if len(next) < maxPaths && p.Len() < tree.MaxDepth {
					next = append(next, p.Child(k))
				}
			}
		}
		list = next
	}
	return list
}

// keys returns the keys that a capture below n stands for: a uid of Actors, which may be a new key,
// the first keys of the data, and texts of the rules, for which the data leave room.
func (w *Words) keys(n tree.Node) []string {
	keys := []string{"somebody"}
	for key := range n.Children() {
		if len(keys) == maxKeys-1 {
			break
		}
		keys = append(keys, key)
	}
	for _, s := range w.texts {
		if len(keys) < maxKeys && tree.ValidKey(s) {
			keys = appendNew(keys, s)
		}
	}
	return keys
}

// queries returns queries around the numbers and the texts.
func (w *Words) queries() []string {
	var list []string
	for _, n := range w.numbers {
		if n >= 1 && n < 1<<20 && len(list) < maxValues/2 {
			list = append(list,
				`{"orderByKey":true,"limitToFirst":`+tree.Number(float64(int(n))).JSON()+`}`,
				`{"orderByKey":true,"limitToLast":`+tree.Number(float64(int(n)+1)).JSON()+`}`)
		}
	}
	for _, s := range w.texts {
		if p, err := tree.ParsePath(s); err == nil && !p.IsRoot() && len(list) < maxValues {
			list = append(list, `{"orderByChild":`+jsonc.Quote(s)+`,"equalTo":"somebody"}`)
		}
	}
	return list
}

// values returns values to write where there is one now: none, one of each type,
// those around literals, and objects with the children that rules ask for.
func (w *Words) values(now tree.Node) []string {
	list := []string{"null", "true", `"text"`, "1", `{".sv":"timestamp"}`, now.JSON()}
	for _, names := range w.lists {
		var b tree.Builder
		for _, name := range names {
			if tree.ValidKey(name) {
				b.Child(name, tree.String("text"))
			}
		}
		list = append(list, b.Node().JSON())
	}
	for _, s := range w.texts {
		list = append(list, jsonc.Quote(s))
	}
	for _, n := range w.numbers {
		list = append(list, tree.Number(n).JSON(), tree.Number(n+1).JSON())
	}
	return list[:min(len(list), maxValues)]
}
