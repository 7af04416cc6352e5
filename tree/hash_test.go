package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// hashModel is the definition of the hash (protocol §8.1), word for word.
func hashModel(v any) string {
	if v == nil {
		return ""
	}
	var text strings.Builder
	if p := priorityOf(v); p != nil {
		text.WriteString("priority:" + leafModel(p) + ":")
	}
	if o, ok := valueOf(v).(object); ok {
		order := slices.SortedFunc(maps.Keys(o), func(a, b string) int {
			if c := compareValuesModel(priorityOf(o[a]), priorityOf(o[b])); c != 0 {
				return c
			}
			return compareKeysModel(a, b)
		})
		for _, key := range order {
			text.WriteString(":" + key + ":" + hashModel(o[key]))
		}
	} else {
		text.WriteString(leafModel(valueOf(v)))
	}
	sum := sha1.Sum([]byte(text.String()))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func leafModel(v any) string {
	switch v := v.(type) {
	case bool:
		return fmt.Sprintf("boolean:%t", v)
	case float64:
		return fmt.Sprintf("number:%016x", math.Float64bits(v+0))
	}
	return fmt.Sprintf("string:%s", v)
}

func TestHashModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, model := drawNode(t, 3)
		if got, want := n.Hash(), hashModel(model); got != want {
			t.Fatalf("%s: Hash() = %s, want %s", n.JSON(), got, want)
		}
	})
}

func TestJSIntegers(t *testing.T) {
	check := func(f float64) {
		if got, want := string(jsComputedHex(nil, f)), string(doubleHex(nil, f)); got != want {
			t.Errorf("jsComputedHex(%v) = %s, want %s", f, got, want)
		}
	}
	for k := range 47 {
		power := float64(int64(1) << k)
		for _, f := range []float64{power - 1, power, power + 1, power * 1.5} {
			check(math.Trunc(f))
			check(-math.Trunc(f))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(float64(rapid.Int64Range(-1<<47+1, 1<<47-1).Draw(t, "integer")))
	})
}

// The buffer and the result, and a list of children at each level.
func TestHashAllocations(t *testing.T) {
	n := wide(1)
	if got := testing.AllocsPerRun(100, func() { n.Hash() }); got > 4 {
		t.Errorf("Hash allocates %v times, want at most 4", got)
	}
}
