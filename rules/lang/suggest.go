package lang

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt name is most likely meant to be, "" if
// none is near: one edit away, or two for names of more than four characters. An edit
// inserts, removes or replaces a character, or swaps two neighbours; the case of letters
// does not count.
func Nearest(name string, candidates []string) string {
	best, least := "", 3
	if len(name) > 64 {
		return ""
	}
	if len(name) <= 4 {
		least = 2
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if n := edits(strings.ToLower(name), strings.ToLower(c)); n < least && n < len(c)-1 {
			best, least = c, n
		}
	}
	return best
}

// edits returns the number of edits that make b of a.
func edits(a, b string) int {
	var before []int // the row of two characters ago
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// otherNames are what other languages call what candidates are, in lower case. Names
// with a dot are members of variables that do not exist here.
var otherNames = map[string]string{
	"startswith": "beginsWith", "limit": "limitToFirst", "includes": "contains", "match": "matches", "test": "matches", "size": "length",
	"lower": "toLowerCase", "upper": "toUpperCase", "keys": "hasChildren", "hasall": "hasChildren", "has": "hasChild",
	"hasownproperty": "hasChild", "get": "child", "value": "val",
	"request": "auth", "undefined": "null", "nil": "null", "none": "null", "request.auth": "auth", "request.time": "now", "request.resource": "newData", "request.query": "query",
	"resource": "data", "resource.data": "data", "user": "auth", "date": "now", "timestamp": "now", "olddata": "data",
}

// literals are the names that are values.
var literals = []string{"null", "true", "false"}

// unknownVariable returns the error of a variable that is not in scope. A misspelt literal is
// read as one, too.
func (c *checker) unknownVariable(x *Variable) *Error {
	e := at(x, msgUnknown, x.Name)
	captures := c.scope.Captures
	bare := strings.TrimPrefix(x.Name, "$")
	switch e.meant(x.Name, append(c.variables(), literals...)); {
	case e.Meant != "":
	case slices.Contains(captures, "$"+bare):
		e.Meant = "$" + bare
	case bare != x.Name && len(captures) == 1:
		e.Meant = captures[0]
	}
	return e
}

// meant returns e with the name that is likely meant.
func (e *Error) meant(name string, candidates []string) *Error {
	e.Meant = Nearest(name, candidates)
	if other := otherNames[strings.ToLower(name)]; e.Meant == "" && slices.Contains(candidates, other) {
		e.Meant = other
	}
	return e
}

// suggest looks at more than the name that is wrong: of an unknown variable with a member,
// such as request.time, the member says what is meant; and a snapshot has no members of
// strings, but its value may.
func suggest(x Expr, errs []*Error) {
	unknown := make(map[int]*Error)
	for _, err := range errs {
		unknown[err.Offset] = err
	}
	Walk(x, func(x Expr) bool {
		m, ok := x.(*Member)
		if !ok {
			return true
		}
		if v, ok := m.X.(*Variable); ok {
			from, _ := v.Span()
			if err := unknown[from]; err != nil && err.Msg == errorf(from, msgUnknown, v.Name).Msg {
				if other := otherNames[v.Name+"."+m.Name]; other != "" {
					err.Meant = other
				}
			}
		}
		if err := unknown[m.at]; err != nil && err.Meant == "" && m.X.Type() == Snapshot {
			err.Meant = memberOfValue(m.Name)
		}
		return true
	})
}

// memberOfValue returns how the value of a snapshot is asked for a member of a string, "" if
// the name is none.
func memberOfValue(name string) string {
	if other := otherNames[strings.ToLower(name)]; other != "" {
		name = other
	}
	if _, ok := stringMembers[name]; !ok {
		return ""
	}
	return "val()." + name
}
