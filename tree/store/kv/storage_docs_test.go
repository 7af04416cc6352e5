package kv

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/storage.md has the formats and the size of the map that this package has.
func TestFileIsDocumented(t *testing.T) {
	file, err := os.ReadFile("../../../docs/storage.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(file)), " ")
	for _, text := range []string{
		fmt.Sprintf("bbolt reserves %d GiB of address space", mapBytes>>30),
		fmt.Sprintf("| `%s` | the first versions |", formatPlain),
		fmt.Sprintf("| `%s` | this version |", formatVersion),
	} {
		if !strings.Contains(page, text) {
			t.Errorf("docs/storage.md lacks %q", text)
		}
	}
}
