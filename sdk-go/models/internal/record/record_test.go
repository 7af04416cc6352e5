package record

import (
	"context"
	"errors"
	"fmt"
	"testing"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
	"github.com/dogwooddb/dogwood/sdk-go/embed"
)

func TestRetry(t *testing.T) {
	other := errors.New("another error")
	denied := fmt.Errorf("update: %w", dogwood.ErrPermissionDenied)
	for _, c := range []struct {
		name    string
		reads   []any // values or errors; the last one again and again
		changes []error
		want    error
		tries   int
	}{
		{"at once", []any{1}, []error{nil}, nil, 1},
		{"another error", []any{1}, []error{other}, other, 1},
		{"lost a race", []any{1, 2}, []error{denied, nil}, nil, 2},
		{"lost two", []any{1, 2, 3}, []error{denied, denied, nil}, nil, 3},
		{"not allowed", []any{1}, []error{denied, denied, nil}, dogwood.ErrPermissionDenied, 2},
		{"back to what it was", []any{1, 2, 1}, []error{denied, denied, nil}, nil, 3},
		{"cannot be read", []any{other}, nil, other, 0},
		{"cannot be read again", []any{1, other}, []error{denied}, other, 1},
	} {
		reads, tries := c.reads, 0
		err := Retry(t.Context(), func() (any, error) {
			now := reads[0]
			if len(reads) > 1 {
				reads = reads[1:]
			}
			err, _ := now.(error)
			return now, err
		}, func(any) error {
			tries++
			return c.changes[tries-1]
		})
		if !errors.Is(err, c.want) || tries != c.tries {
			t.Errorf("%s: %v after %d tries, want %v after %d", c.name, err, tries, c.want, c.tries)
		}
	}
}

// A write that is refused each time, for another reason, is given up in the end.
func TestRetryEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	read := func() (int, error) { n++; return n, nil }
	refuse := func(int) error { return dogwood.ErrPermissionDenied }
	if err := Retry(ctx, read, refuse); !errors.Is(err, dogwood.ErrPermissionDenied) || n != maxTries {
		t.Errorf("%v after %d tries, want %d", err, n, maxTries)
	}
	cancel()
	if err := Retry(ctx, read, refuse); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}

// More places than one request reads are read by several.
func TestEach(t *testing.T) {
	db, err := embed.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var places []dogwood.Ref
	values := make(map[string]any)
	for i := range maxPlaces + 5 {
		key := fmt.Sprintf("k%d", i)
		values[key] = i
		places = append(places, db.Ref(key))
	}
	if err := db.Update(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	places = append(places, db.Ref("missing"))
	found, err := Each(t.Context(), db.Client, places...)
	if err != nil || len(found) != len(places) {
		t.Fatalf("%d of %d, %v", len(found), len(places), err)
	}
	for i, s := range found[:len(places)-1] {
		if s.Value() != float64(i) {
			t.Errorf("%s is %v, want %d", s.Ref(), s.Value(), i)
		}
	}
	if found[len(places)-1].Exists() {
		t.Error("what is missing is there")
	}
}

// An index may be longer than what one request finds.
func TestAllNamed(t *testing.T) {
	db, err := embed.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const most = 10_000 // keys of one request
	index, values := make(map[string]bool), make(map[string]int)
	for i := range most + 1 {
		key := fmt.Sprintf("k%05d", i)
		index[key], values[key] = true, i
	}
	if err := db.Ref("").Set(t.Context(), map[string]any{"index": index, "values": values}); err != nil {
		t.Fatal(err)
	}
	if _, err := Named(t.Context(), db.Client, db.Ref("index").Query, "values/$key"); !errors.Is(err, dogwood.ErrTooBig) {
		t.Fatalf("in one request: err = %v, want %v", err, dogwood.ErrTooBig)
	}
	found, err := AllNamed(t.Context(), db.Client, db.Ref("index"), "values/$key")
	if err != nil || len(found) != most+1 {
		t.Fatalf("%d, %v, want %d", len(found), err, most+1)
	}
	for i, s := range found {
		if s.Value() != float64(i) {
			t.Fatalf("%s is %v, want %d", s.Ref(), s.Value(), i)
		}
	}
}

// Pages end anywhere, also with the last key; what is not there keeps its place.
func TestNamedPages(t *testing.T) {
	db, err := embed.Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := range 7 {
		index, want := make(map[string]bool), ""
		for i := range n {
			index[fmt.Sprintf("k%d", i)] = true
			want += fmt.Sprintf("k%d ", i)
		}
		if err := db.Ref("index").Set(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		found, err := namedPages(t.Context(), db.Client, db.Ref("index"), "values/$key", 3)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, s := range found {
			got += s.Key() + " "
		}
		if got != want {
			t.Errorf("%d keys: %s, want %s", n, got, want)
		}
	}
}
