package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRulesOfModels compares the rules of workloads with those of the data models
// that they are about.
func TestRulesOfModels(t *testing.T) {
	for model, rules := range map[string]string{"chat": chatRoomRules, "social": socialRules} {
		want, err := os.ReadFile(filepath.Join("..", "testdata", "models", model, "rules.json"))
		if err != nil {
			t.Fatal(err)
		}
		if rules != string(want) {
			t.Errorf("the rules of model %s have changed", model)
		}
	}
}
