package invariant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// members returns the members of an object, if text is one. Of a name that is there
// twice, package json would ignore one; it is an error, and the first is returned.
//
// Package json is too lenient for files that people write: it ignores names that it does
// not know, takes names in another case, and lets the last of two members win. In a file
// of invariants each of these would silently check less than was meant.
func members(text []byte) (fields map[string]json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	fields = make(map[string]json.RawMessage)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fields, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fields, err
		}
		if _, given := fields[name.(string)]; given {
			return fields, fmt.Errorf("%q is there twice", name)
		}
		fields[name.(string)] = value
	}
	_, err = d.Token()
	return fields, err
}

// spelled returns what is wrong with a name that is not one of those known, nil if
// that is not its spelling: package json takes "Kind" for "kind".
func spelled(name string, known []string) error {
	for _, k := range known {
		if name != k && strings.EqualFold(name, k) {
			return fmt.Errorf("%q is written %q", name, k)
		}
	}
	return nil
}

// decodeMembers reads the members of an object into v, a struct with the names that
// are known.
func decodeMembers(text []byte, v any, known ...string) error {
	fields, err := members(text)
	if err != nil {
		return err
	}
	if err := written(fields, known); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown %q", name)
		}
	}
	return json.Unmarshal(text, v)
}

// written looks whether names are written as they are known, and have a value, which
// null is not.
func written(fields map[string]json.RawMessage, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := spelled(name, known); err != nil {
			return err
		}
		if string(fields[name]) == "null" {
			return fmt.Errorf("%q is null", name)
		}
	}
	return nil
}
