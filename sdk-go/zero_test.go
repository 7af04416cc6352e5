package dogwood_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

// Every exported method of a Ref or Query that belongs to no client fails with ErrPath,
// also if another method returned it.
func TestZeroRef(t *testing.T) {
	var nobody *dogwood.Client
	for name, v := range map[string]any{
		"Ref": dogwood.Ref{}, "Query": dogwood.Query{}, "OnDisconnect": dogwood.OnDisconnect{},
		"nil Client": nobody.Ref("a"), "zero Database": new(embed.Database).Ref("a"), "zero Snapshot": dogwood.Snapshot{}.Ref(),
	} {
		t.Run(name, func(t *testing.T) {
			if failures := callAll(t, reflect.ValueOf(v), 2); failures == 0 {
				t.Error("nothing has failed")
			}
		})
	}
}

func TestZeroRefOfFunctions(t *testing.T) {
	ctx, c := t.Context(), open(t)
	var zero dogwood.Ref
	for name, f := range map[string]func() error{
		"Get":          func() error { _, err := dogwood.Get[int](ctx, zero); return err },
		"Get of Query": func() error { _, err := dogwood.Get[int](ctx, dogwood.Query{}); return err },
		"Values":       func() error { return pull(t, dogwood.Values[int](ctx, zero)).fails() },
		"Transaction": func() error {
			_, err := dogwood.Transaction(ctx, zero, func(n int) (int, error) { return n, nil })
			return err
		},
		"GetAll":        func() error { _, err := c.GetAll(ctx, c.Ref("a"), zero); return err },
		"EachKey":       func() error { _, err := c.GetAll(ctx, zero.EachKey("a/$key")); return err },
		"KeyLookup":     func() error { _, err := c.GetAll(ctx, dogwood.KeyLookup{}); return err },
		"Client.Update": func() error { return (*dogwood.Client)(nil).Update(ctx, map[string]any{"a": 1}) },
	} {
		if err := f(); !errors.Is(err, dogwood.ErrPath) {
			t.Errorf("%s: err = %v, want ErrPath", name, err)
		}
	}
	if err := zero.Child("a").Set(ctx, 1); err.Error() != "set /a: invalid path: a zero Ref or Query belongs to no client" {
		t.Errorf("err = %v", err)
	}
}

// callAll calls all methods of a value, and up to a depth those of the Refs and
// so on that they return. It returns how many errors there were.
func callAll(t *testing.T, v reflect.Value, depth int) (failures int) {
	t.Helper()
	if depth == 0 {
		return 0
	}
	for i := range v.NumMethod() {
		name := v.Type().String() + "." + v.Type().Method(i).Name
		for _, result := range v.Method(i).Call(arguments(t, name, v.Method(i).Type())) {
			switch r := result.Interface().(type) {
			case dogwood.Ref, dogwood.Query, dogwood.OnDisconnect:
				failures += callAll(t, result, depth-1)
			case nil, error:
				if result.Type() == reflect.TypeFor[error]() {
					failures++
					wantErrPath(t, name, r)
				}
			default:
				failures += yields(t, name, result)
			}
		}
	}
	return failures
}

// yields checks the one error of a sequence. Other results are of no interest.
func yields(t *testing.T, name string, result reflect.Value) (failures int) {
	t.Helper()
	if result.Kind() != reflect.Func {
		return 0
	}
	for _, second := range result.Seq2() {
		failures++
		wantErrPath(t, name, second.Interface())
	}
	if failures != 1 {
		t.Errorf("%s yields %d times", name, failures)
	}
	return failures
}

func wantErrPath(t *testing.T, name string, result any) {
	t.Helper()
	if err, _ := result.(error); !errors.Is(err, dogwood.ErrPath) {
		t.Errorf("%s: err = %v, want ErrPath", name, err)
	}
}

// arguments returns what a method can be called with.
func arguments(t *testing.T, name string, f reflect.Type) (args []reflect.Value) {
	t.Helper()
	for i := range f.NumIn() {
		if f.IsVariadic() && i == f.NumIn()-1 {
			break
		}
		switch in := f.In(i); in {
		case reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(t.Context()))
		case reflect.TypeFor[io.Writer]():
			args = append(args, reflect.ValueOf(io.Discard))
		case reflect.TypeFor[any]():
			args = append(args, reflect.ValueOf(new(int)))
		case reflect.TypeFor[string]():
			args = append(args, reflect.ValueOf("a"))
		case reflect.TypeFor[int]():
			args = append(args, reflect.ValueOf(1))
		case reflect.TypeFor[map[string]any]():
			args = append(args, reflect.ValueOf(map[string]any{"a": 1}))
		case reflect.TypeFor[float64](), reflect.TypeFor[dogwood.Snapshot](), reflect.TypeFor[func(dogwood.Snapshot) (any, error)]():
			args = append(args, reflect.Zero(in)) // which will do
		default:
			t.Fatalf("%s: no argument for a %s", name, in)
		}
	}
	return args
}
