package store

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
		fmt.Sprintf("| what `dogwood check` reports of one file | %d findings, with %d paths each |", maxFindings, maxPaths),
	} {
		if !strings.Contains(string(file), text) {
			t.Errorf("docs/limits.md lacks %q", text)
		}
	}
}
