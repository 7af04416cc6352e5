package processors

import (
	"os"
	"runtime"
	"testing"
)

func TestAddSpare(t *testing.T) {
	if os.Getenv("GOMAXPROCS") != "" {
		t.Skip("GOMAXPROCS is set")
	}
	before := runtime.GOMAXPROCS(0)
	remove := AddSpare()
	AddSpare()() // there is one: this neither adds nor removes one
	if got := runtime.GOMAXPROCS(0); got != before+added || Count() != before {
		t.Errorf("the runtime uses %d processors, and Count() = %d; want %d, %d", got, Count(), before+added, before)
	}
	remove()
	if got := runtime.GOMAXPROCS(0); got != before || Count() != before {
		t.Errorf("in the end the runtime uses %d processors, and Count() = %d; want %d", got, Count(), before)
	}
}

// TestSpareIsTurnedOff: with GOMAXPROCS the runtime uses what it says.
func TestSpareIsTurnedOff(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	before := runtime.GOMAXPROCS(0)
	defer AddSpare()()
	if got := runtime.GOMAXPROCS(0); got != before || Count() != before {
		t.Errorf("the runtime uses %d processors, and Count() = %d; want %d", got, Count(), before)
	}
}
