package tree

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

// The files in testdata/vectors record what the official SDKs do.

func vectors(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../testdata/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// lenient reads a value as a client would.
func lenient(t *testing.T, src []byte) Node {
	t.Helper()
	d, err := Parse(string(src), 0, Lenient)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	n, ok := d.Node()
	if !ok {
		t.Fatalf("%s holds a server value", src)
	}
	return n
}

// shuffles calls f with ten permutations of s.
func shuffles[E any](s []E, f func([]E)) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		p := slices.Clone(s)
		r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		f(p)
	}
}

func TestKeyOrderVectors(t *testing.T) {
	var file struct {
		Sorted []struct {
			Key     string
			Integer *int32
		}
	}
	vectors(t, "wire-key-order.json", &file)
	var want []string
	for _, c := range file.Sorted {
		i, ok := IntegerKey(c.Key)
		if ok != (c.Integer != nil) || ok && i != *c.Integer {
			t.Errorf("IntegerKey(%q) = %d, %t", c.Key, i, ok)
		}
		want = append(want, c.Key)
	}
	// "-0" and "00" tie in the SDK; our order is "-0" first, as in the file.
	shuffles(want, func(got []string) {
		slices.SortFunc(got, CompareKeys)
		if !slices.Equal(got, want) {
			t.Fatalf("sorted keys = %q, want %q", got, want)
		}
	})
}

func TestKeyValidityVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Key       string
			UTF8Bytes int
			SDKValid  bool
		}
	}
	vectors(t, "wire-key-validity.json", &file)
	for _, c := range file.Cases {
		// The SDK has no limit on a key's length, the server has.
		if got, want := ValidKey(c.Key), c.SDKValid && c.UTF8Bytes <= MaxKeyBytes; got != want {
			t.Errorf("ValidKey(%q) = %t, want %t", abbreviate(c.Key), got, want)
		}
	}
}

func TestValueOrderVectors(t *testing.T) {
	type child struct {
		Key      string
		Value    json.RawMessage
		Priority json.RawMessage
	}
	var file struct {
		ByValue, ByPriority []child
		ByChild             []child `json:"byChild_f_g"`
	}
	vectors(t, "wire-value-order.json", &file)
	for order, children := range map[string][]child{ByValue: file.ByValue, ByPriority: file.ByPriority, "f/g": file.ByChild} {
		q := Query{OrderBy: order}
		var want []Entry
		n := Empty
		for _, c := range children {
			value := Bool(true)
			if order == ByPriority {
				value = value.WithPriority(lenient(t, c.Priority))
			} else {
				value = lenient(t, c.Value)
			}
			want = append(want, Entry{q.IndexValue(value), c.Key})
			n = n.With(MustParsePath(c.Key), value)
		}
		shuffles(want, func(got []Entry) {
			slices.SortFunc(got, q.Compare)
			if !slices.Equal(got, want) {
				t.Errorf("order by %s: got %v, want %v", order, got, want)
			}
		})
		want = slices.DeleteFunc(want, func(e Entry) bool { return n.Child(e.Key).IsEmpty() })
		if got := q.Entries(n); !slices.Equal(got, want) {
			t.Errorf("Query{%s}.Entries = %v, want %v", order, got, want)
		}
	}
}

func TestArrayVectors(t *testing.T) {
	var file struct {
		Cases []struct{ Stored, Val, Export json.RawMessage }
	}
	vectors(t, "wire-array-coercion.json", &file)
	for _, c := range file.Cases {
		n := FromCanonical(`{"1.0":1}`) // a case of the file, though no valid key
		if !jsonEqual(t, c.Stored, []byte(n.text)) {
			n = lenient(t, c.Stored)
		}
		if got := AppendPlain(nil, n); !jsonEqual(t, got, c.Val) {
			t.Errorf("AppendPlain(%s) = %s, want %s", n.JSON(), got, c.Val)
		}
		if got := AppendExport(nil, n); !jsonEqual(t, got, c.Export) {
			t.Errorf("AppendExport(%s) = %s, want %s", n.JSON(), got, c.Export)
		}
	}
}

func jsonEqual(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}

func TestPushIDVectors(t *testing.T) {
	var file struct {
		Alphabet string
		Cases    []struct {
			Now int64
			ID  string
		}
		Successor []struct {
			Key, Successor string
			Prefix         string `json:"predecessor_prefix"`
		}
	}
	vectors(t, "wire-push-id.json", &file)
	if file.Alphabet != PushChars {
		t.Errorf("PushChars = %q, want %q", PushChars, file.Alphabet)
	}
	ids := PushIDs{random: func(b []byte) { copy(b, "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x3e\x3f") }}
	for _, c := range file.Cases {
		now := time.UnixMilli(c.Now)
		got := ids.Next(now)
		if got != c.ID {
			t.Errorf("Next(%d) = %s, want %s", c.Now, got, c.ID)
		}
		if at, ok := pushIDTime(got); !ok || !at.Equal(now) {
			t.Errorf("pushIDTime(%s) = %v, %t, want %v", got, at, ok, now)
		}
	}
	for _, c := range file.Successor {
		if CompareKeys(c.Key, c.Successor) >= 0 {
			t.Errorf("CompareKeys(%q, %q) >= 0, but that is its successor", c.Key, c.Successor)
		}
		if c.Prefix != "[MIN_NAME]" && CompareKeys(c.Prefix, c.Key) >= 0 {
			t.Errorf("CompareKeys(%q, %q) >= 0, but that is its predecessor", c.Prefix, c.Key)
		}
	}
}

func TestHashVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name      string
			Value     json.RawMessage
			Hash      string
			JSSDKHash string
			Preimage  string
		}
	}
	vectors(t, "wire-hash.json", &file)
	for _, c := range file.Cases {
		n := lenient(t, c.Value)
		if got := n.Hash(); got != c.Hash {
			t.Errorf("%s: Hash() = %s, want %s", c.Name, got, c.Hash)
		}
		want := c.Hash
		if c.JSSDKHash != "" {
			want = c.JSSDKHash
		}
		if got := n.HashJS(); got != want {
			t.Errorf("%s: HashJS() = %s, want %s", c.Name, got, want)
		}
		if !n.MatchesHash(want) || !n.MatchesHash(c.Hash) || n.MatchesHash("x") {
			t.Errorf("%s: MatchesHash is wrong", c.Name)
		}
		h := hasher{hex: doubleHex}
		if h.text(n); c.Preimage != "" && string(h.buf) != c.Preimage {
			t.Errorf("%s: hashed text %q, want %q", c.Name, h.buf, c.Preimage)
		}
	}
}

func TestNumberVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Value float64
			Hex   string
			JSSDK string
		}
	}
	vectors(t, "wire-number-encoding.json", &file)
	for _, c := range file.Cases {
		if got := string(doubleHex(nil, c.Value)); got != c.Hex {
			t.Errorf("doubleHex(%v) = %s, want %s", c.Value, got, c.Hex)
		}
		want := c.Hex
		if c.JSSDK != "" {
			want = c.JSSDK
		}
		if got := string(jsDoubleHex(nil, c.Value)); got != want {
			t.Errorf("jsDoubleHex(%v) = %s, want %s", c.Value, got, want)
		}
	}
}

func TestNormalizeVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Input, Export json.RawMessage
			IsEmpty       bool
		}
	}
	vectors(t, "wire-normalize.json", &file)
	for _, c := range file.Cases {
		n := lenient(t, c.Input)
		if want := lenient(t, c.Export); n != want || !jsonEqual(t, []byte(n.JSON()), c.Export) {
			t.Errorf("Parse(%s) = %s, want %s", c.Input, n.JSON(), want.JSON())
		}
		if n.IsEmpty() != c.IsEmpty {
			t.Errorf("Parse(%s).IsEmpty() = %t", c.Input, n.IsEmpty())
		}
	}
}

func TestServerValueVectors(t *testing.T) {
	var file struct {
		Cases []struct{ Write, Existing, Resolved json.RawMessage }
	}
	vectors(t, "wire-server-values.json", &file)
	for _, c := range file.Cases {
		d, err := Parse(string(c.Write), 0, Lenient)
		if err != nil {
			t.Fatal(err)
		}
		existing := lenient(t, c.Existing)
		got, err := d.Resolve(1700000000000, func(p Path) (Node, error) { return existing.Get(p), nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := MustParseNode(string(c.Resolved)); got != want {
			t.Errorf("resolve %s over %s = %s, want %s", c.Write, c.Existing, got.JSON(), want.JSON())
		}
	}
}

func TestCompoundHashVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name           string
			Value          json.RawMessage
			EstimatedSize  int
			SplitThreshold int
			PS, HS         []string
			Preimages      []string
		}
	}
	vectors(t, "wire-compound-hash.json", &file)
	for _, c := range file.Cases {
		n := lenient(t, c.Value)
		if got := n.estimatedSize(); got != c.EstimatedSize {
			t.Errorf("%s: estimatedSize() = %d, want %d", c.Name, got, c.EstimatedSize)
		}
		if got := splitThreshold(c.EstimatedSize); got != c.SplitThreshold {
			t.Errorf("%s: splitThreshold(%d) = %d, want %d", c.Name, c.EstimatedSize, got, c.SplitThreshold)
		}
		posts, hashes := n.CompoundHash()
		if !slices.Equal(posts, c.PS) || !slices.Equal(hashes, c.HS) {
			t.Errorf("%s: CompoundHash() = %q, %q, want %q, %q", c.Name, posts, hashes, c.PS, c.HS)
		}
		if got, err := n.RangeHashes(c.PS); err != nil || !slices.Equal(got, c.HS) {
			t.Errorf("%s: RangeHashes(%q) = %q, %v, want %q", c.Name, c.PS, got, err, c.HS)
		}
		if merges, err := n.RangeDiff(c.PS, c.HS); err != nil || len(merges) > 0 {
			t.Errorf("%s: RangeDiff of its own hash = %v, %v", c.Name, merges, err)
		}
		text := rangeText{bracketWriter{brackets: "()"}}
		if len(c.Preimages) == 1 {
			text.leaves(n, text.leaf)
			if got := string(text.end()); got != c.Preimages[0] {
				t.Errorf("%s: hashed text %q, want %q", c.Name, got, c.Preimages[0])
			}
		}
	}
}

func TestRangeMergeVectors(t *testing.T) {
	type merge struct {
		S, E *string
		M    json.RawMessage
	}
	var file struct {
		Cases []struct {
			Name          string
			Before, After json.RawMessage
			Merges        []merge
		}
	}
	vectors(t, "wire-range-merge.json", &file)
	for _, c := range file.Cases {
		n := lenient(t, c.Before)
		for _, m := range c.Merges {
			r := RangeMerge{HasStart: m.S != nil, HasEnd: m.E != nil, Value: lenient(t, m.M)}
			if r.HasStart {
				r.Start = *m.S
			}
			if r.HasEnd {
				r.End = *m.E
			}
			var err error
			if n, err = r.Apply(n); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
		if want := lenient(t, c.After); n != want {
			t.Errorf("%s: got %s, want %s", c.Name, n.JSON(), want.JSON())
		}
	}
}
