package store

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

func sign(i int) int { return max(-1, min(1, i)) }

// checkKeys holds the ordered forms of two keys to the order of the keys.
func checkKeys(t *testing.T, a, b string) {
	t.Helper()
	x, y := appendKey(nil, a), appendKey(nil, b)
	if got, want := sign(bytes.Compare(x, y)), sign(tree.CompareKeys(a, b)); got != want {
		t.Errorf("ordered keys of %q and %q compare as %d, the keys as %d", a, b, got, want)
	}
	for key, ordered := range map[string][]byte{a: x, b: y} {
		if got, ok := decodeKey(ordered); !ok || got != key {
			t.Errorf("key %q comes back as %q, %v", key, got, ok)
		}
	}
}

func TestOrderedKeysOfVectors(t *testing.T) {
	var file struct{ Sorted []struct{ Key string } }
	text, err := os.ReadFile("../../testdata/vectors/wire-key-order.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, a := range file.Sorted {
		for _, b := range file.Sorted {
			checkKeys(t, a.Key, b.Key)
		}
	}
}

func FuzzOrderedKey(f *testing.F) {
	for _, key := range []string{"a", "7", "007", "-0", "00", "-2147483648", "2147483648", "é", "😀", "\uffee", "\ue000"} {
		f.Add(key, "7")
		f.Add(key, "é")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if tree.ValidKey(a) && tree.ValidKey(b) {
			checkKeys(t, a, b)
		}
	})
}

// indexValues are leaves in ascending order, with ties left out.
var indexValues = []string{
	"null", "false", "true", "-1e308", "-9223372036854775808", "-9007199254740993", "-9007199254740992", "-5", "-1e-7", "0", "5e-324",
	"0.5", "1", "9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "9223372036854775806",
	"9223372036854775807", "1e21", `""`, `"\u0000"`, `"\u0000a"`, `"\u0001"`, `"a"`, `"a\u0000"`, `"ab"`, `"é"`, `"😀"`, `"\uffee"`, `{"a":1}`,
}

func TestIndexValuesSort(t *testing.T) {
	var last []byte
	for _, text := range indexValues {
		v := tree.MustParseNode(text)
		entry := appendValue(nil, v)
		if bytes.Compare(last, entry) >= 0 {
			t.Errorf("the index value of %s does not sort behind the one before it", text)
		}
		last = entry
		got, size, cut, ok := splitValue(append(entry, "key"...))
		if want := shallowIndexValue(v); !ok || cut || size != len(entry) || got != want {
			t.Errorf("index value %s comes back as %s (size %d of %d, cut %v, %v)", text, got.JSON(), size, len(entry), cut, ok)
		}
	}
}

func FuzzIndexValue(f *testing.F) {
	for _, text := range indexValues {
		f.Add(text, `"a"`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := tree.ParseNode(a)
		y, errY := tree.ParseNode(b)
		if errX != nil || errY != nil {
			return
		}
		x, y = x.Value(), y.Value()
		long := func(n tree.Node) bool { s, ok := n.StringValue(); return ok && len(s) > maxIndexed }
		if long(x) || long(y) {
			return // put in order when they are read
		}
		got := sign(bytes.Compare(appendValue(nil, x), appendValue(nil, y)))
		if want := sign(tree.CompareValues(x, y)); got != want {
			t.Errorf("index values of %s and %s compare as %d, the values as %d", a, b, got, want)
		}
	})
}

// FuzzEdit holds the fast way of changing a packed row to the plain one.
func FuzzEdit(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":"x"},"0":[1,2]}`, "a/b", `{"k":true}`)
	f.Add(`{".priority":1,".value":"{\"a\":1}"}`, "a", "2")
	f.Add(`{"a\"b":{"\\":1},"*":2,":x":3,"a":"{}"}`, "a/b", "null")
	f.Fuzz(func(t *testing.T, text, path, value string) {
		n, err := tree.ParseNode(text)
		p, pathErr := tree.ParsePath(path)
		v, valueErr := tree.ParseNode(value)
		if err != nil || pathErr != nil || valueErr != nil {
			return
		}
		if got, want := edit(n, p, v), n.With(p, v); got != want {
			t.Errorf("edit(%s, %s, %s) = %s, want %s", n.JSON(), p, v.JSON(), got.JSON(), want.JSON())
		}
	})
}

func TestLongStringsSortInAnIndex(t *testing.T) {
	s := open(t, "")
	defer s.Close()
	if err := s.Declare([]Index{{"/l", tree.ByValue}}); err != nil {
		t.Fatal(err)
	}
	same := strings.Repeat("s", maxIndexed+10)
	want := []string{"a", "b", "c", "d", "e", "f"}
	shuffled := slices.Clone(want)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	put(t, s, func(tx *Tx) error {
		for _, key := range shuffled {
			value := same + strings.Repeat("z", slices.Index(want, key)) + strings.Repeat("q", PackLimit)
			if _, err := tx.Put(tree.MustParsePath("l/"+key), tree.String(value)); err != nil {
				return err
			}
		}
		return nil
	})
	build(t, s)
	view(t, s, func(tx *Tx) error {
		for _, last := range []bool{false, true} {
			entries, err := tx.Query(tree.MustParsePath("l"), tree.Query{OrderBy: tree.ByValue, Limit: 6, FromLast: last})
			if err != nil {
				return err
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Key)
			}
			slices.SortFunc(want, func(a, b string) int { // "q" follows the z's
				return strings.Compare(strings.Repeat("z", int(a[0]-'a'))+"q", strings.Repeat("z", int(b[0]-'a'))+"q")
			})
			if !slices.Equal(got, want) {
				t.Errorf("order by long values: %q, want %q", got, want)
			}
		}
		return nil
	})
	check(t, s)
}
