package tree

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

// Errors of paths.
var (
	ErrInvalidPath = errors.New("keys have no . $ # [ ] / and no control characters")
	ErrTooDeep     = errors.New("path exceeds the maximum depth (32)")
)

// A LongKeyError is the ErrInvalidPath of a path with a key of more than MaxKeyBytes.
type LongKeyError struct{ Bytes int }

func (e *LongKeyError) Error() string {
	return fmt.Sprintf("a key has at most %d bytes, and this one has %d", MaxKeyBytes, e.Bytes)
}

// Unwrap returns ErrInvalidPath.
func (e *LongKeyError) Unwrap() error { return ErrInvalidPath }

// A Path names one location in the tree. Its keys are valid and non-empty.
// The zero Path is the root. Paths are comparable and make good map keys.
//
// It is a string and not a slice of keys, so it can be a key of maps and costs
// one word pair. Parts of it share its memory. A path that outlives a request
// has to be cloned, or it keeps the text of the request.
type Path struct{ s string } // "rooms/r1/name": clean, no slash at either end

// Root is the path of the whole tree.
var Root Path

// ParsePath reads a slash-separated path. Empty segments are dropped, so "/a//b/" is
// "a/b" (protocol §4). It returns ErrInvalidPath, or a *LongKeyError, if a segment is no
// valid key, and ErrTooDeep if there are more than MaxDepth of them. All paths of clients
// pass through here. From then on functions rely on valid keys and on the depth.
func ParsePath(s string) (Path, error) {
	switch clean := strings.Trim(s, "/"); {
	case strings.Contains(clean, "//"):
		s = squeezeSlashes(clean)
	case len(clean) < len(s):
		s = strings.Clone(clean)
	}
	if s == "" {
		return Root, nil
	}
	depth := 0
	for rest, more := s, true; more; {
		var key string
		key, rest, more = strings.Cut(rest, "/")
		if !ValidKey(key) {
			return Root, keyError(key)
		}
		if depth++; depth > MaxDepth {
			return Root, ErrTooDeep
		}
	}
	return Path{s}, nil
}

// keyError returns what is wrong with a key that is not valid.
func keyError(key string) error {
	if len(key) > MaxKeyBytes {
		return &LongKeyError{len(key)}
	}
	return ErrInvalidPath
}

// MustParsePath is ParsePath for constants; it panics on an invalid path.
func MustParsePath(s string) Path {
	p, err := ParsePath(s)
	if err != nil {
		panic("tree: " + s + ": " + err.Error())
	}
	return p
}

func squeezeSlashes(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' })
	return strings.Join(parts, "/")
}

// String returns the path with a leading slash: "/rooms/r1", "/" for the root.
func (p Path) String() string { return "/" + p.s }

// Clean returns the path as the protocol writes it in pushes: without slashes
// at either end, "" for the root.
func (p Path) Clean() string { return p.s }

// IsRoot reports whether p is the root.
func (p Path) IsRoot() bool { return p.s == "" }

// Clone returns an equal path whose text is not part of another one.
func (p Path) Clone() Path { return Path{strings.Clone(p.s)} }

// Child returns the path of the child with the given key, which must be valid.
func (p Path) Child(key string) Path {
	if p.s == "" {
		return Path{key}
	}
	return Path{p.s + "/" + key}
}

// PathOf returns the path of keys from the root downwards, which must be valid.
func PathOf(keys ...string) Path { return Path{strings.Join(keys, "/")} }

// Join returns the path reached by following rel from p.
func (p Path) Join(rel Path) Path {
	switch {
	case p.s == "":
		return rel
	case rel.s == "":
		return p
	}
	return Path{p.s + "/" + rel.s}
}

// Parent returns the path one level up and the last key. The root has no
// parent: it returns the root and "".
func (p Path) Parent() (Path, string) {
	i := strings.LastIndexByte(p.s, '/')
	if i < 0 {
		return Root, p.s
	}
	return Path{p.s[:i]}, p.s[i+1:]
}

// Cut returns the first key and the path below it. ok is false for the root.
func (p Path) Cut() (key string, rest Path, ok bool) {
	if p.s == "" {
		return "", Root, false
	}
	i := strings.IndexByte(p.s, '/')
	if i < 0 {
		return p.s, Root, true
	}
	return p.s[:i], Path{p.s[i+1:]}, true
}

// Len returns the number of keys.
func (p Path) Len() int {
	if p.s == "" {
		return 0
	}
	return strings.Count(p.s, "/") + 1
}

// Keys yields the keys from the root downwards.
func (p Path) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for key, rest, ok := p.Cut(); ok; key, rest, ok = rest.Cut() {
			if !yield(key) {
				return
			}
		}
	}
}

// Contains reports whether q is p or lies below it. The slash behind p matters:
// "rooms" contains "rooms/r1" and not "rooms2".
func (p Path) Contains(q Path) bool {
	if p.s == "" {
		return true
	}
	return strings.HasPrefix(q.s, p.s) && (len(q.s) == len(p.s) || q.s[len(p.s)] == '/')
}

// ComparePaths orders paths as a walk of the tree comes to them: by the first
// keys that differ, and a path before those below it.
func ComparePaths(a, b Path) int {
	// Paths that are sorted have much in common, which need not be cut into keys.
	i := 0
	for i < len(a.s) && i < len(b.s) && a.s[i] == b.s[i] {
		i++
	}
	switch {
	case len(a.s) == i && len(b.s) == i:
		return 0
	case len(a.s) == i && (i == 0 || b.s[i] == '/'):
		return -1
	case len(b.s) == i && (i == 0 || a.s[i] == '/'):
		return 1
	}
	key := strings.LastIndexByte(a.s[:i], '/') + 1
	// Most keys are no integers, so the first difference decides.
	if x, y := keyByte(a.s, i), keyByte(b.s, i); x < utf8.RuneSelf && y < utf8.RuneSelf && keyByte(a.s, key) > '9' && keyByte(b.s, key) > '9' {
		return x - y
	}
	aKey, _, _ := strings.Cut(a.s[key:], "/")
	bKey, _, _ := strings.Cut(b.s[key:], "/")
	return CompareKeys(aKey, bKey)
}

// keyByte returns byte i of a path, and -1 where a key ends.
func keyByte(s string, i int) int {
	if i == len(s) || s[i] == '/' {
		return -1
	}
	return int(s[i])
}

// Rel returns the path that leads from p to q, which p must contain.
func (p Path) Rel(q Path) Path {
	if p.s == "" {
		return q
	}
	if len(q.s) == len(p.s) {
		return Root
	}
	return Path{q.s[len(p.s)+1:]}
}

// A Target is what a write names: a location, or the priority of a location
// ("/a/.priority", protocol §4).
type Target struct {
	Path     Path
	Priority bool
}

// ParseTarget reads a path whose last segment may be ".priority".
func ParseTarget(s string) (Target, error) {
	clean := strings.TrimRight(s, "/")
	if rest, ok := strings.CutSuffix(clean, ".priority"); ok && (rest == "" || strings.HasSuffix(rest, "/")) {
		p, err := ParsePath(rest)
		return Target{Path: p, Priority: true}, err
	}
	p, err := ParsePath(s)
	return Target{Path: p}, err
}

// String returns the target as a path with a leading slash.
func (t Target) String() string {
	if !t.Priority {
		return t.Path.String()
	}
	if t.Path.IsRoot() {
		return "/.priority"
	}
	return t.Path.String() + "/.priority"
}
