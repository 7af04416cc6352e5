// Package tier tells a test how much work it may do.
//
// There are three tiers: [Quick] while editing, [Full] before a commit and in CI, [Long]
// at night. A test that is too slow for every tier names the lowest one that it belongs to
// with [Need], or does less in the lower ones with [Pick] or [Count]. Each test must do
// some of its work in Full: what Long adds is more of the same.
//
// The variable DOGWOOD_TIER selects the tier; test.sh sets it. Without it, "go test -short"
// is Quick and "go test" is Full.
package tier

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A Tier is an amount of testing.
type Tier int

// The tiers. Each includes the ones before it.
const (
	Quick Tier = iota // in the inner loop: a minute for all packages
	Full              // before a commit and in CI: some minutes
	Long              // at night: hours
)

var names = [...]string{Quick: "quick", Full: "full", Long: "long"}

func (t Tier) String() string { return names[t] }

// Variable is the environment variable that selects the tier.
const Variable = "DOGWOOD_TIER"

// Current returns the tier of this run.
func Current() Tier {
	t, err := parse(os.Getenv(Variable), testing.Short())
	if err != nil {
		panic(err)
	}
	return t
}

func parse(name string, short bool) (Tier, error) {
	for t, n := range names {
		if n == name {
			return Tier(t), nil
		}
	}
	switch {
	case name != "":
		return 0, fmt.Errorf("%s=%s: the tiers are %s", Variable, name, strings.Join(names[:], ", "))
	case short:
		return Quick, nil
	}
	return Full, nil
}

// Need skips a test in the tiers below least.
func Need(t testing.TB, least Tier) {
	t.Helper()
	if now := Current(); now < least {
		t.Skipf("tier %s; this is tier %s", least, now)
	}
}

// Pick returns what the current tier gets.
func Pick[T any](quick, full, long T) T {
	return [...]T{quick, full, long}[Current()]
}

// Count is Pick for a number of repetitions that an environment variable can override.
func Count(variable string, quick, full, long int) int {
	text, set := os.LookupEnv(variable)
	if !set {
		return Pick(quick, full, long)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("%s=%s: want a number", variable, text))
	}
	return n
}

// LoggedVariable is the environment variable that Logged looks at.
const LoggedVariable = "DOGWOOD_LOGGED"

// Logged reports whether tests that keep a database in memory are to keep it in a file with
// a write-ahead log. "make freeze" has them do so, with layers of several sizes in front of
// the file.
func Logged() bool { return os.Getenv(LoggedVariable) != "" }

// Unraced skips a test under the race detector, because it measures costs that the
// detector changes, or is long without anything concurrent. test.sh runs every package
// without the detector, too.
func Unraced(t testing.TB) {
	t.Helper()
	if raced {
		t.Skip("not under the race detector")
	}
}

// RacedFrom skips a test under the race detector in the tiers below least, because it takes
// many times as long there, and other tests have the same goroutines or it does one thing
// after another. "./test.sh" has the detector in tier quick, and "./test.sh long" in tier
// full.
func RacedFrom(t testing.TB, least Tier) {
	t.Helper()
	if raced {
		Need(t, least)
	}
}
