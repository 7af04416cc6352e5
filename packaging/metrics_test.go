package packaging

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// metricName matches the names of metrics in expressions, without those of labels and functions.
	metricName = regexp.MustCompile(`\b(?:dogwood|go|process)_[a-z0-9_]+\b|\bup\b`)

	selector    = regexp.MustCompile(`^\{([^}]*)\}`)
	matcher     = regexp.MustCompile(`(\w+)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"`)
	grouping    = regexp.MustCompile(`\b(?:by|without) ?\(([^)]*)\)`)
	aggregation = regexp.MustCompile(`\b(?:sum|max|min|avg|count|topk)\b`)
	ofVariable  = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
)

// exported are the values of each label of each metric that a server exports.
type exported map[string]map[string]map[string]bool

// add reads a line of the text format.
func (e exported) add(line string) {
	if line == "" || line[0] == '#' {
		return
	}
	name := line[:strings.IndexAny(line, "{ ")]
	if e[name] == nil {
		e[name] = make(map[string]map[string]bool)
	}
	for _, m := range matcher.FindAllStringSubmatch(selector.FindString(line[len(name):]), -1) {
		if e[name][m[1]] == nil {
			e[name][m[1]] = make(map[string]bool)
		}
		e[name][m[1]][m[3]] = true
	}
}

// ofTarget are the labels that Prometheus gives to all metrics of a server.
var ofTarget = []string{"instance", "job"}

// has reports whether a metric has a label.
func (e exported) has(metric, label string) bool {
	return slices.Contains(ofTarget, label) || e[metric][label] != nil
}

// problems are what an expression asks for that no server exports.
func (e exported) problems(expr string) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if m := ofVariable.FindStringSubmatch(expr); m != nil {
		expr = m[1]
		if !e.has(m[1], m[2]) {
			add("%s has no label %s", m[1], m[2])
		}
	}
	found := metricName.FindAllStringIndex(expr, -1)
	if len(found) == 0 {
		add("no metric in %s", expr)
	}
	for _, at := range found {
		name := expr[at[0]:at[1]]
		if _, ok := e[name]; !ok {
			add("no server exports %s", name)
			continue
		}
		for _, m := range matcher.FindAllStringSubmatch(selector.FindString(expr[at[1]:]), -1) {
			if !e.selects(name, m[1], m[2], m[3]) {
				add("no server exports %s with %s", name, m[0])
			}
		}
		for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(m[1], ",") {
				if label = strings.TrimSpace(label); !e.has(name, label) {
					add("%s has no label %s to group by", name, label)
				}
			}
		}
	}
	return list
}

// selects reports whether a matcher selects something of what a server exports.
func (e exported) selects(metric, label, op, value string) bool {
	switch {
	case !e.has(metric, label):
		return false
	case slices.Contains(ofTarget, label) || strings.HasPrefix(value, "$"): // chosen by the operator
		return true
	case op == "=":
		return e[metric][label][value]
	case op == "=~":
		all := regexp.MustCompile("^(?:" + value + ")$")
		for v := range e[metric][label] {
			if all.MatchString(v) {
				return true
			}
		}
		return false
	}
	return true
}

// labelsOf returns the labels that the result of an expression has.
func (e exported) labelsOf(expr string) (labels []string) {
	if m := grouping.FindStringSubmatch(expr); m != nil {
		for label := range strings.SplitSeq(m[1], ",") {
			if label = strings.TrimSpace(label); label != "le" { // histogram_quantile takes it
				labels = append(labels, label)
			}
		}
		return labels
	}
	if aggregation.MatchString(expr) {
		return nil
	}
	labels = slices.Clone(ofTarget)
	for _, name := range metricName.FindAllString(expr, -1) {
		for label := range e[name] {
			labels = append(labels, label)
		}
	}
	return labels
}

// TestProblems finds a metric, a label, a value and a group that are not there.
func TestProblems(t *testing.T) {
	e := make(exported)
	e.add(`dogwood_requests_total{code="200",kind="read"} 1`)
	e.add(`# HELP dogwood_other_total`)
	for expr, good := range map[string]bool{
		`sum by (kind) (rate(dogwood_requests_total{code=~"2..",instance=~"$instance"}[5m]))`: true,
		`label_values(dogwood_requests_total, kind)`:                                          true,
		`dogwood_other_total`:                             false,
		`dogwood_requests_total{method="GET"}`:            false,
		`dogwood_requests_total{code="404"}`:              false,
		`dogwood_requests_total{code=~"4.."}`:             false,
		`sum by (namespace) (dogwood_requests_total)`:     false,
		`label_values(dogwood_requests_total, namespace)`: false,
		`sum(1)`: false,
	} {
		if list := e.problems(expr); (len(list) == 0) != good {
			t.Errorf("%s: problems %q", expr, list)
		}
	}
}
