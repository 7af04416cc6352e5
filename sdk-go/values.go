package dogwood

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/dogwooddb/dogwood/tree"
)

// A ServerValue is a placeholder in what is written: the server replaces it.
type ServerValue struct{ text string }

// ServerTimestamp becomes the time of the write in milliseconds since 1970. For a
// field of a struct there is Timestamp.
var ServerTimestamp = ServerValue{`"timestamp"`}

// Increment becomes the number that is there plus n; n if there is no number. To
// write one that is NaN or infinite fails with ErrValue.
func Increment(n float64) ServerValue { return operation("increment", n) }

// Max becomes the larger one of n and the number that is there; n if there is no number. So
// writes may come in any order and twice. Servers that do not know it refuse the write.
func Max(n float64) ServerValue { return operation("max", n) }

// Min becomes the smaller one of n and the number that is there, as Max becomes the larger.
func Min(n float64) ServerValue { return operation("min", n) }

func operation(name string, n float64) ServerValue {
	text, err := json.Marshal(n)
	if err != nil {
		return ServerValue{} // NaN or infinite: refused when it is written
	}
	return ServerValue{`{"` + name + `":` + string(text) + `}`}
}

// MarshalJSON returns the value as the protocol has it.
func (v ServerValue) MarshalJSON() ([]byte, error) {
	if v.text == "" {
		return nil, ErrValue
	}
	return []byte(`{".sv":` + v.text + `}`), nil
}

// WithPriority returns a value that has a priority when it is written: a number,
// a string, a ServerValue, or nil for none.
func WithPriority(value, priority any) json.Marshaler { return prioritized{value, priority} }

type prioritized struct{ value, priority any }

// MarshalJSON returns the value in export form.
func (p prioritized) MarshalJSON() ([]byte, error) {
	value, err := json.Marshal(p.value)
	if err != nil {
		return nil, err
	}
	priority, err := json.Marshal(p.priority)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members == nil || members[".sv"] != nil {
		members = map[string]json.RawMessage{".value": value}
	}
	members[".priority"] = priority
	return json.Marshal(members)
}

// encode reads a Go value that is to be written at a target.
func encode(t tree.Target, value any) (tree.Write, error) {
	if s, ok := value.(Snapshot); ok {
		return tree.Write{Target: t, Value: tree.DraftOf(s.node)}, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return tree.Write{}, invalidValue(err)
	}
	if kind := reflect.TypeOf(value); string(text) == "{}" && hidesAll(kind) {
		return tree.Write{}, invalidValue(fmt.Errorf("%v has no exported fields, so it would delete the value; write nil for that", kind))
	}
	w, err := tree.ParseWrite(t, string(text), tree.Strict)
	if err != nil {
		return tree.Write{}, invalidValue(err)
	}
	return w, nil
}

// hidesAll reports whether encoding/json leaves out all fields of a type because they are not
// exported. It writes {} for such a value.
func hidesAll(t reflect.Type) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct || t.NumField() == 0 {
		return false
	}
	for _, field := range reflect.VisibleFields(t) {
		if field.IsExported() {
			return false
		}
	}
	return true
}

// draftJSON returns a draft as it is sent.
func draftJSON(d tree.Draft) string {
	if d.IsEmpty() {
		return "null"
	}
	return d.Text()
}
