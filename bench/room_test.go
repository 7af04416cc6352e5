package bench

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The rules of the workloads are those of the data models.
func TestModelRules(t *testing.T) {
	for model, rules := range map[string]string{"chat": chatRoomRules, "social": socialRules} {
		text, err := os.ReadFile("../testdata/models/" + model + "/rules.json")
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != rules {
			t.Errorf("the rules of %s have changed; copy them here", model)
		}
	}
}

func TestPostKeys(t *testing.T) {
	one, two := string(postKey(nil, 1, 1)), string(postKey(nil, 2, 2))
	data := `{"` + one + `":{"message":"x","sender":"u1"},"-short":{},"` + two + `":null,"` + two + `":{"message":"{"}}`
	if got := postKeys([]byte(data)); !slices.Equal(got, []string{one, two}) {
		t.Errorf("postKeys = %q", got)
	}
	if got := postKeys([]byte(`":{`)); got != nil {
		t.Errorf("postKeys = %q, want none", got)
	}
}

// Whoever misses a post, sees one twice or in another order is found.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  []string   // what one member sees
		second [][]string // and then another, push by push
		want   string
	}{
		{"the same", []string{"a", "b", "c"}, [][]string{{"a"}, {"b"}, {"c"}}, ""},
		{"several at once", []string{"a", "b", "c"}, [][]string{{"a"}, {"old", "a", "c", "b"}}, ""},
		{"another order", []string{"a", "b"}, [][]string{{"b"}}, "u1 sees post 1, others have seen post 0 before"},
		{"one is missing", []string{"a", "b", "c"}, [][]string{{"a"}, {"c"}}, "u1 sees post 2, others have seen post 1 before"},
		{"twice", []string{"a", "b"}, [][]string{{"a"}, {"a"}}, "u1 sees post 0 again after post 0"},
	} {
		o := newOrder(2, 3)
		for i, key := range []string{"a", "b", "c"} {
			o.expect(i, []byte(key))
		}
		for _, key := range c.first {
			if err := o.deliver(0, []string{key}); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for _, keys := range c.second {
			if err := o.deliver(1, keys); err != nil {
				got = err.Error()
			}
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
