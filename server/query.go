package server

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/dogwooddb/dogwood/sync/query"
	"github.com/dogwooddb/dogwood/tree"
)

// Parameters that select children (REST §5.1).
var (
	boundParams = []string{"startAt", "startAfter", "endAt", "endBefore", "equalTo"}
	limitParams = []string{"limitToFirst", "limitToLast"}
)

// checkOnce refuses bounds and limits that are given more than once: whichever counted,
// the client may have meant the other.
func checkOnce(ps params, _ *tree.Query) error {
	for _, p := range ps {
		if (slices.Contains(boundParams, p.name) || slices.Contains(limitParams, p.name)) && ps.count(p.name) > 1 {
			return badRequest("Only one " + p.name + " may be specified")
		}
	}
	return nil
}

// isQuery reports whether parameters that select children were given.
func (ps params) isQuery() bool {
	return ps.any("orderBy", "where", "maxVisited") != "" || ps.any(boundParams...) != "" || ps.any(limitParams...) != ""
}

// parseQuery reads the parameters of a query, in the documented order of checks
// (REST §5.2). Without any, the query is everything in key order. The order of
// checks is part of the answer: with two mistakes, clients are told the one
// that the service tells.
func parseQuery(ps params) (tree.Query, error) {
	if !ps.isQuery() {
		return tree.Query{OrderBy: tree.ByKey}, nil
	}
	q := tree.Query{OrderBy: tree.ByKey}
	for _, read := range []func(params, *tree.Query) error{readOrder, checkOnce, readLimit, readBounds, readFilter} {
		if err := read(ps, &q); err != nil {
			return tree.Query{}, err
		}
	}
	return q, nil
}

func readOrder(ps params, q *tree.Query) error {
	text, ok := ps.get("orderBy")
	if !ok && ps.any(boundParams...) == "" && ps.any(limitParams...) == "" { // a filter of all children
		return nil
	}
	if !ok {
		return badRequest("orderBy must be defined when other query parameters are defined")
	}
	if ps.count("orderBy") > 1 {
		return badRequest("Only one orderBy may be specified")
	}
	if isList(text) {
		return readListOrder(text, q)
	}
	value, err := parseScalar(text)
	name, isString := value.StringValue()
	if err != nil || !isString {
		return badRequest("orderBy must be a valid JSON encoded path")
	}
	switch name {
	case "$key":
		q.OrderBy = tree.ByKey
	case "$value":
		q.OrderBy = tree.ByValue
	case "$priority":
		q.OrderBy = tree.ByPriority
	default:
		path, err := tree.ParsePath(name)
		if err != nil || path.IsRoot() {
			return badRequest("orderBy must be a valid JSON encoded path")
		}
		q.OrderBy = path.Clean()
	}
	return nil
}

// readFilter reads where, an expression about each child, and maxVisited, how many children the
// read may look at.
func readFilter(ps params, q *tree.Query) error {
	text, ok := ps.get("where")
	most, hasMost := ps.get("maxVisited")
	if !ok && hasMost {
		return badRequest("maxVisited goes with where")
	}
	if !ok {
		return nil
	}
	n := 0
	if hasMost {
		var err error
		if n, err = strconv.Atoi(most); err != nil || n < 1 || n > query.MaxLooks {
			return badRequest(fmt.Sprintf("maxVisited must be an integer from 1 to %d", query.MaxLooks))
		}
	}
	f, err := query.Filter(text, n)
	if err != nil {
		return badRequest("where: " + err.Error())
	}
	q.Filter = f
	return nil
}

func readLimit(ps params, q *tree.Query) error {
	_, first := ps.get("limitToFirst")
	_, last := ps.get("limitToLast")
	switch {
	case first && last:
		return badRequest("Only one of limitToFirst and limitToLast may be specified")
	case first || last:
		n, err := parseLimit(ps, ps.any(limitParams...))
		q.Limit, q.FromLast = n, last
		return err
	}
	return nil
}

func parseLimit(ps params, name string) (int, error) {
	text, _ := ps.get(name)
	n, err := strconv.ParseInt(text, 10, 32)
	if errors.Is(err, strconv.ErrRange) { // more than there can be children
		n, err = math.MaxInt32, nil
		if strings.HasPrefix(text, "-") {
			n = 0
		}
	}
	switch {
	case text != "" && err != nil:
		return 0, badRequest(name + " must be an integer")
	case n <= 0:
		return 0, badRequest(name + " must be positive")
	}
	return int(n), nil
}

