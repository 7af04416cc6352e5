package rulestest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/tree"
)

// Command returns a command line that decides the operation, or explains it.
// rules and data are files; "" is no data.
func (op *Op) Command(verb, rules, data, document string) string {
	args := []string{"dogwood", "rules", verb, rules, "--op", op.Kind.String(), op.target()}
	if data != "" {
		args = append(args, "--data", data)
	}
	if document != "" {
		args = append(args, "--data-document", document)
	}
	args = append(args, "--auth", op.Who.JSON())
	if op.Kind != Read {
		args = append(args, "--value", op.Value)
	} else if text := QueryText(op); text != "" {
		args = append(args, "--query", text)
	}
	if op.Socket {
		args = append(args, "--via", "socket")
	}
	args = append(args, "--now", strconv.FormatInt(op.Now, 10))
	for i, a := range args {
		args[i] = shellQuote(a)
	}
	return strings.Join(args, " ")
}

// target returns the path that a write names.
func (op *Op) target() string {
	return tree.Target{Path: op.Path, Priority: op.Priority}.String()
}

// shellQuote quotes an argument for a shell if it needs that.
func shellQuote(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QueryText returns the JSON of a read's query, "" for a plain read.
func QueryText(op *Op) string {
	if op.Plain || op.Kind != Read {
		return ""
	}
	q := op.Query
	j := map[string]any{}
	switch q.Order() {
	case tree.ByKey:
		j["orderByKey"] = true
	case tree.ByValue:
		j["orderByValue"] = true
	case tree.ByPriority:
		j["orderByPriority"] = true
	default:
		j["orderByChild"] = json.RawMessage(tree.OrderWords(q.Order()))
	}
	setBounds(j, q)
	switch {
	case q.Limit > 0 && q.FromLast:
		j["limitToLast"] = q.Limit
	case q.Limit > 0:
		j["limitToFirst"] = q.Limit
	}
	text, err := json.Marshal(j)
	if err != nil {
		panic(err) // valid nodes and numbers
	}
	return string(text)
}

// setBounds sets the members of a query that are its range.
func setBounds(j map[string]any, q tree.Query) {
	if q.Start.Set && q.End.Set && q.Start.Value == q.End.Value && !q.Start.Exclusive && !q.End.Exclusive {
		j["equalTo"] = json.RawMessage(q.Start.Value.JSON())
		return
	}
	set := func(inclusive, exclusive string, b tree.Bound) {
		if b.Exclusive {
			inclusive = exclusive
		}
		if b.Set {
			j[inclusive] = json.RawMessage(b.Value.JSON())
		}
	}
	set("startAt", "startAfter", q.Start)
	set("endAt", "endBefore", q.End)
}
