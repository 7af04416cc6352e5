package rules

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/limits.md has the bounds of this package that are in force.
func TestLimitsAreDocumented(t *testing.T) {
	file, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprintf("| an explanation: rules that are asked; values of their parts | %d,000; %d,000 |", maxSteps/1000, maxValues/1000),
	} {
		if !strings.Contains(string(file), text) {
			t.Errorf("docs/limits.md lacks %q", text)
		}
	}
}
