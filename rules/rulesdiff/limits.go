package rulesdiff

import (
	"slices"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
)

// A LimitChange is a .limit that differs in the new rules. No operation is
// needed to find it: what a read would show more of depends on the data alone.
type LimitChange struct {
	Kind Kind   `json:"kind"`
	Rule string `json:"rule"` // "/messages/$room/.limit"
	Old  int    `json:"old"`  // 0: there was none
	New  int    `json:"new"`  // 0: there is none
}

// Limits compares the .limit declarations of the two rulesets and returns those that
// differ, in the order of the old rules and then of the new ones.
func (c *Comparer) Limits() (list []LimitChange) {
	before, after := limitsOf(c.Old), limitsOf(c.New)
	for _, l := range slices.Concat(c.Old.AllLimits(), c.New.AllLimits()) {
		key := nameless(l.Path)
		change := LimitChange{Kind: NewDenial, Rule: l.Path, Old: before[key], New: after[key]}
		delete(before, key)
		delete(after, key)
		if change.Old == change.New {
			continue
		}
		if change.New == 0 || change.Old != 0 && change.New > change.Old {
			change.Kind = NewGrant
		}
		list = append(list, change)
	}
	return list
}

// limitsOf returns how many children each .limit allows, by its nameless path.
func limitsOf(r *rules.Ruleset) map[string]int {
	list := make(map[string]int)
	for _, l := range r.AllLimits() {
		list[nameless(l.Path)] = l.Max
	}
	return list
}

// nameless returns a path in which captures have no names, which mean nothing to a
// limit.
func nameless(path string) string {
	keys := strings.Split(path, "/")
	for i, key := range keys {
		if strings.HasPrefix(key, "$") {
			keys[i] = "$"
		}
	}
	return strings.Join(keys, "/")
}
