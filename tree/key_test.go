package tree

import "testing"

func TestCompareKeys(t *testing.T) {
	// Each is less than the next.
	sorted := []string{
		"-2147483648", "-7", "-07", "-1", "0", "-0", "00", "-00", "000", "5", "7", "07", "0000000000007", "2147483647",
		"", " ", "+7", "-", "-0a", "-2147483649", "1.5", "2147483648", "9999999999", "a", "ab", "b", "é", "\ud7ff", "😀", "\ue000", "\uffff",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := sign(CompareKeys(a, b)), sign(i-j); got != want {
				t.Errorf("CompareKeys(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestIntegerKey(t *testing.T) {
	for key, want := range map[string]int32{"0": 0, "-0": 0, "-5": -5, "000000000000042": 42, "2147483647": 1<<31 - 1, "-2147483648": -1 << 31} {
		if got, ok := IntegerKey(key); got != want || !ok {
			t.Errorf("IntegerKey(%q) = %d, %t, want %d", key, got, ok, want)
		}
	}
	for _, key := range []string{"", "-", "--1", "+1", "1a", "1.0", " 1", "2147483648", "-2147483649", "99999999999999999999999", "٣"} {
		if got, ok := IntegerKey(key); ok {
			t.Errorf("IntegerKey(%q) = %d, want none", key, got)
		}
	}
}

// FuzzCompareKeys: a total order, the one of the JS SDK.
func FuzzCompareKeys(f *testing.F) {
	f.Add("7", "07", "10")
	f.Add("-0", "00", "0")
	f.Add("😀", "\uffee", "\ue000")
	f.Add("a", "-N0", "2147483648")
	f.Add("\U0010ffff", "\ud7ff", "é")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if !ValidKey(a) || !ValidKey(b) || !ValidKey(c) {
			return
		}
		ab, bc, ac := CompareKeys(a, b), CompareKeys(b, c), CompareKeys(a, c)
		switch {
		case sign(ab) != sign(compareKeysModel(a, b)):
			t.Errorf("CompareKeys(%q, %q) = %d, want %d", a, b, ab, compareKeysModel(a, b))
		case ab != -CompareKeys(b, a):
			t.Errorf("CompareKeys(%q, %q) is not the reverse of (%q, %q)", a, b, b, a)
		case (ab == 0) != (a == b):
			t.Errorf("CompareKeys(%q, %q) = 0", a, b)
		case ab <= 0 && bc <= 0 && ac > 0:
			t.Errorf("%q <= %q <= %q, but not %q <= %q", a, b, c, a, c)
		}
	})
}
