package lang

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var machinePatterns = []string{
	"a", "^a", "a$", "^a$", "^$", "ab|cd", "^(ab|a)(c|bcd)*$", "x*", "^x+$", "[a-c]{2,4}d",
	"^[^a]*b", "(a|b|ab)*c", "^.+@.+[.].+$", "a.c", `\d+\s`, "^(a?){8}a{8}$", "(x+x+)+y", "b|c$", "ä+",
}

// TestMachine: a machine finds what package regexp finds.
func TestMachine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, pattern := range machinePatterns {
		for _, ignoreCase := range []bool{false, true} {
			re, err := compileRegex(pattern, ignoreCase, regexBounds)
			if err != nil {
				t.Fatal(pattern, err)
			}
			for range 2000 {
				s := randomText(rnd)
				got, steps := re.Machine.Match(s, 1<<30)
				if want := regexp.MustCompile(re.re2).MatchString(s); got != want {
					t.Fatalf("%q matches /%s/ = %t, want %t", s, pattern, got, want)
				}
				if _, again := re.Machine.Match(s, steps); again != steps {
					t.Fatalf("%q and /%s/ take %d steps, then %d", s, pattern, steps, again)
				}
			}
		}
	}
}

func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	for range rnd.IntN(12) {
		b.WriteString([]string{"a", "b", "c", "d", "x", "y", "A", "@", ".", "1", " ", "\n", "ä", "😀"}[rnd.IntN(14)])
	}
	return b.String()
}

// TestMachineGivesUp: the steps of a search are bounded, however large the expression
// and the text are.
func TestMachineGivesUp(t *testing.T) {
	re, err := compileRegex("([a-z]?){500}([a-z]?){500}1", false, regexBounds)
	if err != nil {
		t.Fatal(err)
	}
	_, all := re.Machine.Match(strings.Repeat("x", 1000), 1<<40)
	if all < 100*1000 {
		t.Errorf("a large expression takes %d steps for 1000 characters", all)
	}
	const most = 100_000
	if _, steps := re.Machine.Match(strings.Repeat("x", 10<<20), most); steps <= most || steps > most+10_000 {
		t.Errorf("gives up after %d steps, want about %d", steps, most)
	}
}

// FuzzMachine compares machines with package regexp.
func FuzzMachine(f *testing.F) {
	for _, pattern := range machinePatterns {
		f.Add(pattern, "abcd x@y.z", false)
	}
	f.Fuzz(func(t *testing.T, pattern, s string, ignoreCase bool) {
		re, err := compileRegex(pattern, ignoreCase, regexBounds)
		if err != nil || len(s) > 1000 {
			return
		}
		if got, _ := re.Machine.Match(s, 1<<40); got != regexp.MustCompile(re.re2).MatchString(s) {
			t.Errorf("%q matches /%s/ = %t", s, pattern, got)
		}
	})
}

func BenchmarkMachine(b *testing.B) {
	for _, c := range []struct{ pattern, text string }{
		{"^.+@.+[.].+$", strings.Repeat("x", 1<<20)},
		{"([a-z]?){500}([a-z]?){500}1", strings.Repeat("x", 1000)},
		{"^[a-zA-Z0-9_-]{1,100}$", "a_usual-name_of_twenty"},
	} {
		re, err := compileRegex(c.pattern, false, regexBounds)
		if err != nil {
			b.Fatal(err)
		}
		_, steps := re.Machine.Match(c.text, 1<<40)
		b.Run(c.pattern, func(b *testing.B) {
			for b.Loop() {
				re.Machine.Match(c.text, 1<<40)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
		b.Run(c.pattern+"/regexp", func(b *testing.B) {
			for b.Loop() {
				regexp.MustCompile(re.re2).MatchString(c.text)
			}
		})
	}
}
