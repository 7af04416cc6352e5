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

// A member that misses a post, or sees one twice or in another order, is found.
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
		o := newOrder(2, 3, 3)
		issued := make(map[string]string)
		for i, name := range []string{"a", "b", "c"} {
			key, err := o.expect(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			issued[name] = string(key)
		}
		keysOf := func(names ...string) (keys []string) {
			for _, name := range names {
				keys = append(keys, issued[name])
			}
			return keys
		}
		for _, name := range c.first {
			if err := o.deliver(0, keysOf(name)); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for _, names := range c.second {
			if err := o.deliver(1, keysOf(names...)); err != nil {
				got = err.Error()
			}
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestOrderKeepsPostsInWindows: a post never has as many later keys as a window has posts,
// however late it is stored.
func TestOrderKeepsPostsInWindows(t *testing.T) {
	o := newOrder(1, 3, 2)
	first, oldest := o.issue(0)
	second, _ := o.issue(1)
	if _, waitsFor := o.issue(2); oldest != nil || waitsFor != o.byKey[string(first)] {
		t.Fatalf("a third post waits for %v, want the first", waitsFor)
	}
	arrive := func(poster int, key []byte) {
		if err := o.deliver(0, []string{string(key)}); err != nil {
			t.Fatal(err)
		}
		o.posts[poster].arrived() // the acknowledgement
	}
	arrive(1, second)
	if _, waitsFor := o.issue(2); waitsFor != o.byKey[string(first)] {
		t.Error("a third post does not wait for the first one while that is on its way")
	}
	arrive(0, first)
	if key, _ := o.issue(2); string(key) <= string(second) {
		t.Errorf("the third key is %q, not after %q", key, second)
	}
}
