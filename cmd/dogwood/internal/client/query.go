package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/dogwooddb/dogwood/cmd/dogwood/internal/console"
	"github.com/dogwooddb/dogwood/tree"
)

// QueryFlags select children. They are the flags of firebase database:get.
type QueryFlags struct {
	OrderBy      string `group:"Query" help:"Order children by the value of a child of theirs: NAME, or NAME/NAME; or by several, as a JSON list." xor:"order" placeholder:"NAME"`
	OrderByKey   bool   `group:"Query" help:"Order children by key; the default of a query." xor:"order"`
	OrderByValue bool   `group:"Query" help:"Order children by value." xor:"order"`
	LimitToFirst *int   `group:"Query" help:"At most the first N." xor:"limit" placeholder:"N"`
	LimitToLast  *int   `group:"Query" help:"At most the last N." xor:"limit" placeholder:"N"`

	StartAt    *string `group:"Query" help:"Begin at this value of the order. Values are JSON; a value that is not JSON is a string." xor:"start" placeholder:"VALUE"`
	StartAfter *string `group:"Query" help:"Begin after this value." xor:"start" placeholder:"VALUE"`
	EndAt      *string `group:"Query" help:"End at this value." xor:"end" placeholder:"VALUE"`
	EndBefore  *string `group:"Query" help:"End before this value." xor:"end" placeholder:"VALUE"`
	EqualTo    *string `group:"Query" help:"Only children with this value." placeholder:"VALUE"`
}

// Values returns the parameters of the request. shallow listings have limits
// without an order.
func (f *QueryFlags) Values(shallow bool) (url.Values, error) {
	q := url.Values{}
	for _, limit := range []struct {
		name, flag string
		value      *int
	}{
		{"limitToFirst", "--limit-to-first", f.LimitToFirst},
		{"limitToLast", "--limit-to-last", f.LimitToLast},
	} {
		if limit.value == nil {
			continue
		}
		if *limit.value <= 0 {
			return nil, fmt.Errorf("%s %d: must be positive", limit.flag, *limit.value)
		}
		q.Set(limit.name, strconv.Itoa(*limit.value))
	}
	for _, bound := range []struct {
		name, flag string
		text       *string
	}{
		{"startAt", "--start-at", f.StartAt},
		{"startAfter", "--start-after", f.StartAfter},
		{"endAt", "--end-at", f.EndAt},
		{"endBefore", "--end-before", f.EndBefore},
		{"equalTo", "--equal-to", f.EqualTo},
	} {
		if bound.text == nil {
			continue
		}
		value, err := f.bound(*bound.text)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", bound.flag, *bound.text, err)
		}
		q.Set(bound.name, value)
	}
	if order := f.order(); order != "" {
		if err := checkOrder(order); err != nil {
			return nil, fmt.Errorf("--order-by %s: %w", order, err)
		}
		if !isList(order) {
			order = console.JSONText(order)
		}
		q.Set("orderBy", order)
	} else if len(q) > 0 && !shallow {
		q.Set("orderBy", `"$key"`)
	}
	if shallow {
		q.Set("shallow", "true")
	}
	return q, nil
}

func (f *QueryFlags) order() string {
	switch {
	case f.OrderByKey:
		return "$key"
	case f.OrderByValue:
		return "$value"
	}
	return f.OrderBy
}

// checkOrder refuses an order that no database has.
func checkOrder(order string) error {
	switch order {
	case "$key", "$value", "$priority":
		return nil
	}
	if isList(order) {
		var paths []string
		if err := json.Unmarshal([]byte(order), &paths); err != nil {
			return errors.New(`it takes a JSON list of children, such as ["owner","created"]`)
		}
		_, err := tree.ListOrder(paths)
		return err
	}
	if p, err := tree.ParsePath(order); err != nil || p.IsRoot() {
		return errors.New("it takes the name of a child, or NAME/NAME, without . # [ ] and control characters; or $priority, $key or $value")
	}
	return nil
}

// isList reports whether a text is meant as a list. No child has such a name.
func isList(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "[") }

// bound returns a bound as JSON. Keys are texts even if they look like numbers.
func (f *QueryFlags) bound(text string) (string, error) {
	byKey := f.order() == "" || f.order() == "$key"
	begin := strings.TrimSpace(text)
	switch valid := json.Valid([]byte(text)); {
	case valid && isList(text) && isList(f.order()): // the server has the rest
		return text, nil
	case strings.HasPrefix(begin, "{"), strings.HasPrefix(begin, "["), strings.HasPrefix(begin, `"`) && !valid:
		return "", errors.New("it takes a number, true, false, null or a string; a string that begins with one of { [ \" is written as JSON, in quotes")
	case valid && (!byKey || begin[0] == '"'):
		return text, nil
	}
	return console.JSONText(text), nil
}
