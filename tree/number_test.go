package tree

import (
	"math"
	"slices"
	"testing"
)

func TestNumberText(t *testing.T) {
	for want, f := range map[string]float64{
		"0":                       math.Copysign(0, -1),
		"-1":                      -1,
		"0.1":                     0.1,
		"9007199254740991":        1<<53 - 1,
		"9007199254740992":        1 << 53,
		"1152921504606847000":     1 << 60, // shortest digits, as in JavaScript
		"100000000000000000000":   1e20,
		"1e+21":                   1e21,
		"-1.5e+21":                -1.5e21,
		"0.000001":                1e-6,
		"1e-7":                    1e-7,
		"1.25e-9":                 1.25e-9,
		"1e-10":                   1e-10,
		"5e-324":                  5e-324,
		"1.7976931348623157e+308": math.MaxFloat64,
	} {
		if got := Number(f).JSON(); got != want {
			t.Errorf("Number(%v) = %s, want %s", f, got, want)
		}
		if got := MustParseNode(want).JSON(); got != want {
			t.Errorf("%s became %s", want, got)
		}
	}
}

// Integers beyond 2^53 are not equal although they are the same double.
func TestNumberOrder(t *testing.T) {
	sorted := []string{
		"-1.7976931348623157e+308", "-1e+21", "-9223372036854776000", "-9223372036854775808", "-9007199254740993", "-9007199254740992",
		"-10", "-9", "-1.5", "-1", "-5e-324", "0", "1e-7", "0.5", "1", "1.5", "2", "10", "9007199254740992", "9007199254740993",
		"9223372036854775806", "9223372036854775807", "9223372036854776000", "1e+21", "1.7976931348623157e+308",
	}
	shuffles(sorted, func(got []string) {
		slices.SortFunc(got, func(a, b string) int { return CompareValues(MustParseNode(a), MustParseNode(b)) })
		if !slices.Equal(got, sorted) {
			t.Fatalf("sorted numbers = %s, want %s", got, sorted)
		}
	})
}
