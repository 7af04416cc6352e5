package store

import (
	"strings"
	"testing"

	"github.com/dogwooddb/dogwood/tree"
)

// TestValidate accepts what a load accepts.
func TestValidate(t *testing.T) {
	for _, text := range loadTexts {
		_, want := reference(text)
		var told int64
		stats, err := Validate(t.Context(), tree.Root, strings.NewReader(text), func(n int64) { told = n })
		if (err == nil) != (want == nil) {
			t.Errorf("Validate(%.100q) = %v; parsed as a whole: %v", text, err, want)
		}
		if err == nil && (stats.Bytes != int64(len(text)) || told > stats.Bytes) {
			t.Errorf("Validate(%.100q) read %d bytes and told %d, want %d", text, stats.Bytes, told, len(text))
		}
	}
	deep := tree.MustParsePath(strings.Repeat("a/", tree.MaxDepth-1))
	if _, err := Validate(t.Context(), deep, strings.NewReader(`{"a":{"b":1}}`), nil); err == nil {
		t.Error("Validate accepts what is too deep at its place")
	}
}
