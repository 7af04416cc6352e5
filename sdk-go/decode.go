package dogwood

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/dogwooddb/dogwood/tree"
)

// decode stores a node in what dst points to. A node does not know whether it
// is an array, so the JSON that encoding/json gets is made after the Go type.
func decode(n tree.Node, dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("%w: can't decode into %T, which is no pointer", ErrValue, dst)
	}
	v.Elem().SetZero() // JSON's null would leave what is there
	if n.IsEmpty() {
		return nil
	}
	if err := json.Unmarshal(appendFor(nil, n, v.Type().Elem()), dst); err != nil {
		return invalidValue(err)
	}
	return nil
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// appendFor appends a node as JSON that suits a type.
func appendFor(dst []byte, n tree.Node, t reflect.Type) []byte {
	if !n.IsObject() || reflect.PointerTo(t).Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return tree.AppendPlain(dst, n)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return appendFor(dst, n, t.Elem())
	case reflect.Slice, reflect.Array:
		if size, ok := arraySize(n); ok {
			return appendArray(dst, n, size, t.Elem())
		}
		return appendObject(dst, n, func(string) reflect.Type { return t.Elem() })
	case reflect.Map:
		return appendObject(dst, n, func(string) reflect.Type { return t.Elem() })
	case reflect.Struct:
		fields := fieldsOf(t)
		return appendObject(dst, n, func(key string) reflect.Type { return fields[strings.ToLower(key)] })
	}
	return tree.AppendPlain(dst, n)
}

func appendObject(dst []byte, n tree.Node, typeOf func(key string) reflect.Type) []byte {
	dst = append(dst, '{')
	comma := false
	for key, child := range n.Children() {
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = append(appendString(dst, key), ':')
		if t := typeOf(key); t != nil {
			dst = appendFor(dst, child, t)
		} else {
			dst = tree.AppendPlain(dst, child)
		}
	}
	return append(dst, '}')
}

// arraySize returns how long a node is as an array. ok is false if it is none:
// if a key is no number, or most numbers are not there (protocol §6).
func arraySize(n tree.Node) (size int, ok bool) {
	for key := range n.Children() {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || strconv.Itoa(i) != key {
			return 0, false
		}
		size = max(size, i+1)
	}
	return size, size <= 2*n.NumChildren()
}

func appendArray(dst []byte, n tree.Node, size int, t reflect.Type) []byte {
	dst = append(dst, '[')
	next := 0
	for key, child := range n.Children() { // in the order of their numbers
		for i, _ := strconv.Atoi(key); next < i; next++ {
			dst = append(dst, "null,"...)
		}
		dst = appendFor(dst, child, t)
		if next++; next < size {
			dst = append(dst, ',')
		}
	}
	return append(dst, ']')
}

// structs has the fields of struct types that were met, by lower-case JSON name.
var structs sync.Map // reflect.Type → map[string]reflect.Type

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if fields, ok := structs.Load(t); ok {
		return fields.(map[string]reflect.Type)
	}
	fields := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if _, taken := fields[strings.ToLower(name)]; f.IsExported() && !taken {
			fields[strings.ToLower(name)] = f.Type
		}
	}
	structs.Store(t, fields)
	return fields
}
