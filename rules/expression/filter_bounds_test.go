package expression

import (
	"fmt"
	"strings"
	"testing"
)

// TestFiltersOfStrangers: the regular expressions of a filter are small, whatever its text, so that
// compiling it takes little time and memory. Anyone may send one.
func TestFiltersOfStrangers(t *testing.T) {
	for name, c := range map[string]struct {
		src string
		ok  bool
	}{
		"usual":                    {`/^[a-zà-ÿ0-9._-]{1,40}@([a-z]+\.){1,5}[a-z]{2,10}$/i`, true},
		"the most repeats":         {`/a{500}/`, true},
		"one more":                 {`/a{501}/`, false},
		"in several":               {`/a{300}/) || key.matches(/a{201}/`, false},
		"repeats of what may miss": {`/` + strings.Repeat("(a?){0,1000}", 10) + `b/`, false},
		"classes":                  {`/` + strings.Repeat(`\W`, 200) + `/i`, true},
		"sets of many letters":     {`/` + strings.Repeat(`[\W]`, 10) + `/i`, false},
		"ranges of letters":        {`/` + strings.Repeat(`[Ͱ-ῼ]`, 200) + `/i`, false},
		"sets in several":          {strings.Repeat(`/[\W][\W][\W]/i) || key.matches(`, 4) + `/a/`, false},
	} {
		f, err := NewFilter("key.matches("+c.src+")", 0)
		switch {
		case !c.ok && (err == nil || !strings.Contains(err.Msg, "At most 500 characters with repeats written out are allowed, and sets of characters of 16 KiB.")):
			t.Errorf("%s: %v", name, err)
		case c.ok && err != nil:
			t.Errorf("%s: %s", name, err.Msg)
		case c.ok && f.Size() > 100<<10:
			t.Errorf("%s takes %d bytes", name, f.Size())
		}
	}
	if _, err := CompileCondition("data.val().matches(/a{1000}b{1000}/)", nil); err != nil {
		t.Errorf("the expression of an administrator: %s", err.Msg)
	}
}

// TestCompiledFiltersAreBounded: filters that are kept take no more memory than there is for them.
func TestCompiledFiltersAreBounded(t *testing.T) {
	for i := range 400 {
		src := fmt.Sprintf("key != '%d' && data.val().matches(/(a?){0,250}(a?){0,249}b/) == true", i)
		f, err := NewFilter(src, 0)
		if err != nil {
			t.Fatal(err.Msg)
		}
		if f.Size() < 40<<10 { // 2,000 instructions of 40 bytes, or a few less
			t.Fatalf("a filter of %d instructions takes %d bytes", 2000, f.Size())
		}
		if filters.byText.by[src] != f.x {
			t.Fatal("the last filter is not kept")
		}
		for _, k := range []kept{filters.byText, filters.parts} {
			sum := 0
			for _, x := range k.by {
				sum += x.size
			}
			if sum != k.bytes || sum > MaxCompiled {
				t.Fatalf("%d filters of %d bytes are kept, %d are counted", len(k.by), sum, k.bytes)
			}
		}
	}
	if n := len(filters.byText.by); n >= 400 {
		t.Errorf("all %d are kept", n)
	}
}
