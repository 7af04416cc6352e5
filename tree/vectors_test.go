package tree

import (
	"encoding/json"
	"os"
	"testing"
)

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

func TestHashVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name      string
			Value     json.RawMessage
			Hash      string
			JSSDKHash string
		}
	}
	vectors(t, "wire-hash.json", &file)
	for _, c := range file.Cases {
		d, err := Parse(string(c.Value), 0, Lenient)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		n, _ := d.Node()
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
		Cases []struct{ Input, Export json.RawMessage }
	}
	vectors(t, "wire-normalize.json", &file)
	for _, c := range file.Cases {
		d, err := Parse(string(c.Input), 0, Lenient)
		if err != nil {
			t.Errorf("%s: %v", c.Input, err)
			continue
		}
		want, err := Parse(string(c.Export), 0, Lenient)
		if err != nil {
			t.Fatal(err)
		}
		if d.Text() != want.Text() {
			t.Errorf("Parse(%s) = %s, want %s", c.Input, d.Text(), want.Text())
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
		e, err := Parse(string(c.Existing), 0, Lenient)
		if err != nil {
			t.Fatal(err)
		}
		existing, _ := e.Node()
		got, err := d.Resolve(1700000000000, func(p Path) (Node, error) { return existing.Get(p), nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := MustParseNode(string(c.Resolved)); got != want {
			t.Errorf("resolve %s over %s = %s, want %s", c.Write, c.Existing, got.JSON(), want.JSON())
		}
	}
}
