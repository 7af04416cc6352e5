package rulestest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dogwooddb/dogwood/rules"
	"github.com/dogwooddb/dogwood/tree"
)

// decode reads strict JSON into a struct. A field that the struct does not have
// is an error, since it is most often a misspelt one.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("unexpected text after the value")
	}
	return nil
}

// ParseActor reads who acts: null, the variable auth as an object, or
// {"admin":true} for an administrator.
func ParseActor(text string) (Actor, error) {
	var vars map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &vars); err != nil {
		return Actor{}, fmt.Errorf("an actor must be null or an object, not %s", strings.TrimSpace(text))
	}
	if vars == nil {
		return Actor{}, nil
	}
	if len(vars) == 1 && string(vars["admin"]) == "true" {
		return Actor{Admin: true}, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return Actor{}, err
	}
	return Actor{Auth: rules.NewAuth(compact.String())}, nil
}

// parseData reads stored data: an absent value is null, a server timestamp the
// given clock.
func parseData(text json.RawMessage, now int64) (tree.Node, error) {
	if text == nil {
		return tree.Empty, nil
	}
	d, err := tree.Parse(string(text), 0, tree.Lenient)
	if err != nil {
		return tree.Empty, fmt.Errorf("data: %w", err)
	}
	return d.Resolve(now, func(tree.Path) (tree.Node, error) { return tree.Empty, nil })
}

// withPriority returns the JSON of a value with a priority.
func withPriority(value string, priority json.RawMessage) string {
	if v := strings.TrimSpace(value); strings.HasPrefix(v, "{") && v != "{}" {
		return fmt.Sprintf(`{".priority":%s,%s`, priority, v[1:])
	}
	return fmt.Sprintf(`{".priority":%s,".value":%s}`, priority, value)
}

// clean returns the path that a text names, the root if it names none.
func clean(s string) tree.Path {
	p, err := tree.ParsePath(s)
	if err != nil {
		return tree.Root
	}
	return p
}
