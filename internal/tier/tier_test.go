package tier

import "testing"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name  string
		short bool
		want  Tier
	}{
		{"", true, Quick}, {"", false, Full}, {"quick", false, Quick}, {"full", true, Full}, {"long", true, Long},
	} {
		if got, err := parse(c.name, c.short); err != nil || got != c.want {
			t.Errorf("parse(%q, %v) = %v, %v, want %v", c.name, c.short, got, err, c.want)
		}
	}
	if got, err := parse("fast", false); err == nil {
		t.Errorf("tier fast is %v, want an error", got)
	}
}

func TestSelection(t *testing.T) {
	for _, c := range []struct {
		tier    string
		kills   int
		skipped bool
	}{{"quick", 1, true}, {"full", 2, false}, {"long", 3, false}} {
		t.Run(c.tier, func(t *testing.T) {
			t.Setenv(Variable, c.tier)
			if got := Count("DOGWOOD_NOT_SET", 1, 2, 3); got != c.kills {
				t.Errorf("%d kills, want %d", got, c.kills)
			}
			t.Setenv("DOGWOOD_SET", "7")
			if got := Count("DOGWOOD_SET", 1, 2, 3); got != 7 {
				t.Errorf("%d kills, want those of the variable", got)
			}
			ran := false
			t.Run("full", func(t *testing.T) {
				Need(t, Full)
				ran = true
			})
			if ran == c.skipped {
				t.Errorf("a test of tier full ran: %v", ran)
			}
			ran = false
			t.Run("full if raced", func(t *testing.T) {
				RacedFrom(t, Full)
				ran = true
			})
			if ran == (raced && c.skipped) {
				t.Errorf("under the race detector: %v, a test of tier full ran: %v", raced, ran)
			}
		})
	}
}
