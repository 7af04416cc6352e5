package ruleslint

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/limits.md has the bounds of this package that are in force.
func TestLimitsAreDocumented(t *testing.T) {
	file, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprintf("compares null with null | %d,000 |", maxNullSteps/1000),
		fmt.Sprintf("decisions in all | %d; %d,000 |", maxAccessNode, maxAccessAll/1000),
	} {
		if !strings.Contains(string(file), text) {
			t.Errorf("docs/limits.md lacks %q", text)
		}
	}
}