// bounds says what each parameter sets. A bound without a key includes every
// child of its own value, or none.
var bounds = map[string]struct{ start, end *tree.Bound }{
	"startAt":    {start: &tree.Bound{Set: true, KeyRank: tree.BeforeKeys}},
	"startAfter": {start: &tree.Bound{Set: true, KeyRank: tree.AfterKeys, Exclusive: true}},
	"endAt":      {end: &tree.Bound{Set: true, KeyRank: tree.AfterKeys}},
	"endBefore":  {end: &tree.Bound{Set: true, KeyRank: tree.BeforeKeys, Exclusive: true}},
	"equalTo": {
		start: &tree.Bound{Set: true, KeyRank: tree.BeforeKeys},
		end:   &tree.Bound{Set: true, KeyRank: tree.AfterKeys},
	},
}

func readBounds(ps params, q *tree.Query) error {
	if err := checkBounds(ps); err != nil {
		return err
	}
	order, _ := ps.get("orderBy")
	for _, name := range boundParams {
		text, ok := ps.get(name)
		if !ok {
			continue
		}
		value, err := parseBound(name, text, *q, isList(order))
		if err != nil {
			return err
		}
		if b := bounds[name].start; b != nil {
			q.Start = *b
			q.Start.Value = value
		}
		if b := bounds[name].end; b != nil {
			q.End = *b
			q.End.Value = value
		}
	}
	return nil
}

func checkBounds(ps params) error {
	has := func(name string) bool { return ps.any(name) != "" }
	switch {
	case has("equalTo") && ps.any("startAt", "startAfter", "endAt", "endBefore") != "":
		return badRequest("equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore")
	case has("startAt") && has("startAfter"):
		return badRequest("Only one of startAt and startAfter may be specified")
	case has("endAt") && has("endBefore"):
		return badRequest("Only one of endAt and endBefore may be specified")
	}
	return nil
}

func parseBound(name, text string, q tree.Query, orderIsList bool) (tree.Node, error) {
	if isList(text) && orderIsList {
		value, err := parseListBound(text, q)
		if err != nil {
			err = badRequest(name + ": " + err.Error())
		}
		return value, err
	}
	value, err := parseScalar(text)
	if err != nil {
		return tree.Empty, badRequest("Constraint index field must be a JSON primitive")
	}
	if err := q.CheckBound(tree.Bound{Set: true, Value: value}); err != nil {
		return tree.Empty, badRequest(name + ": " + err.Error())
	}
	if q.OrderBy != tree.ByKey {
		return value, nil
	}
	key, isString := value.StringValue()
	switch {
	case !isString:
		return tree.Empty, badRequest("Provided key index type is invalid, must be string")
	case !tree.ValidKey(key):
		return tree.Empty, badRequest("Constraint key field must be a valid key name")
	}
	return value, nil
}

// isList reports whether a parameter is meant as a list.
func isList(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "[") }

// parseList reads a list of scalars, not more than an order can have. The text of others is not
// parsed: that could take much memory. "[" stands for them.
func parseList(text string) (list []string, err error) {
	if hasNested(text) { // gjson.Valid would go as deep as a stranger wants
		return []string{"["}, nil
	}
	if !gjson.Valid(text) {
		return nil, errors.New("the list is no valid JSON")
	}
	gjson.Parse(text).ForEach(func(_, v gjson.Result) bool {
		if list = append(list, v.Raw); len(list) > tree.MaxOrder {
			err = fmt.Errorf("a list has at most %d elements", tree.MaxOrder)
		}
		return err == nil
	})
	return list, err
}

// hasNested reports whether a list has objects or other lists in it.
func hasNested(list string) bool {
	opened, quoted := 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == '[' || c == '{'):
			if opened++; opened > 1 {
				return true
			}
		}
	}
	return false
}

// readListOrder reads an order by several child paths: ["owner","created"].
func readListOrder(text string, q *tree.Query) error {
	list, err := parseList(text)
	paths := make([]string, len(list))
	for i, raw := range list {
		value, scalarErr := parseScalar(raw)
		var isString bool
		if paths[i], isString = value.StringValue(); scalarErr != nil || !isString {
			return badRequest("orderBy: a list has strings, which are child paths")
		}
	}
	if err == nil {
		q.OrderBy, err = tree.ListOrder(paths)
	}
	if err != nil {
		return badRequest("orderBy: " + err.Error())
	}
	return nil
}

func parseListBound(text string, q tree.Query) (tree.Node, error) {
	list, err := parseList(text)
	if err != nil {
		return tree.Empty, err
	}
	values := make([]tree.Node, len(list))
	for i, raw := range list {
		if values[i], err = parseScalar(raw); err != nil {
			return tree.Empty, errors.New("the values of a bound are null, booleans, numbers or strings")
		}
	}
	return q.ListBound(values)
}

var errNotScalar = errors.New("not a JSON scalar")

// parseScalar reads a JSON string, number, boolean or null.
func parseScalar(text string) (tree.Node, error) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] == '{' || text[0] == '[' {
		return tree.Empty, errNotScalar
	}
	return tree.ParseNode(text)
}
