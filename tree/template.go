package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// KeyPlaceholder stands for a key in the text of a Template.
const KeyPlaceholder = "$key"

// ErrTemplate is the class of errors of ParseTemplate.
var ErrTemplate = errors.New("invalid template")

// A Template is a path in which a key is still to be put, at one or more places:
// "/groups/$key/name". The zero Template is the root with none. The placeholder cannot be
// a key: $ is not allowed in one.
type Template struct {
	segments []string // keys; KeyPlaceholder, which is no valid key, for the one to come
}

// ParseTemplate reads a template as ParsePath reads a path. It returns an error of
// class ErrTemplate if no segment is the placeholder, and those of ParsePath.
func ParseTemplate(s string) (Template, error) {
	segments := strings.FieldsFunc(s, func(r rune) bool { return r == '/' })
	if !slices.Contains(segments, KeyPlaceholder) {
		return Template{}, fmt.Errorf("%w: no segment is %s", ErrTemplate, KeyPlaceholder)
	}
	t := Template{segments}
	_, err := ParsePath(t.with("k"))
	return t, err
}

// Path returns the path with a key, which must be valid, in place of each
// placeholder.
func (t Template) Path(key string) Path { return Path{t.with(key)} }

func (t Template) with(key string) string {
	keys := slices.Clone(t.segments)
	for i, segment := range keys {
		if segment == KeyPlaceholder {
			keys[i] = key
		}
	}
	return strings.Join(keys, "/")
}

// String returns the template with a leading slash.
func (t Template) String() string { return "/" + t.with(KeyPlaceholder) }
