package wire

import (
	"fmt"
	"iter"

	"github.com/dogwooddb/dogwood/tree/jsontext"
)

// A Lookup is one entry of a request to read several places at once
// (ActionGetAll, docs/extensions.md).
type Lookup struct {
	Path  string // what to read: p, or with Each k
	Query string // q, a raw object; "" for none
	Each  string // c, with $key for each key that is found; "" to read the values themselves
}

// ReadLookups yields the entries of Body.Lookups. It ends with the first error, which
// is a *FormatError without the id of the request.
func (b *Body) ReadLookups() iter.Seq2[Lookup, error] {
	return func(yield func(Lookup, error) bool) {
		at := 0
		for raw := range elements(b.Lookups) {
			l, err := readLookup(raw, at)
			if !yield(l, err) || err != nil {
				return
			}
			at++
		}
	}
}

func readLookup(raw string, at int) (l Lookup, err error) {
	name := fmt.Sprintf("b.g[%d]", at)
	if !isObject(raw) {
		return l, wrongValue(-1, name, raw, "an object")
	}
	var path, keys string
	for key, value := range membersOf(raw) {
		ok, want := true, "a string"
		switch key {
		case "p":
			l.Path, ok = jsontext.Unquote(value)
			path = value
		case "k":
			l.Path, ok = jsontext.Unquote(value)
			keys = value
		case "c":
			l.Each, ok = jsontext.Unquote(value)
		case "q":
			l.Query = value
			ok, want = isObject(value), "an object"
		}
		if !ok {
			return l, wrongValue(-1, name+"."+key, value, want)
		}
	}
	if (path == "") == (keys == "") || (keys == "") != (l.Each == "") {
		return l, wrongValue(-1, name, raw, "p, or k and c")
	}
	return l, nil
}

func isArray(raw string) bool { return raw != "" && raw[0] == '[' }

// AppendGetAll appends the request to read several places at once, in one state
// of the database.
func AppendGetAll(dst []byte, id int64, lookups []Lookup) []byte {
	dst = append(appendRequestHead(dst, id, ActionGetAll), `"g":[`...)
	for i, l := range lookups {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = l.append(dst)
	}
	return append(dst, `]}}}`...)
}

func (l Lookup) append(dst []byte) []byte {
	name := `{"p":`
	if l.Each != "" {
		name = `{"k":`
	}
	dst = AppendString(append(dst, name...), l.Path)
	if l.Query != "" {
		dst = append(append(dst, `,"q":`...), l.Query...)
	}
	if l.Each != "" {
		dst = AppendString(append(dst, `,"c":`...), l.Each)
	}
	return append(dst, '}')
}
